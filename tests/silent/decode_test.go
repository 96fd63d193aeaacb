package silent_test

import (
	"encoding/binary"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// Numbers of linux/ethtool_netlink.h. The header is the first attribute of
// every notification.
const (
	ethtoolLinkModesGet = 4
	ethtoolHeader       = 1
	ethtoolHeaderIndex  = 1
	ethtoolSpeed        = 5
	ethtoolDuplex       = 6
	genetlinkHeaderLen  = 4
)

// decode makes a Link of a message. It is not rtnl's decoder: where that one is
// wrong, this test must not be wrong with it.
func (m *mirror) decode(data []byte) *netdev.Link {
	l := &netdev.Link{
		Type:  binary.NativeEndian.Uint16(data[2:]),
		Index: binary.NativeEndian.Uint32(data[4:]),
		Flags: binary.NativeEndian.Uint32(data[8:]),
	}
	attributes, err := netlink.UnmarshalAttributes(data[unix.SizeofIfInfomsg:])
	if err != nil {
		return nil
	}
	abroad := false
	for _, a := range attributes {
		switch a.Type &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER) {
		case unix.IFLA_LINK:
			l.HasLink, l.Lower = true, binary.NativeEndian.Uint32(a.Data)
		case unix.IFLA_LINK_NETNSID:
			abroad = true
		case unix.IFLA_LINKINFO:
			decodeInfo(l, a.Data)
		default:
			if decode := m.decoders[a.Type]; decode != nil {
				decode(l, a.Data)
			}
		}
	}
	if abroad && l.Lower != 0 {
		// A veth's peer is nothing that it stands on.
		l.Lower, l.Abroad = 0, l.Kind != "veth"
	}
	return l
}

func decodeInfo(l *netdev.Link, data []byte) {
	const vxlanLink = 3 // IFLA_VXLAN_LINK.
	var info []byte
	attributes, _ := netlink.UnmarshalAttributes(data)
	for _, a := range attributes {
		switch a.Type &^ unix.NLA_F_NESTED {
		case unix.IFLA_INFO_KIND:
			l.Kind = text(a.Data)
		case unix.IFLA_INFO_SLAVE_KIND:
			l.Slave = text(a.Data)
		case unix.IFLA_INFO_DATA:
			info = a.Data
		}
	}
	if l.Kind != "vxlan" {
		return
	}
	attributes, _ = netlink.UnmarshalAttributes(info)
	for _, a := range attributes {
		if a.Type == vxlanLink {
			l.Lower = binary.NativeEndian.Uint32(a.Data)
		}
	}
}

func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// ethtoolIndex returns the device that an ethtool notification is about.
func ethtoolIndex(msg netlink.Message) uint32 {
	if len(msg.Data) < genetlinkHeaderLen {
		return 0
	}
	attributes, _ := netlink.UnmarshalAttributes(msg.Data[genetlinkHeaderLen:])
	for _, a := range attributes {
		if a.Type&^unix.NLA_F_NESTED != ethtoolHeader {
			continue
		}
		header, _ := netlink.UnmarshalAttributes(a.Data)
		for _, h := range header {
			if h.Type == ethtoolHeaderIndex {
				return binary.NativeEndian.Uint32(h.Data)
			}
		}
	}
	return 0
}

// askModes asks for one device's link modes. Where it is gone or has none, that
// is the answer.
func (m *mirror) askModes(index uint32) {
	header, _ := netlink.MarshalAttributes([]netlink.Attribute{{
		Type: ethtoolHeaderIndex, Data: binary.NativeEndian.AppendUint32(nil, index),
	}})
	data, _ := netlink.MarshalAttributes([]netlink.Attribute{{Type: ethtoolHeader | unix.NLA_F_NESTED, Data: header}})
	request := genetlink.Message{Header: genetlink.Header{Command: ethtoolLinkModesGet, Version: 1}, Data: data}
	replies, err := m.ethtool.Execute(request, m.family, netlink.Request)
	modes := netdev.Modes{State: netdev.ModesNone}
	if err == nil && len(replies) == 1 {
		modes = decodeModes(replies[0].Data)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.links[index] != nil {
		m.now.modes[index] = modes
	}
}

func decodeModes(data []byte) netdev.Modes {
	modes := netdev.Modes{State: netdev.ModesNone}
	attributes, _ := netlink.UnmarshalAttributes(data)
	for _, a := range attributes {
		switch a.Type {
		case ethtoolSpeed:
			modes.Speed, modes.State = binary.NativeEndian.Uint32(a.Data), netdev.ModesKnown
		case ethtoolDuplex:
			modes.Duplex, modes.State = a.Data[0], netdev.ModesKnown
		}
	}
	return modes
}
