package attr

import "golang.org/x/sys/unix"

// NameSource says what makes a name of a device's directory appear and vanish.
type NameSource uint8

// The sources of names.
const (
	// FromShape names are learned from the real directory, once for each kind of
	// device in each state that matters, and checked again when the device is
	// announced.
	FromShape NameSource = iota
	// FromRelation names follow the links between devices.
	FromRelation
	// FromListing directories are read live each time; nothing is assumed of them.
	FromListing
)

var sourceNames = [...]string{FromShape: "shape", FromRelation: "relation", FromListing: "listed live"}

// String returns the word that docs/attributes.md uses.
func (s NameSource) String() string { return sourceNames[s] }

// Name declares a directory or a link. Files are declared by Rows.
type Name struct {
	Path   string // '*' stands for a device's name, an ifindex or a number
	Type   uint8  // DT_DIR or DT_LNK
	Names  NameSource
	Exists string // when it does, for the documentation
	Target string // of a link, for the documentation
}

// Names has every directory and link that is known by name. What is not here
// is part of the shape where it stands in the device's directory, and listed
// live below.
var Names = []Name{
	{Path: "statistics", Type: unix.DT_DIR, Names: FromShape, Exists: "always"},
	{Path: "queues", Type: unix.DT_DIR, Names: FromListing, Exists: "always"},
	{Path: "queues/rx-*", Type: unix.DT_DIR, Names: FromListing, Exists: "for each receive queue in use"},
	{Path: "queues/tx-*", Type: unix.DT_DIR, Names: FromListing, Exists: "for each transmit queue in use"},
	{Path: "queues/tx-*/byte_queue_limits", Type: unix.DT_DIR, Names: FromListing, Exists: "where the driver queues"},
	{Path: "power", Type: unix.DT_DIR, Names: FromListing, Exists: "kernel with power management"},
	{Path: "bridge", Type: unix.DT_DIR, Names: FromListing, Exists: "bridges"},
	{Path: "brif", Type: unix.DT_DIR, Names: FromRelation, Exists: "bridges"},
	{Path: "brport", Type: unix.DT_DIR, Names: FromListing, Exists: "ports of a bridge"},
	{Path: "bonding", Type: unix.DT_DIR, Names: FromListing, Exists: "bonds"},
	{Path: "bonding_slave", Type: unix.DT_DIR, Names: FromListing, Exists: "ports of a bond"},
	{Path: "wireless", Type: unix.DT_DIR, Names: FromListing, Exists: "Wi-Fi"},
	{Path: "macvtap", Type: unix.DT_DIR, Names: FromListing, Exists: "macvtap"},
	{Path: "tap*", Type: unix.DT_LNK, Names: FromShape, Exists: "macvtap, * is the ifindex", Target: "macvtap/tap*"},
	{Path: "subsystem", Type: unix.DT_LNK, Names: FromShape, Exists: "always", Target: "class/net, relative"},
	{Path: "device", Type: unix.DT_LNK, Names: FromShape, Exists: "below a bus device", Target: "the bus device, relative"},
	{Path: "phy80211", Type: unix.DT_LNK, Names: FromShape, Exists: "Wi-Fi", Target: "the ieee80211 device, relative"},
	{Path: "phydev", Type: unix.DT_LNK, Names: FromShape, Exists: "a MAC with a PHY", Target: "the mdio device, relative"},
	{Path: "master", Type: unix.DT_LNK, Names: FromRelation, Exists: "ports", Target: "the master, relative"},
	{Path: "upper_*", Type: unix.DT_LNK, Names: FromRelation, Exists: "for each device above, in the same namespace", Target: "that device, relative"},
	{Path: "lower_*", Type: unix.DT_LNK, Names: FromRelation, Exists: "for each device below, in the same namespace", Target: "that device, relative"},
	{Path: "brif/*", Type: unix.DT_LNK, Names: FromRelation, Exists: "for each port", Target: "brport of the port, relative"},
	{Path: "brport/bridge", Type: unix.DT_LNK, Names: FromListing, Exists: "always", Target: "the bridge, relative"},
}

// ParentFiles is the closed list of what is shown of a bus device that a
// network device hangs below: what programs read of it to know the hardware.
var ParentFiles = []string{
	"uevent", "vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision", "numa_node",
	"modalias", "driver", "subsystem",
}

// ClassFiles is what class/net may hold besides links.
var ClassFiles = []string{"bonding_masters"}
