package attr

import (
	"encoding/hex"
	"strconv"
	"syscall"

	"github.com/sysfsd/sysfsd/netdev"
)

// show is the type of Row.Show.
type show func(b []byte, v *Values) ([]byte, error)

// number is what link fields and kept values are made of.
type number interface {
	~uint8 | ~uint16 | ~uint32 | ~int32
}

// dec shows a number as signed decimal, as the kernel's fmt_dec does.
func dec[N number](field func(*netdev.Link) N) show {
	return func(b []byte, v *Values) ([]byte, error) {
		return append(strconv.AppendInt(b, int64(int32(field(v.Link))), 10), '\n'), nil
	}
}

// ifUp makes reads of a device that is down fail as the kernel's do.
func ifUp(s show) show {
	return func(b []byte, v *Values) ([]byte, error) {
		if !v.Link.Up() {
			return b, syscall.EINVAL
		}
		return s(b, v)
	}
}

// colons shows an address as hex bytes between colons; without one only the
// newline is left.
func colons(field func(*netdev.Link) netdev.HWAddr) show {
	return func(b []byte, v *Values) ([]byte, error) {
		for i, c := range []byte(field(v.Link)) {
			if i > 0 {
				b = append(b, ':')
			}
			b = hex.AppendEncode(b, []byte{c})
		}
		return append(b, '\n'), nil
	}
}

// phys shows what a driver told of its port, EOPNOTSUPP if it told nothing.
func phys(text func([]byte, *netdev.More) []byte) show {
	return func(b []byte, v *Values) ([]byte, error) {
		if v.Link.More == nil {
			return b, syscall.EOPNOTSUPP
		}
		n := len(b)
		if b = text(b, v.Link.More); len(b) == n {
			return b, syscall.EOPNOTSUPP
		}
		return append(b, '\n'), nil
	}
}

func showAlias(b []byte, v *Values) ([]byte, error) {
	if v.Link.Alias == "" {
		return b, nil
	}
	return append(append(b, v.Link.Alias...), '\n'), nil
}

// operstates are the words of RFC 2863 in the order of IF_OPER_*.
var operstates = [...]string{"unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"}

func showOperstate(b []byte, v *Values) ([]byte, error) {
	s := int(v.Link.Operstate)
	if s >= len(operstates) {
		return b, syscall.EINVAL
	}
	return append(append(b, operstates[s]...), '\n'), nil
}

// modes makes reads fail where ethtool has no answer: the kernel answers EINVAL
// for a device that isn't running and for a driver without link settings alike.
func modes(s show) show {
	return ifUp(func(b []byte, v *Values) ([]byte, error) {
		if v.Modes.State != netdev.ModesKnown {
			return b, syscall.EINVAL
		}
		return s(b, v)
	})
}

// duplexes are the words for DUPLEX_HALF and DUPLEX_FULL; all else is unknown.
var duplexes = [...]string{"half", "full"}

func showDuplex(b []byte, v *Values) ([]byte, error) {
	word := "unknown"
	if d := int(v.Modes.Duplex); d < len(duplexes) {
		word = duplexes[d]
	}
	return append(append(b, word...), '\n'), nil
}

// showSpeed shows an unknown speed as -1, as the kernel does.
func showSpeed(b []byte, v *Values) ([]byte, error) {
	return append(strconv.AppendInt(b, int64(int32(v.Modes.Speed)), 10), '\n'), nil
}
