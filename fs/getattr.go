package fs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

// sysfsSize is the st_size that sysfs gives every text file.
var sysfsSize = int64(pageSize)

const blockSize = 4096

// GetAttr answers stat(2). A file that is open keeps its attributes when its
// device is gone, as in sysfs: cat asks for them before it reads. fstat(2) comes
// without its handle, so a node that anybody has open counts as open.
func (f *FS) GetAttr(_ <-chan struct{}, input *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	s := f.at(input.NodeId)
	f.listers.asks(input.Pid, s.node.Serial())
	st, err := f.attributes(s)
	if code := f.status(err); err != nil {
		if code != fuse.ENOENT || s.node.Type() != tree.TypeDir && !f.open.has(input.NodeId) {
			return code // Asked by its name, which the kernel still knew.
		}
		st = orphan(s.node)
	}
	f.fill(&out.Attr, s, st)
	out.SetTimeout(moment)
	return fuse.OK
}

// attributes returns what stat(2) says of a node.
func (f *FS) attributes(s spot) (netdev.Stat, error) {
	switch {
	case s.device != nil:
		return f.deviceAttributes(s)
	case s.place == nil:
		return f.edgeAttributes(s)
	case s.node.Slot() == attr.SlotDir:
		return netdev.Stat{Mode: s.place.Mode(), Nlink: s.place.Entries.Nlink()}, nil
	}
	return f.liveAttributes(s)
}

func (f *FS) deviceAttributes(s spot) (netdev.Stat, error) {
	d, slot := s.device, s.node.Slot()
	switch slot {
	case attr.SlotClass:
		return linkOf(d), nil
	case attr.SlotDir:
		return statOf(d.Shape.Self, d.Nlink()), nil
	case f.slotMaster:
		return linkOf(d), found(d.Master != 0)
	}
	if e, ok := attr.Find(d.Shape.Top, slot); ok {
		return f.staticAttributes(s, e)
	}
	if e, ok := attr.Find(d.Shape.Statistics, slot); ok {
		return statOf(e, 1), nil
	}
	return f.liveAttributes(s)
}

// staticAttributes answers for an entry of a device's directory. Directories
// that are listed live also have a live link count.
func (f *FS) staticAttributes(s spot, e attr.Static) (netdev.Stat, error) {
	switch s.node.Type() {
	case tree.TypeLink:
		return statOf(e, 1), nil
	case tree.TypeDir:
		inMemory := e.Slot == f.slotBrif || e.Slot == f.slotStatistics && s.device.Shape.Statistics != nil
		if !inMemory {
			return f.liveAttributes(s)
		}
		return statOf(e, 2), nil
	}
	st := statOf(e, 1)
	if text, ok := f.heldText(s.device, f.tree.Paths.Get(e.Slot)); ok {
		st.Size = int64(len(text))
	}
	return st, nil
}

func (f *FS) edgeAttributes(s spot) (netdev.Stat, error) {
	_, upper, lower, ok := s.snap.Edge(s.node.Serial())
	if !ok {
		return netdev.Stat{}, syscall.ENOENT
	}
	if s.node.Slot() == attr.SlotUpper {
		return linkOf(lower), nil
	}
	return linkOf(upper), nil
}

func (f *FS) liveAttributes(s spot) (netdev.Stat, error) {
	dir, err := s.dir()
	if err != nil {
		return netdev.Stat{}, err
	}
	p := f.tree.PathOf(s.node.Serial(), s.node.Slot())
	if p.Full == "" {
		return netdev.Stat{}, syscall.ENOENT
	}
	st, err := f.files.Stat(dir, p.Full)
	if err == nil && tree.TypeOfMode(st.Mode) != s.node.Type() {
		return st, syscall.ENOENT // Another thing has the name now.
	}
	return st, err
}

func statOf(e attr.Static, nlink uint32) netdev.Stat {
	return netdev.Stat{Mode: e.Mode, Nlink: nlink, UID: e.UID, GID: e.GID, Size: e.Size}
}

// linkOf returns the attributes of a link that belongs to a device. The st_size
// of links is 0 in sysfs too.
func linkOf(owner *tree.Device) netdev.Stat {
	self := owner.Shape.Self
	return netdev.Stat{Mode: unix.S_IFLNK | 0o777, Nlink: 1, UID: self.UID, GID: self.GID}
}

// orphan makes up the attributes of what is gone. The type has to be the one it
// had, or the kernel takes the node for a broken one.
func orphan(n tree.Node) netdev.Stat {
	switch n.Type() {
	case tree.TypeDir:
		return netdev.Stat{Mode: unix.S_IFDIR | 0o755, Nlink: 2}
	case tree.TypeLink:
		return netdev.Stat{Mode: unix.S_IFLNK | 0o777, Nlink: 1}
	}
	return netdev.Stat{Mode: unix.S_IFREG | 0o444, Nlink: 1, Size: sysfsSize}
}

// fill puts attributes into a reply. Times are those of the object: when the
// device appeared, when a directory's membership last changed.
func (f *FS) fill(out *fuse.Attr, s spot, st netdev.Stat) {
	out.Ino = s.node.Ino()
	out.Mode, out.Nlink, out.Size = st.Mode, st.Nlink, uint64(st.Size)
	out.Uid, out.Gid, out.Blksize = st.UID, st.GID, blockSize
	ns := f.born.UnixNano()
	switch {
	case s.device != nil:
		ns = s.device.Born
	case s.place != nil:
		ns = s.place.Changed
	}
	sec, nsec := uint64(ns/1e9), uint32(ns%1e9)
	out.Atime, out.Mtime, out.Ctime = sec, sec, sec
	out.Atimensec, out.Mtimensec, out.Ctimensec = nsec, nsec, nsec
}
