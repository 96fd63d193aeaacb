package synth

import (
	"math/bits"

	"github.com/sysfsd/sysfsd/netdev"
)

// The salts keep the choices made for one device apart.
const (
	saltKind uint64 = iota
	saltPattern
	saltState
	saltCarrier
	saltMTU
	saltAlias
	saltLower
	saltMaster
	saltQueues
	saltAddress
	saltAbroad
	saltOwner
	saltGroup
	saltModel
	saltCounters
	saltRate
	saltSize
	saltTimer
	saltSwitch
)

// roll returns the random number that a device has for a choice: a function of
// seed, ifindex and choice alone, so that no order of calls can change it.
func roll(seed uint64, index uint32, salt uint64) uint64 {
	return scramble(scramble(seed+salt*0x9e3779b97f4a7c15) ^ uint64(index))
}

// scramble is the finalizer of splitmix64: a bijection that looks random.
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// appendAddress appends a device's own address. Its last five bytes are the
// ifindex under a bijection, so no two devices share one; the first makes it
// locally administered, so that no real device has it either.
func appendAddress(b []byte, seed uint64, index uint32) []byte {
	const mask = 1<<40 - 1
	x := uint64(index) * 0x9e3779b97f & mask // odd factor: invertible
	x = (x + scramble(seed)) & mask
	x = (x ^ x>>21) * 0x5d1ce4e5b9 & mask
	x ^= x >> 19
	first := byte(roll(seed, index, saltAddress))&^0x3 | 0x2
	return append(b, first, byte(x>>32), byte(x>>24), byte(x>>16), byte(x>>8), byte(x))
}

// mulDiv returns a*b/c without overflow in between; the quotient has to fit.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi%c, lo, c)
	return q
}

// withName returns a device's name and address. Both are one allocation: each
// alone would waste half of its own.
func withName(name, address []byte) (string, netdev.HWAddr) {
	both := string(append(name, address...))
	return both[:len(name)], netdev.HWAddr(both[len(name):])
}
