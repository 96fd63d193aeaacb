package rtnl

import (
	"encoding/binary"
	"iter"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// messages walks the netlink messages of a datagram without copying them. It
// stops at a message that isn't whole: where the next would begin is unknown.
func messages(b []byte) iter.Seq2[netlink.Header, []byte] {
	return func(yield func(netlink.Header, []byte) bool) {
		for len(b) >= unix.NLMSG_HDRLEN {
			h := netlink.Header{
				Length:   binary.NativeEndian.Uint32(b),
				Type:     netlink.HeaderType(binary.NativeEndian.Uint16(b[4:])),
				Flags:    netlink.HeaderFlags(binary.NativeEndian.Uint16(b[6:])),
				Sequence: binary.NativeEndian.Uint32(b[8:]),
				PID:      binary.NativeEndian.Uint32(b[12:]),
			}
			if h.Length < unix.NLMSG_HDRLEN || uint64(h.Length) > uint64(len(b)) {
				return
			}
			if !yield(h, b[unix.NLMSG_HDRLEN:h.Length]) {
				return
			}
			b = b[min(align(int(h.Length)), len(b)):]
		}
	}
}

// attribute is one struct nlattr with what follows it. Data is a part of the
// datagram: whoever keeps it copies it.
type attribute struct {
	Type uint16
	Data []byte
}

// nextAttribute cuts the first attribute off b. It is not ok where b holds a
// length that can't be: what is left is then of no use.
func nextAttribute(b []byte) (a attribute, rest []byte, ok bool) {
	if len(b) < unix.SizeofNlAttr {
		return attribute{}, nil, false
	}
	n := int(binary.NativeEndian.Uint16(b))
	if n < unix.SizeofNlAttr || n > len(b) {
		return attribute{}, nil, false
	}
	const flags = unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER
	a = attribute{Type: binary.NativeEndian.Uint16(b[2:]) &^ flags, Data: b[unix.SizeofNlAttr:n]}
	return a, b[min(align(n), len(b)):], true
}

// attributes walks attributes where a broken rest may be ignored.
func attributes(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) > 0 {
			a, rest, ok := nextAttribute(b)
			if !ok || !yield(a.Type, a.Data) {
				return
			}
			b = rest
		}
	}
}

// align rounds up to NLMSG_ALIGNTO, which NLA_ALIGNTO equals.
func align(n int) int { return (n + unix.NLMSG_ALIGNTO - 1) &^ (unix.NLMSG_ALIGNTO - 1) }

// uint32Of returns the number an attribute holds; 0, as if it were absent, where
// it is too short to hold one.
func uint32Of(data []byte) uint32 {
	if len(data) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(data)
}

// errnoOf returns the error of an NLMSG_ERROR or NLMSG_DONE, which both begin
// with a negative errno; 0 is success.
func errnoOf(data []byte) unix.Errno {
	if code := int32(uint32Of(data)); code < 0 {
		return unix.Errno(-code)
	}
	return 0
}
