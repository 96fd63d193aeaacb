package fs

import (
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/dirent"
	"github.com/sysfsd/sysfsd/hashpos"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

// fixed is an entry whose position is its slot: it is the same for life, and
// below those that an index gives out.
type fixed struct {
	name string
	node tree.Node
}

// pos is where readdir has the entry. The two dots come before slot 1.
func (e fixed) pos() hashpos.Pos { return hashpos.DotDot + hashpos.Pos(e.node.Slot()) }

// OpenDir needs no state: a position is good in any listing.
func (f *FS) OpenDir(_ <-chan struct{}, _ *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	return fuse.OK
}

// ReleaseDir has nothing to end.
func (f *FS) ReleaseDir(*fuse.ReleaseIn) {}

// ReadDir lists a directory from a position on.
func (f *FS) ReadDir(_ <-chan struct{}, input *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return f.status(f.list(f.at(input.NodeId), hashpos.Pos(input.Offset), out.AddDirEntry))
}

// ReadDirPlus lists a directory without looking its entries up: with node 0 the
// kernel takes the name only. Whoever lists a million names needn't pay for a
// million inodes.
func (f *FS) ReadDirPlus(_ <-chan struct{}, input *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	add := func(e fuse.DirEntry) bool { return out.AddDirLookupEntry(e) != nil }
	return f.status(f.list(f.at(input.NodeId), hashpos.Pos(input.Offset), add))
}

// list adds the entries past a position until one doesn't fit. A directory that
// is gone has only its dots, as in sysfs.
func (f *FS) list(s spot, after hashpos.Pos, add func(fuse.DirEntry) bool) error {
	if !listDots(s, after, add) {
		return nil
	}
	if after < hashpos.First {
		entries, err := f.fixedEntries(s)
		if err != nil {
			return gone(err)
		}
		for _, e := range entries {
			if e.pos() > after && !add(dirEntry(e.name, e.node, e.pos())) {
				return nil
			}
		}
	}
	for e := range f.indexOf(s).After(after) {
		if !add(dirEntry(e.Name, tree.Node(e.Node), e.Pos)) {
			return nil
		}
	}
	return nil
}

func listDots(s spot, after hashpos.Pos, add func(fuse.DirEntry) bool) bool {
	if after < hashpos.Dot && !add(dirEntry(".", s.node, hashpos.Dot)) {
		return false
	}
	return after >= hashpos.DotDot || add(dirEntry("..", s.parent(), hashpos.DotDot))
}

// parent returns the node of the directory above.
func (s spot) parent() tree.Node {
	switch {
	case s.place != nil:
		return tree.NodeOf(s.place.Parent, attr.SlotDir, tree.TypeDir)
	case s.device == nil:
		return tree.Root
	case s.node.Slot() == attr.SlotDir:
		return tree.NodeOf(s.device.Home.Serial, attr.SlotDir, tree.TypeDir)
	}
	return tree.NodeOf(s.device.Serial, attr.SlotDir, tree.TypeDir)
}

func dirEntry(name string, n tree.Node, pos hashpos.Pos) fuse.DirEntry {
	return fuse.DirEntry{Name: name, Ino: n.Ino(), Mode: n.Type().Mode(), Off: uint64(pos)}
}

// gone hides the end of a directory from its readers.
func gone(err error) error {
	if err == syscall.ENOENT || err == syscall.ENODEV { //nolint:errorlint // Files returns bare errnos.
		return nil
	}
	return err
}

// indexOf returns the entries of a directory that come from an index.
func (f *FS) indexOf(s spot) dirent.View {
	switch {
	case s.place != nil:
		return s.place.Entries
	case s.device == nil:
		return dirent.View{}
	case s.node.Slot() == attr.SlotDir:
		return s.device.Names()
	case s.node.Slot() == f.slotBrif:
		return s.device.Ports()
	}
	return dirent.View{}
}

// fixedEntries returns the entries of a directory that come from no index, in
// the order of their positions.
func (f *FS) fixedEntries(s spot) ([]fixed, error) {
	d, slot := s.device, s.node.Slot()
	switch {
	case s.place != nil:
		return f.ownEntries(s), nil
	case d == nil || slot == f.slotBrif:
		return nil, nil
	case slot == attr.SlotDir:
		return f.deviceEntries(d), nil
	case slot == f.slotStatistics && d.Shape.Statistics != nil:
		return f.staticEntries(d, d.Shape.Statistics), nil
	}
	return f.liveEntries(s)
}

// ownEntries returns those of a place's own files that exist at the moment.
func (f *FS) ownEntries(s spot) []fixed {
	var entries []fixed
	for _, name := range s.place.Files {
		if node, _, err := f.findLive(s, name); err == nil {
			entries = append(entries, fixed{name, node})
		}
	}
	return sorted(entries)
}

func (f *FS) deviceEntries(d *tree.Device) []fixed {
	entries := f.staticEntries(d, d.Shape.Top)
	if d.Master != 0 {
		entries = append(entries, fixed{"master", tree.NodeOf(d.Serial, f.slotMaster, tree.TypeLink)})
	}
	return sorted(entries)
}

func (f *FS) staticEntries(d *tree.Device, statics []attr.Static) []fixed {
	entries := make([]fixed, 0, len(statics)+1)
	for _, e := range statics {
		name := attr.NameOf(f.tree.Paths.Get(e.Slot).Name, d.Link)
		entries = append(entries, fixed{name, tree.NodeOf(d.Serial, e.Slot, tree.TypeOfMode(e.Mode))})
	}
	return entries
}

// liveEntries lists a directory behind the mirror.
func (f *FS) liveEntries(s spot) ([]fixed, error) {
	dir, err := s.dir()
	if err != nil {
		return nil, err
	}
	serial, slot := s.node.Serial(), s.node.Slot()
	list, err := f.files.List(dir, f.tree.PathOf(serial, slot).Full)
	if err != nil {
		return nil, err
	}
	entries := make([]fixed, 0, len(list))
	for _, e := range list {
		if child, ok := f.tree.Child(serial, slot, e.Name); ok {
			entries = append(entries, fixed{e.Name, tree.NodeOf(serial, child, typeOf(e))})
		}
	}
	return sorted(entries), nil
}

func sorted(entries []fixed) []fixed {
	slices.SortFunc(entries, func(a, b fixed) int { return int(a.node.Slot()) - int(b.node.Slot()) })
	return entries
}

func typeOf(e netdev.Dirent) tree.Type { return tree.TypeOfMode(uint32(e.Type) << 12) }
