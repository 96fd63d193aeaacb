package fs

import (
	"slices"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

// Lookup finds a name in a directory.
func (f *FS) Lookup(_ <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	parent := f.at(header.NodeId)
	node, st, err := f.find(parent, name)
	if err != nil {
		return f.status(err)
	}
	f.listers.asks(header.Pid, parent.node.Serial())
	return f.status(f.answer(out, parent, node, st))
}

// answer fills in what the kernel is told of a name that was found. Its
// attributes are made here if finding it didn't bring them.
func (f *FS) answer(out *fuse.EntryOut, parent spot, node tree.Node, st *netdev.Stat) error {
	s := spotOf(parent.snap, node)
	if st == nil {
		own, err := f.attributes(s)
		if err != nil {
			return err
		}
		st = &own
	}
	out.NodeId = uint64(node)
	f.fill(&out.Attr, s, *st)
	out.SetEntryTimeout(s.nameValidity(parent))
	out.SetAttrTimeout(moment)
	return nil
}

// find returns the node of a name below a directory, and its attributes if
// finding it brought them.
func (f *FS) find(s spot, name string) (tree.Node, *netdev.Stat, error) {
	switch {
	case s.place != nil:
		return f.findInPlace(s, name)
	case s.device == nil:
		return 0, nil, syscall.ENOENT
	}
	switch slot := s.node.Slot(); {
	case slot == attr.SlotDir:
		return f.findInDevice(s.device, name)
	case slot == f.slotStatistics && s.device.Shape.Statistics != nil:
		return f.findStatistic(s.device, name)
	case slot == f.slotBrif:
		e, ok := s.device.Ports().Lookup(name)
		return tree.Node(e.Node), nil, found(ok)
	}
	return f.findLive(s, name)
}

func found(ok bool) error {
	if !ok {
		return syscall.ENOENT
	}
	return nil
}

func (f *FS) findInPlace(s spot, name string) (tree.Node, *netdev.Stat, error) {
	if e, ok := s.place.Entries.Lookup(name); ok {
		return tree.Node(e.Node), nil, nil
	}
	if !slices.Contains(s.place.Files, name) {
		return 0, nil, syscall.ENOENT
	}
	return f.findLive(s, name)
}

func (f *FS) findInDevice(d *tree.Device, name string) (tree.Node, *netdev.Stat, error) {
	switch {
	case name == "master":
		return tree.NodeOf(d.Serial, f.slotMaster, tree.TypeLink), nil, found(d.Master != 0)
	case strings.HasPrefix(name, "upper_"), strings.HasPrefix(name, "lower_"):
		e, ok := d.Names().Lookup(name)
		return tree.Node(e.Node), nil, found(ok)
	}
	slot, _ := f.tree.Paths.FindTop(name, d.Link)
	e, ok := attr.Find(d.Shape.Top, slot)
	// The tables' own pattern is no name.
	ok = ok && attr.NameOf(f.tree.Paths.Get(slot).Name, d.Link) == name
	return tree.NodeOf(d.Serial, slot, tree.TypeOfMode(e.Mode)), nil, found(ok)
}

func (f *FS) findStatistic(d *tree.Device, name string) (tree.Node, *netdev.Stat, error) {
	slot, _ := f.tree.Paths.Child(f.slotStatistics, name)
	_, ok := attr.Find(d.Shape.Statistics, slot)
	return tree.NodeOf(d.Serial, slot, tree.TypeFile), nil, found(ok)
}

// findLive asks the tree behind the mirror for a name that it alone knows.
func (f *FS) findLive(s spot, name string) (tree.Node, *netdev.Stat, error) {
	dir, err := s.dir()
	if err != nil {
		return 0, nil, err
	}
	slot := s.node.Slot()
	st, err := f.files.Stat(dir, join(f.tree.PathOf(s.node.Serial(), slot).Full, name))
	if err != nil {
		return 0, nil, err
	}
	child, ok := f.tree.Child(s.node.Serial(), slot, name)
	return tree.NodeOf(s.node.Serial(), child, tree.TypeOfMode(st.Mode)), &st, found(ok)
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
