package hashpos

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/dchest/siphash"
)

// Hash is a hash of names. Equal names have equal hashes; nothing else is asked
// of it, so that tests can make all names collide.
type Hash func(name string) uint64

// Bucket returns the bucket of name. All bits of the hash take part.
func (h Hash) Bucket(name string) Bucket {
	return Bucket(firstBucket + h(name)%buckets)
}

// Key selects one of 2^128 hashes. Device names are chosen by others: with a key
// they don't know they can't make names collide.
type Key [16]byte

// Keyed returns SipHash-2-4 under k.
func Keyed(k Key) Hash {
	k0 := binary.LittleEndian.Uint64(k[:8])
	k1 := binary.LittleEndian.Uint64(k[8:])
	return func(name string) uint64 { return siphash.Hash(k0, k1, []byte(name)) }
}

// RandomKey returns a key that nobody knows.
func RandomKey() Key {
	var k Key
	_, _ = rand.Read(k[:]) // Never fails: crypto/rand ends the program instead.
	return k
}

// ParseKey reads a key as String writes it, for runs that shall be repeated.
func ParseKey(s string) (Key, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(Key{}) {
		return Key{}, fmt.Errorf("hashpos: key %q is not 32 hex digits", s)
	}
	return Key(b), nil
}

// String returns k as 32 hex digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }
