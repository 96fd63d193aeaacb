package rtnl

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

var (
	// errMalformed says that a message holds less than its type promises.
	errMalformed = errors.New("malformed message")
	// errPartial is for RTM_NEWLINK messages that aren't a device's state: the
	// wireless extensions send their events as such, with a name and an
	// IFLA_WIRELESS only.
	errPartial = errors.New("not a device's state")
)

// decoder makes netdev.Links of RTM_NEWLINK messages. It may be used by any
// number of goroutines.
type decoder struct {
	// stores has what attr stores, by the attribute's number. Immutable.
	stores  []func(*netdev.Link, []byte)
	strings interner
}

func newDecoder() *decoder {
	d := &decoder{}
	wanted := attr.Decoders()
	for ifla, store := range wanted {
		if n := int(ifla) + 1; n > len(d.stores) {
			d.stores = append(d.stores, make([]func(*netdev.Link, []byte), n-len(d.stores))...)
		}
		d.stores[ifla] = store
	}
	if _, ok := wanted[unix.IFLA_BROADCAST]; ok {
		// Nearly all devices have the same one.
		d.stores[unix.IFLA_BROADCAST] = func(l *netdev.Link, data []byte) {
			l.Broadcast = netdev.HWAddr(d.strings.of(data))
		}
	}
	if bus, ok := wanted[unix.IFLA_PARENT_DEV_BUS_NAME]; ok {
		d.stores[unix.IFLA_PARENT_DEV_BUS_NAME] = func(l *netdev.Link, data []byte) {
			bus(l, data)
			l.More.ParentBus = d.strings.of([]byte(l.More.ParentBus))
		}
	}
	return d
}

// change makes a Change of one message of RTNLGRP_LINK. It is not ok for
// messages that say nothing of a device.
func (d *decoder) change(h netlink.Header, data []byte, st *Stats) (c netdev.Change, ok bool) {
	if len(data) < unix.SizeofIfInfomsg {
		st.Malformed.Add(1)
		return netdev.Change{}, false
	}
	family, index := data[0], binary.NativeEndian.Uint32(data[4:])
	link := h.Type == unix.RTM_NEWLINK || h.Type == unix.RTM_DELLINK
	switch {
	case link && family == unix.AF_BRIDGE:
		// The bridge tells of a port's options, and by RTM_DELLINK that a port
		// left it. The device lives on.
		st.Bridge.Add(1)
		return netdev.Change{Op: netdev.Touched, Index: index}, true
	case family != unix.AF_UNSPEC:
		return netdev.Change{}, false
	case h.Type == unix.RTM_DELLINK:
		// Also with IFLA_NEW_NETNSID: it moved to where we don't look.
		st.DelLink.Add(1)
		return netdev.Change{Op: netdev.Gone, Index: index}, true
	case h.Type == unix.RTM_NEWLINK:
		return d.set(data, st)
	}
	return netdev.Change{}, false
}

// set makes a Set of an RTM_NEWLINK of family AF_UNSPEC.
func (d *decoder) set(data []byte, st *Stats) (c netdev.Change, ok bool) {
	l, err := d.link(data)
	switch {
	case errors.Is(err, errPartial):
		return netdev.Change{Op: netdev.Touched, Index: l.Index}, true
	case err != nil:
		st.Malformed.Add(1)
		return netdev.Change{}, false
	}
	st.NewLink.Add(1)
	return netdev.Change{Op: netdev.Set, Index: l.Index, Link: l}, true
}

// link decodes an RTM_NEWLINK of family AF_UNSPEC. Nothing of data is kept.
// With errPartial only the index holds.
func (d *decoder) link(data []byte) (*netdev.Link, error) {
	if len(data) < unix.SizeofIfInfomsg {
		return nil, errMalformed
	}
	l := &netdev.Link{
		Type:  binary.NativeEndian.Uint16(data[2:]),
		Index: binary.NativeEndian.Uint32(data[4:]),
		Flags: binary.NativeEndian.Uint32(data[8:]),
	}
	var below below
	partial := false
	for b := data[unix.SizeofIfInfomsg:]; len(b) > 0; {
		a, rest, ok := nextAttribute(b)
		if !ok {
			return nil, errMalformed
		}
		b = rest
		switch a.Type {
		case unix.IFLA_LINKINFO:
			d.linkInfo(l, &below, a.Data)
		case unix.IFLA_LINK:
			// Also where it is 0, as of a tunnel: iflink then shows that 0.
			l.HasLink = len(a.Data) >= 4
			below.link = uint32Of(a.Data)
		case unix.IFLA_LINK_NETNSID:
			below.abroad = true
		case unix.IFLA_WIRELESS:
			partial = true
		default:
			if int(a.Type) < len(d.stores) && d.stores[a.Type] != nil {
				d.stores[a.Type](l, a.Data)
			}
		}
	}
	if partial {
		return l, errPartial
	}
	// An ifindex is a positive int.
	if l.Name == "" || l.Index == 0 || int32(l.Index) < 0 {
		return nil, errMalformed
	}
	l.Lower, l.Abroad = below.of(l.Kind)
	return l, nil
}

// linkInfo decodes what is nested in IFLA_LINKINFO.
func (d *decoder) linkInfo(l *netdev.Link, below *below, data []byte) {
	for typ, data := range attributes(data) {
		switch typ {
		case unix.IFLA_INFO_KIND:
			l.Kind = d.strings.of(text(data))
		case unix.IFLA_INFO_SLAVE_KIND:
			l.Slave = d.strings.of(text(data))
		case unix.IFLA_INFO_DATA:
			// Whose data it is depends on the kind, which may stand behind it.
			below.info = data
		}
	}
}

// below collects what says which device is below another.
type below struct {
	link   uint32 // IFLA_LINK
	info   []byte // IFLA_INFO_DATA
	abroad bool   // the number is one of another namespace
}

// of returns the device that the kernel shows as lower_X, 0 for none, or that it
// is in another namespace. Kinds that aren't named here, veth above all, have an
// IFLA_LINK that is no lower_X.
func (w *below) of(kind string) (lower uint32, abroad bool) {
	switch kind {
	case "macvlan", "macvtap", "vlan", "ipvlan", "ipvtap", "macsec":
		lower = w.link
	case "vxlan":
		for typ, data := range attributes(w.info) {
			if typ == unix.IFLA_VXLAN_LINK {
				lower = uint32Of(data)
			}
		}
	}
	if w.abroad && lower != 0 {
		return 0, true
	}
	return lower, false
}

// text cuts a string at its NUL.
func text(data []byte) []byte {
	s, _, _ := bytes.Cut(data, []byte{0})
	return s
}
