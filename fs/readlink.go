package fs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/tree"
)

// Readlink answers with the text of a link. Links between devices are made from
// the tree, so they follow renames; all others are the real ones.
func (f *FS) Readlink(_ <-chan struct{}, header *fuse.InHeader) ([]byte, fuse.Status) {
	text, err := f.linkText(f.at(header.NodeId))
	return []byte(text), f.status(err)
}

func (f *FS) linkText(s spot) (string, error) {
	slot := s.node.Slot()
	switch {
	case s.device != nil && slot == attr.SlotClass:
		return s.device.ClassLink(), nil
	case s.device != nil && slot == f.slotMaster:
		master, ok := s.snap.Device(s.device.Master)
		if !ok {
			return "", syscall.ENOENT
		}
		return s.device.MasterLink(master), nil
	case s.device == nil && s.place == nil:
		return relationText(s)
	}
	dir, err := s.dir()
	if err != nil {
		return "", err
	}
	path := f.tree.PathOf(s.node.Serial(), slot)
	if s.device != nil {
		path = topName(path, s.device)
	}
	return f.files.Readlink(dir, path.Full)
}

func relationText(s spot) (string, error) {
	_, upper, lower, ok := s.snap.Edge(s.node.Serial())
	if !ok {
		return "", syscall.ENOENT
	}
	text, ok := tree.RelationLink(s.node.Slot(), upper, lower)
	return text, found(ok)
}

// topName gives a path of the tables that depends on the device its real name.
func topName(p attr.Path, d *tree.Device) attr.Path {
	if p.Parent == attr.SlotDir {
		p.Name = attr.NameOf(p.Name, d.Link)
		p.Full = p.Name
	}
	return p
}
