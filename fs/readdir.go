package fs

import (
	"slices"

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
// kernel takes the name only, and whoever lists a million names needn't pay for
// a million inodes. Who asks for all attributes of a device's directory anyway
// gets them at once.
func (f *FS) ReadDirPlus(_ <-chan struct{}, input *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	s := f.at(input.NodeId)
	add := func(e fuse.DirEntry) bool { return out.AddDirLookupEntry(e) != nil }
	if s.device != nil && f.wantsAttributes(s, input) {
		add = f.addWithAttributes(s, out)
	}
	return f.status(f.list(s, hashpos.Pos(input.Offset), add))
}

func (f *FS) wantsAttributes(s spot, input *fuse.ReadIn) bool {
	if input.Offset > 0 {
		return f.listers.continues(input.Pid, s.node)
	}
	return f.listers.lists(input.Pid, s.node, len(s.device.Shape.Top))
}

// addWithAttributes returns what adds an entry together with what a LOOKUP of it
// would answer. An entry that is gone meanwhile stays a name.
func (f *FS) addWithAttributes(dir spot, out *fuse.DirEntryList) func(fuse.DirEntry) bool {
	return func(e fuse.DirEntry) bool {
		entry := out.AddDirLookupEntry(e)
		if entry == nil || e.Name == "." || e.Name == ".." {
			return entry != nil
		}
		if node, st, err := f.find(dir, e.Name); err == nil {
			_ = f.answer(entry, dir, node, st)
		}
		return true
	}
}

// list adds the entries past a position until one doesn't fit. A directory that
// is gone has only its dots, as in sysfs.
func (f *FS) list(s spot, after hashpos.Pos, add func(fuse.DirEntry) bool) error {
	if !f.listDots(s, after, add) {
		return nil
	}
	if after < hashpos.First {
		entries, err := f.fixedEntries(s)
		if err != nil {
			return f.gone(err)
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

func (f *FS) listDots(s spot, after hashpos.Pos, add func(fuse.DirEntry) bool) bool {
	if after < hashpos.Dot && !add(dirEntry(".", s.node, hashpos.Dot)) {
		return false
	}
	return after >= hashpos.DotDot || add(dirEntry("..", f.parentOf(s), hashpos.DotDot))
}

// parentOf returns the node of the directory above.
func (f *FS) parentOf(s spot) tree.Node {
	serial, slot := s.node.Serial(), s.node.Slot()
	switch {
	case s.place != nil:
		return tree.NodeOf(s.place.Parent, attr.SlotDir, tree.TypeDir)
	case s.device == nil:
		return tree.Root
	case slot == attr.SlotDir:
		return tree.NodeOf(s.device.Home.Serial, attr.SlotDir, tree.TypeDir)
	}
	return tree.NodeOf(serial, f.tree.PathOf(serial, slot).Parent, tree.TypeDir)
}

func dirEntry(name string, n tree.Node, pos hashpos.Pos) fuse.DirEntry {
	return fuse.DirEntry{Name: name, Ino: n.Ino(), Mode: n.Type().Mode(), Off: uint64(pos)}
}

// gone hides the end of a directory from its readers.
func (f *FS) gone(err error) error {
	if f.status(err) == fuse.ENOENT {
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
		if _, ok := s.place.Entries.Lookup(name); ok {
			continue // A device may have any name.
		}
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
