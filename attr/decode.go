package attr

import (
	"encoding/binary"
	"strings"

	"github.com/sysfsd/sysfsd/netdev"
)

// The setters store one netlink attribute in a field. One that is too short is
// taken as absent: a value can't be made of it.

func set32(field func(*netdev.Link) *uint32) func(*netdev.Link, []byte) {
	return func(l *netdev.Link, data []byte) {
		if len(data) >= 4 {
			*field(l) = binary.NativeEndian.Uint32(data)
		}
	}
}

func set8(field func(*netdev.Link) *uint8) func(*netdev.Link, []byte) {
	return func(l *netdev.Link, data []byte) {
		if len(data) >= 1 {
			*field(l) = data[0]
		}
	}
}

// setText stores a string, which netlink ends with a NUL.
func setText(field func(*netdev.Link) *string) func(*netdev.Link, []byte) {
	return func(l *netdev.Link, data []byte) {
		s, _, _ := strings.Cut(string(data), "\x00")
		*field(l) = s
	}
}

func setAddr(field func(*netdev.Link) *netdev.HWAddr) func(*netdev.Link, []byte) {
	return func(l *netdev.Link, data []byte) { *field(l) = netdev.HWAddr(data) }
}

// more makes room for what only devices with hardware have.
func more(l *netdev.Link) *netdev.More {
	if l.More == nil {
		l.More = &netdev.More{}
	}
	return l.More
}

// Decoders maps the number of an RTM_NEWLINK attribute to what stores it: the
// rows that have a file, and the attributes that only relations and names need.
func Decoders() map[uint16]func(*netdev.Link, []byte) {
	m := make(map[uint16]func(*netdev.Link, []byte))
	for i := range Rows {
		if r := &Rows[i]; r.Decode != nil {
			m[r.IFLA] = r.Decode
		}
	}
	for _, d := range hidden {
		m[d.ifla] = d.decode
	}
	return m
}
