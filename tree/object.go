package tree

import (
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/dirent"
	"github.com/sysfsd/sysfsd/netdev"
)

// Home is what never changes of a Place. Devices point at theirs.
type Home struct {
	Path   string // relative to the root: "", "class/net", "devices/virtual/net"
	Serial netdev.Serial
	Parent netdev.Serial
	// Fixed places are always there.
	Fixed bool
	// Files are the names of the place's own files, of which those exist that
	// the tree behind the mirror has at the moment.
	Files []string
}

// Place is a directory above the devices. It is immutable.
type Place struct {
	*Home
	Entries dirent.View
	Changed int64 // when an entry last came or went, in ns since 1970
}

// Device is one device. It is immutable but for what is kept of it; a change
// makes a new one with the same serial.
type Device struct {
	attr.Values
	Home   *Home
	Shape  *attr.Shape
	Rel    *Relations // nil without any
	Serial netdev.Serial
	Master netdev.Serial // 0: none
	Born   int64         // when it appeared, in ns since 1970
	// edition is that of the snapshot it was made for: until that is published
	// the writer may change it.
	edition uint64
	// real is shared by all states of the device.
	real *realDir
	// kept is what was read once of the Kept files, see Keep. A new Device
	// starts without: that is how an announcement drops it.
	kept [attr.KeptRows]atomic.Pointer[Answer]
}

// realDir is what is known of a device's real directory.
type realDir struct{ ino atomic.Uint64 } // st_ino, 0: not known yet

// Relations are the names in a device's directory that other devices make.
type Relations struct {
	Names dirent.View // upper_X, lower_X
	Ports dirent.View // brif/X
}

// Edge is a pair of devices of which one stands on the other. It is immutable.
type Edge struct {
	Serial netdev.Serial
	Upper  netdev.Serial
	Lower  netdev.Serial
	Master bool // Upper is the master of Lower
	Port   bool // Upper is a bridge and Lower its port
}

// Dir returns where the tree behind the mirror has the device.
func (d *Device) Dir() netdev.Dir {
	return netdev.Dir{Path: d.Path(), Serial: d.Serial, Index: d.Link.Index}
}

// Path returns the device's directory, relative to the root.
func (d *Device) Path() string { return d.Home.Path + "/" + d.Link.Name }

// Nlink returns the link count of the device's directory.
func (d *Device) Nlink() uint32 { return 2 + d.Shape.Subdirs }

// Names returns the relations' view, empty without any.
func (d *Device) Names() dirent.View {
	if d.Rel == nil {
		return dirent.View{}
	}
	return d.Rel.Names
}

// Ports returns the view of brif/, empty without any.
func (d *Device) Ports() dirent.View {
	if d.Rel == nil {
		return dirent.View{}
	}
	return d.Rel.Ports
}

// Mode returns st_mode: the root of sysfs can't be written by anybody.
func (h *Home) Mode() uint32 {
	if h.Path == "" {
		return unix.S_IFDIR | 0o555
	}
	return unix.S_IFDIR | 0o755
}

// Dir returns where the tree behind the mirror has the place.
func (h *Home) Dir() netdev.Dir { return netdev.Dir{Path: h.Path, Serial: h.Serial} }

// Links are written as sysfs writes them: up to the first directory that both
// ends share, then down.

// ClassLink returns the text of a device's link in class/net.
func (d *Device) ClassLink() string { return relative(classPath+"/"+d.Link.Name, d.Path()) }

// MasterLink returns the text of the link master in the device's directory.
func (d *Device) MasterLink(master *Device) string {
	return relative(d.Path()+"/master", master.Path())
}

// RelationLink returns the text of one of an edge's links.
func RelationLink(slot attr.Slot, upper, lower *Device) (string, bool) {
	switch slot {
	case attr.SlotUpper:
		return relative(lower.Path()+"/upper_", upper.Path()), true
	case attr.SlotLower:
		return relative(upper.Path()+"/lower_", lower.Path()), true
	case attr.SlotPort:
		return relative(upper.Path()+"/brif/", lower.Path()+"/brport"), true
	}
	return "", false
}

// relative returns the text of a link: both paths are relative to the root.
func relative(link, to string) string {
	shared := 0
	for i := 0; i < len(link) && i < len(to) && link[i] == to[i]; i++ {
		if link[i] == '/' {
			shared = i + 1
		}
	}
	return strings.Repeat("../", strings.Count(link[shared:], "/")) + to[shared:]
}
