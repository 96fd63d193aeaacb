package rtnl

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// genlHeaderSize is the size of struct genlmsghdr: command, version, reserved.
const genlHeaderSize = 4

// family is ethtool's generic netlink family. Its zero value stands for a kernel
// without (before 5.6, or CONFIG_ETHTOOL_NETLINK unset).
type family struct {
	id      netlink.HeaderType
	monitor uint32 // multicast group
}

var errNoFamily = errors.New("no ethtool family")

// findEthtool asks generic netlink's controller.
func findEthtool(dial func(int) (socket, error)) (family, error) {
	sock, err := dial(unix.NETLINK_GENERIC)
	if err != nil {
		return family{}, fmt.Errorf("rtnl: generic netlink: %w", err)
	}
	defer func() { _ = sock.Close() }()
	ae := netlink.NewAttributeEncoder()
	ae.String(unix.CTRL_ATTR_FAMILY_NAME, unix.ETHTOOL_GENL_NAME)
	var f family
	_, err = exchange(sock, command(unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, 0, ae),
		func(_ netlink.Header, data []byte) { f = decodeFamily(data) })
	switch {
	case err != nil:
		return family{}, fmt.Errorf("rtnl: find ethtool: %w", err)
	case f.id == 0:
		return family{}, fmt.Errorf("rtnl: find ethtool: %w", errNoFamily)
	}
	return f, nil
}

// decodeFamily decodes a CTRL_CMD_NEWFAMILY.
func decodeFamily(data []byte) (f family) {
	for typ, data := range attributes(data[min(genlHeaderSize, len(data)):]) {
		switch typ {
		case unix.CTRL_ATTR_FAMILY_ID:
			if len(data) >= 2 {
				f.id = netlink.HeaderType(binary.NativeEndian.Uint16(data))
			}
		case unix.CTRL_ATTR_MCAST_GROUPS:
			for _, group := range attributes(data) {
				if name, id := decodeGroup(group); name == unix.ETHTOOL_MCGRP_MONITOR_NAME {
					f.monitor = id
				}
			}
		}
	}
	return f
}

func decodeGroup(data []byte) (name string, id uint32) {
	for typ, data := range attributes(data) {
		switch typ {
		case unix.CTRL_ATTR_MCAST_GRP_NAME:
			name = string(text(data))
		case unix.CTRL_ATTR_MCAST_GRP_ID:
			id = uint32Of(data)
		}
	}
	return name, id
}

// command makes a generic netlink request.
func command(id netlink.HeaderType, cmd uint8, flags netlink.HeaderFlags, ae *netlink.AttributeEncoder) netlink.Message {
	attributes, _ := ae.Encode() // What this package encodes always does.
	return netlink.Message{
		Header: netlink.Header{Type: id, Flags: netlink.Request | flags},
		Data:   append([]byte{cmd, unix.ETHTOOL_GENL_VERSION, 0, 0}, attributes...),
	}
}

func isCommand(data []byte, cmd uint8) bool { return len(data) >= genlHeaderSize && data[0] == cmd }

// modesRequest asks for the link modes of one device, or of all with index 0.
func (f family) modesRequest(index uint32) netlink.Message {
	flags := netlink.Dump
	if index != 0 {
		flags = 0
	}
	ae := netlink.NewAttributeEncoder()
	ae.Nested(unix.ETHTOOL_A_LINKMODES_HEADER, func(header *netlink.AttributeEncoder) error {
		if index != 0 {
			header.Uint32(unix.ETHTOOL_A_HEADER_DEV_INDEX, index)
		}
		// The supported modes come along in any case, this way they are short.
		header.Uint32(unix.ETHTOOL_A_HEADER_FLAGS, unix.ETHTOOL_FLAG_COMPACT_BITSETS)
		return nil
	})
	return command(f.id, unix.ETHTOOL_MSG_LINKMODES_GET, flags, ae)
}

// decodeModes decodes an ETHTOOL_MSG_LINKMODES_GET_REPLY, or the notification
// like it. The index is 0 where the message doesn't say whom it is about.
func decodeModes(data []byte) (index uint32, m netdev.Modes) {
	m.State = netdev.ModesNone
	for typ, data := range attributes(data[min(genlHeaderSize, len(data)):]) {
		switch typ {
		case unix.ETHTOOL_A_LINKMODES_HEADER:
			for typ, data := range attributes(data) {
				if typ == unix.ETHTOOL_A_HEADER_DEV_INDEX {
					index = uint32Of(data)
				}
			}
		case unix.ETHTOOL_A_LINKMODES_SPEED:
			m.Speed, m.State = uint32Of(data), netdev.ModesKnown
		case unix.ETHTOOL_A_LINKMODES_DUPLEX:
			if len(data) > 0 {
				m.Duplex = data[0]
			}
		}
	}
	return index, m
}
