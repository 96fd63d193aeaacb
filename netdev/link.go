// Package netdev is the model of a network device: what a source says of it,
// how changes arrive, and how the files behind it are reached.
//
// Everything here is a value or an interface; nothing keeps state. A Link is
// never changed once it was handed over, so any number of readers may hold it.
package netdev

// Serial identifies one object (a device, a link between two, a directory) for
// the life of the mirror. Serials are never used again, unlike an ifindex.
type Serial uint64

// HWAddr holds the bytes of a link-layer address. A string because it is
// immutable, comparable, and shared between devices where it is the same.
type HWAddr string

// Link is what rtnetlink's RTM_NEWLINK says of a device, as far as a file or a
// name of the tree depends on it. Field names follow the IFLA_* constants.
type Link struct {
	Name    string
	Alias   string // IFLA_IFALIAS
	Kind    string // IFLA_INFO_KIND, empty for a device without rtnl_link_ops
	Slave   string // IFLA_INFO_SLAVE_KIND: what kind of master it is a port of
	Address HWAddr
	// Broadcast is IFLA_BROADCAST.
	Broadcast HWAddr
	// More holds what only a few devices have; nil for all others.
	More *More

	Index      uint32 // ifi_index
	Flags      uint32 // ifi_flags
	MTU        uint32
	TxQueueLen uint32
	Master     uint32 // IFLA_MASTER, 0: none
	// Lower is the device that this one stands on and shows as lower_X: IFLA_LINK,
	// or what the kind has instead (vxlan). 0: none, or in another namespace. A
	// veth doesn't stand on its peer.
	Lower        uint32
	NumTxQueues  uint32 // allocated, not the number shown
	CarrierCount uint32 // IFLA_CARRIER_CHANGES
	CarrierUp    uint32 // IFLA_CARRIER_UP_COUNT
	CarrierDown  uint32 // IFLA_CARRIER_DOWN_COUNT

	Type      uint16 // ifi_type, ARPHRD_*
	Operstate uint8  // IFLA_OPERSTATE, RFC 2863
	LinkMode  uint8
	Carrier   uint8
	// HasLink says that IFLA_LINK was there: iflink then isn't the own ifindex,
	// and may change in a namespace that tells us nothing.
	HasLink bool
	// Abroad says that the device stands on one in another namespace, whose
	// changes nobody here announces.
	Abroad bool
}

// More is the part of a Link that only devices with hardware have.
type More struct {
	ParentName   string // IFLA_PARENT_DEV_NAME
	ParentBus    string // IFLA_PARENT_DEV_BUS_NAME
	PhysPortName string
	PhysPortID   HWAddr
	PhysSwitchID HWAddr
}

// flagUp is IFF_UP of netdevice(7).
const flagUp = 0x1

// Up reports IFF_UP. The kernel announces most changes only of devices that are.
func (l *Link) Up() bool { return l.Flags&flagUp != 0 }

// HasParent reports that the device hangs below a bus device.
func (l *Link) HasParent() bool { return l.More != nil && l.More.ParentName != "" }

// Modes is the answer of ETHTOOL_MSG_LINKMODES_GET. Its zero value stands for
// "not asked yet" and reads as an error, as does a device that has no answer.
type Modes struct {
	Speed  uint32 // ETHTOOL_A_LINKMODES_SPEED, Mb/s, all ones: unknown
	Duplex uint8  // ETHTOOL_A_LINKMODES_DUPLEX
	State  ModesState
}

// ModesState says what is known of a device's link modes.
type ModesState uint8

// The states of Modes.
const (
	ModesUnasked ModesState = iota // no answer yet
	ModesKnown                     // Speed and Duplex hold
	ModesNone                      // the device answered with an error
)
