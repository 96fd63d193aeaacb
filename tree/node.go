package tree

import (
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// Node is the number of a file, directory or link: which object, which path
// below it, and which type. It is arithmetic, so nothing is stored per file.
//
//	bits 63-56  content version, 0 where contents aren't cached
//	bits 55-54  type
//	bits 53-46  slot, upper half
//	bits 45-8   serial of the object
//	bits 7-0    slot, lower half
//
// The order keeps inode numbers below 2^32 for the first 2^24 objects and the
// slots below 256; the root, serial 0 and slot 1, is FUSE's node 1.
type Node uint64

// Root is the root directory of the tree.
const Root = Node(attr.SlotDir)

// Type is the type of a node. Its zero value is a directory, as the root is.
type Type uint8

// The types of nodes.
const (
	TypeDir Type = iota
	TypeFile
	TypeLink
)

const (
	serialShift  = 8
	serialBits   = 38
	slotHiShift  = serialShift + serialBits
	typeShift    = 54
	versionShift = 56

	// maxSerial objects is a thousand a second for eight years.
	maxSerial = 1<<serialBits - 1
)

// NodeOf returns the number of a path of an object.
func NodeOf(s netdev.Serial, slot attr.Slot, t Type) Node {
	return Node(slot&0xff) | Node(s)<<serialShift | Node(slot>>8)<<slotHiShift | Node(t)<<typeShift
}

// Serial returns the object.
func (n Node) Serial() netdev.Serial { return netdev.Serial(n>>serialShift) & maxSerial }

// Slot returns the path below the object.
func (n Node) Slot() attr.Slot {
	return attr.Slot(n&0xff) | attr.Slot(n>>slotHiShift&0xff)<<8
}

// Type returns the file type. It never changes in the life of a node.
func (n Node) Type() Type { return Type(n >> typeShift & 3) }

// Ino returns the inode number: the node without what st_ino shouldn't show.
func (n Node) Ino() uint64 { return uint64(n) & (1<<typeShift - 1) }

// TypeOfMode returns the type of a st_mode.
func TypeOfMode(mode uint32) Type {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return TypeDir
	case unix.S_IFLNK:
		return TypeLink
	}
	return TypeFile
}

// Mode returns the S_IF bits of a type.
func (t Type) Mode() uint32 {
	return [...]uint32{TypeDir: unix.S_IFDIR, TypeFile: unix.S_IFREG, TypeLink: unix.S_IFLNK, 3: unix.S_IFREG}[t]
}

// Dirent returns the DT_ value of a type.
func (t Type) Dirent() uint8 { return uint8(t.Mode() >> 12) }
