package attr

import (
	"encoding/hex"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// IFLA numbers that golang.org/x/sys/unix doesn't have yet, from
// linux/if_link.h.
const (
	iflaCarrierUpCount   = 47
	iflaCarrierDownCount = 48
	iflaParentDevName    = 56
	iflaParentDevBusName = 57
)

// KeptRows is how many rows are in class Kept.
const KeptRows = 4

// Rows has every file that is known by name, the order is of no meaning. A
// file that isn't here is served all the same: it is in class Waits, because
// what its driver does is not known.
var Rows = concat(deviceRows, statistics, queueRows, powerRows, bridgeRows, portRows, tunRows, bondRows)

var deviceRows = []Row{
	mirrored32("mtu", 0o644, unix.IFLA_MTU, func(l *netdev.Link) *uint32 { return &l.MTU }),
	mirrored32("tx_queue_len", 0o644, unix.IFLA_TXQLEN, func(l *netdev.Link) *uint32 { return &l.TxQueueLen }),
	mirroredAddr("address", unix.IFLA_ADDRESS, func(l *netdev.Link) *netdev.HWAddr { return &l.Address }),
	mirroredAddr("broadcast", unix.IFLA_BROADCAST, func(l *netdev.Link) *netdev.HWAddr { return &l.Broadcast }),
	{
		Path: "addr_len", Mode: 0o444, Class: Mirrored, Format: "decimal", Source: "length of IFLA_ADDRESS",
		Show: dec(func(l *netdev.Link) uint32 { return uint32(len(l.Address)) }),
	},
	{
		Path: "type", Mode: 0o444, Class: Mirrored, Format: "decimal", Source: "ifi_type",
		Show: dec(func(l *netdev.Link) uint16 { return l.Type }),
	},
	{
		Path: "ifindex", Mode: 0o444, Class: Mirrored, Format: "decimal", Source: "ifi_index",
		Show: dec(func(l *netdev.Link) uint32 { return l.Index }),
	},
	{
		Path: "iflink", Mode: 0o444, Class: Mirrored, While: withoutLink, Format: "decimal", Source: "ifi_index",
		Show: dec(func(l *netdev.Link) uint32 { return l.Index }),
	},
	{
		Path: "operstate", Mode: 0o444, Class: Mirrored, While: stateKnown, Format: "word", Source: "IFLA_OPERSTATE",
		IFLA: unix.IFLA_OPERSTATE, Decode: set8(func(l *netdev.Link) *uint8 { return &l.Operstate }), Show: showOperstate,
	},
	{
		Path: "carrier", Mode: 0o644, Class: Mirrored, Format: "0 or 1; EINVAL unless UP", Source: "IFLA_CARRIER, IFF_UP",
		IFLA: unix.IFLA_CARRIER, Decode: set8(func(l *netdev.Link) *uint8 { return &l.Carrier }),
		Show: ifUp(dec(func(l *netdev.Link) uint8 { return l.Carrier })),
	},
	whileUp32("carrier_changes", unix.IFLA_CARRIER_CHANGES, func(l *netdev.Link) *uint32 { return &l.CarrierCount }),
	whileUp32("carrier_up_count", iflaCarrierUpCount, func(l *netdev.Link) *uint32 { return &l.CarrierUp }),
	whileUp32("carrier_down_count", iflaCarrierDownCount, func(l *netdev.Link) *uint32 { return &l.CarrierDown }),
	whileUp8("link_mode", unix.IFLA_LINKMODE, func(l *netdev.Link) *uint8 { return &l.LinkMode }),
	{
		Path: "ifalias", Mode: 0o644, Class: Mirrored, While: whileUp, Format: "text, nothing at all without an alias",
		Source: "IFLA_IFALIAS", IFLA: unix.IFLA_IFALIAS,
		Decode: setText(func(l *netdev.Link) *string { return &l.Alias }), Show: showAlias,
	},
	{
		Path: "speed", Mode: 0o444, Class: Mirrored, While: belowHere, Else: Polled, Format: "decimal Mb/s, -1 unknown; EINVAL unless UP and known",
		Source: "ETHTOOL_A_LINKMODES_SPEED", Show: modes(showSpeed),
	},
	{
		Path: "duplex", Mode: 0o444, Class: Mirrored, While: belowHere, Else: Polled, Format: "word; EINVAL unless UP and known",
		Source: "ETHTOOL_A_LINKMODES_DUPLEX", Show: modes(showDuplex),
	},
	physID("phys_port_id", unix.IFLA_PHYS_PORT_ID, func(m *netdev.More) *netdev.HWAddr { return &m.PhysPortID }),
	physID("phys_switch_id", unix.IFLA_PHYS_SWITCH_ID, func(m *netdev.More) *netdev.HWAddr { return &m.PhysSwitchID }),
	{
		Path: "phys_port_name", Mode: 0o444, Class: Mirrored, Format: "text; EOPNOTSUPP without",
		Source: "IFLA_PHYS_PORT_NAME", IFLA: unix.IFLA_PHYS_PORT_NAME,
		Decode: setText(func(l *netdev.Link) *string { return &more(l).PhysPortName }),
		Show:   phys(func(b []byte, m *netdev.More) []byte { return append(b, m.PhysPortName...) }),
	},
	{
		Path: "uevent", Mode: 0o644, Class: Mirrored, Format: "KEY=value lines",
		Source: "the lines before INTERFACE from the device's shape, IFLA_IFNAME, ifi_index",
	},
	kept(0, "addr_assign_type", "decimal"),
	kept(1, "name_assign_type", "decimal; EINVAL if unknown"),
	kept(2, "dev_id", "hexadecimal with 0x"),
	kept(3, "dev_port", "decimal"),
	liveRow("flags", 0o644, "hexadecimal with 0x"),
	liveRow("netdev_group", 0o644, "decimal"),
	liveRow("proto_down", 0o644, "0 or 1"),
	liveRow("dormant", 0o444, "0 or 1; EINVAL unless UP"),
	liveRow("testing", 0o444, "0 or 1; EINVAL unless UP"),
	liveRow("gro_flush_timeout", 0o644, "decimal ns"),
	liveRow("napi_defer_hard_irqs", 0o644, "decimal"),
	liveRow("threaded", 0o644, "decimal"),
}

// hidden are the attributes of RTM_NEWLINK without a file of their own: names
// and relations are made of them. IFLA_LINKINFO is nested and rtnl's affair.
var hidden = []struct {
	ifla   uint16
	decode func(*netdev.Link, []byte)
}{
	{unix.IFLA_IFNAME, setText(func(l *netdev.Link) *string { return &l.Name })},
	{unix.IFLA_MASTER, set32(func(l *netdev.Link) *uint32 { return &l.Master })},
	{unix.IFLA_NUM_TX_QUEUES, set32(func(l *netdev.Link) *uint32 { return &l.NumTxQueues })},
	{iflaParentDevName, setText(func(l *netdev.Link) *string { return &more(l).ParentName })},
	{iflaParentDevBusName, setText(func(l *netdev.Link) *string { return &more(l).ParentBus })},
}

func mirrored32(path string, mode fs.FileMode, ifla uint16, field func(*netdev.Link) *uint32) Row {
	return Row{
		Path: path, Mode: mode, Class: Mirrored, Format: "decimal", Source: iflaName(ifla), IFLA: ifla,
		Decode: set32(field), Show: dec(func(l *netdev.Link) uint32 { return *field(l) }),
	}
}

func mirroredAddr(path string, ifla uint16, field func(*netdev.Link) *netdev.HWAddr) Row {
	return Row{
		Path: path, Mode: 0o444, Class: Mirrored, Format: "hexadecimal bytes between colons", Source: iflaName(ifla), IFLA: ifla,
		Decode: setAddr(field), Show: colons(func(l *netdev.Link) netdev.HWAddr { return *field(l) }),
	}
}

func whileUp32(path string, ifla uint16, field func(*netdev.Link) *uint32) Row {
	r := mirrored32(path, 0o444, ifla, field)
	r.While = whileUp
	return r
}

func whileUp8(path string, ifla uint16, field func(*netdev.Link) *uint8) Row {
	return Row{
		Path: path, Mode: 0o444, Class: Mirrored, While: whileUp, Format: "decimal", Source: iflaName(ifla), IFLA: ifla,
		Decode: set8(field), Show: dec(func(l *netdev.Link) uint8 { return *field(l) }),
	}
}

func physID(path string, ifla uint16, field func(*netdev.More) *netdev.HWAddr) Row {
	return Row{
		Path: path, Mode: 0o444, Class: Mirrored, Format: "hexadecimal bytes; EOPNOTSUPP without", Source: iflaName(ifla), IFLA: ifla,
		Decode: setAddr(func(l *netdev.Link) *netdev.HWAddr { return field(more(l)) }),
		Show: phys(func(b []byte, m *netdev.More) []byte {
			return hex.AppendEncode(b, []byte(*field(m)))
		}),
	}
}

func kept(n int, path, format string) Row {
	return Row{Path: path, Keep: n, Mode: 0o444, Class: Kept, Format: format, Source: "the kernel's file, once"}
}

func liveRow(path string, mode fs.FileMode, format string) Row {
	return Row{Path: path, Mode: mode, Class: Live, Format: format, Source: "the kernel's file"}
}

func concat(parts ...[]Row) []Row { return slices.Concat(parts...) }

// iflaNames spells the constants that rows are made of.
var iflaNames = map[uint16]string{
	unix.IFLA_MTU: "IFLA_MTU", unix.IFLA_TXQLEN: "IFLA_TXQLEN",
	unix.IFLA_ADDRESS: "IFLA_ADDRESS", unix.IFLA_BROADCAST: "IFLA_BROADCAST",
	unix.IFLA_CARRIER_CHANGES: "IFLA_CARRIER_CHANGES", iflaCarrierUpCount: "IFLA_CARRIER_UP_COUNT",
	iflaCarrierDownCount: "IFLA_CARRIER_DOWN_COUNT", unix.IFLA_LINKMODE: "IFLA_LINKMODE",
	unix.IFLA_PHYS_PORT_ID:   "IFLA_PHYS_PORT_ID",
	unix.IFLA_PHYS_SWITCH_ID: "IFLA_PHYS_SWITCH_ID",
}

func iflaName(n uint16) string { return iflaNames[n] }
