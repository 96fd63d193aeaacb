package dirent

import (
	"fmt"
	"syscall"

	"github.com/sysfsd/sysfsd/nlinkcount"
)

// Dir is a directory as its one writer has it: an index and the link count that
// belongs to it. It has no lock; readers get views.
//
// Invariant: nlink counts the entries of type DT_DIR; unless dirty, view shows
// the directory as it is.
type Dir struct {
	index Index
	nlink nlinkcount.Count
	view  View
	dirty bool
}

// NewDir returns a directory that keeps its entries in index and its link count
// in so many bits.
//
// Preconditions: index is empty, and the directory's from now on.
func NewDir(index Index, width nlinkcount.Width) *Dir {
	if index.Len() > 0 {
		panic("dirent: NewDir with an index in use")
	}
	return &Dir{index: index, nlink: nlinkcount.New(width)}
}

// Insert adds an entry and returns it with its position. It fails only if the
// name exists, with ErrExist and what has the name.
func (d *Dir) Insert(name string, node uint64, typ uint8) (Entry, error) {
	e, err := d.index.Insert(Entry{Name: name, Node: node, Type: typ})
	if err == nil {
		d.changed(1, subdir(e))
	}
	return e, err
}

// Remove takes the entry of that name out and returns it.
func (d *Dir) Remove(name string) (Entry, bool) {
	e, ok := d.index.Remove(name)
	if ok {
		d.changed(1, -subdir(e))
	}
	return e, ok
}

// Update gives the entry of that name another node; name, position and type
// stay. It returns the entry as it was.
func (d *Dir) Update(name string, node uint64) (Entry, bool) {
	old, ok := d.index.Update(name, node)
	if ok && old.Node != node {
		d.changed(1, 0)
	}
	return old, ok
}

// InsertAll is Insert for each of batch, in its order, but faster. It stores the
// positions in batch. What exists already, in the directory or earlier in batch,
// is left out: its Pos is 0 then, and the error is ErrExist.
func (d *Dir) InsertAll(batch []Entry) error {
	before := d.index.Len()
	err := d.index.InsertAll(batch)
	subdirs := 0
	for i := range batch {
		if batch[i].Pos != 0 {
			subdirs += subdir(batch[i])
		}
	}
	d.changed(d.index.Len()-before, subdirs)
	return err
}

// RemoveAll is Remove for each of names, but faster: the more, the more so. It
// returns what it took out, in no particular order.
func (d *Dir) RemoveAll(names []string) []Entry {
	removed := d.index.RemoveAll(names)
	subdirs := 0
	for i := range removed {
		subdirs += subdir(removed[i])
	}
	d.changed(len(removed), -subdirs)
	return removed
}

// changed notes that entries changed, and by how many subdirectories.
func (d *Dir) changed(entries, subdirs int) {
	d.nlink.Add(subdirs)
	d.dirty = d.dirty || entries > 0
}

// subdir is what e adds to the link count of its directory.
func subdir(e Entry) int {
	if e.Type == syscall.DT_DIR {
		return 1
	}
	return 0
}

// Lookup finds the entry of that name, for the writer.
func (d *Dir) Lookup(name string) (Entry, bool) { return d.index.Lookup(name) }

// Len counts the entries, for the writer.
func (d *Dir) Len() int { return d.index.Len() }

// View returns the directory as it is now. Where nothing has changed it is the
// same view as before.
func (d *Dir) View() View {
	if d.dirty {
		d.view, d.dirty = View{index: d.index.Clone(), nlink: d.nlink}, false
	}
	return d.view
}

// Check verifies the invariants, by looking at every entry.
func (d *Dir) Check() error {
	subdirs := 0
	for e := range d.index.After(0) {
		subdirs += subdir(e)
	}
	nlink := d.nlink.Load()
	if subdirs != d.nlink.Subdirs() || (nlink != 0 && nlink != uint32(subdirs)+2) {
		return fmt.Errorf("dirent: a link count of %d (%d subdirectories) where there are %d subdirectories",
			nlink, d.nlink.Subdirs(), subdirs)
	}
	return d.index.Check()
}
