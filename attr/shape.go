package attr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sysfsd/sysfsd/netdev"
)

// Static is an entry of a device's directory that doesn't depend on other
// devices. Its slot is also its readdir position, so it has that for life.
type Static struct {
	Slot Slot
	Mode uint32 // with the file type
	UID  uint32
	GID  uint32
	Size int64
}

// Shape is the set of names that all devices of one kind in one state share. It
// is immutable.
type Shape struct {
	// Self is the directory itself.
	Self Static
	// Top are the entries of the device's directory, Statistics those of
	// statistics/, both in the order of their slots. A name that was not known
	// beforehand has a slot like all others: it is shared by its kind.
	Top, Statistics []Static
	// Subdirs is how many of Top are directories.
	Subdirs uint32
	// Uevent are the lines of uevent before INTERFACE, such as DEVTYPE=bridge.
	Uevent string
}

// Find returns the entry with a slot.
func Find(entries []Static, s Slot) (Static, bool) {
	for _, e := range entries {
		if e.Slot == s {
			return e, true
		}
	}
	return Static{}, false
}

// The one name of a device's directory that depends on the device itself is
// the character device of a macvtap, tap and the ifindex.
const tapPattern = "tap*"

// PatternOf returns the name by which the tables know an entry of l's directory.
func PatternOf(name string, l *netdev.Link) string {
	if n, ok := strings.CutPrefix(name, "tap"); ok && n == strconv.FormatUint(uint64(l.Index), 10) {
		return tapPattern
	}
	return name
}

// NameOf is the reverse of PatternOf.
func NameOf(pattern string, l *netdev.Link) string {
	if pattern == tapPattern {
		return "tap" + strconv.FormatUint(uint64(l.Index), 10)
	}
	return pattern
}

// AppendUevent appends the text of a device's uevent file.
func AppendUevent(b []byte, prefix string, l *netdev.Link) []byte {
	b = append(append(append(b, prefix...), "INTERFACE="...), l.Name...)
	b = strconv.AppendUint(append(b, "\nIFINDEX="...), uint64(l.Index), 10)
	return append(b, '\n')
}

// devtypes are the kinds whose DEVTYPE is their name, for where the kernel's own
// uevent file is out of reach.
var devtypes = []string{
	"amt", "bareudp", "bond", "bridge", "geneve", "hsr", "macsec", "ppp", "vlan", "vxlan", "wireguard", "wwan",
}

// UeventOf returns the lines of uevent before INTERFACE as far as they follow from
// the kind.
func UeventOf(l *netdev.Link) string {
	if slices.Contains(devtypes, l.Kind) {
		return "DEVTYPE=" + l.Kind + "\n"
	}
	return ""
}
