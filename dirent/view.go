package dirent

import (
	"iter"

	"github.com/sysfsd/sysfsd/hashpos"
	"github.com/sysfsd/sysfsd/nlinkcount"
)

// View is a directory at one moment. It never changes, so any number of
// goroutines may read it without a lock. The zero View is an empty directory.
type View struct {
	index Index // Nil: empty. Nobody's but the views' copies, and never changed.
	nlink nlinkcount.Count
}

// Lookup finds the entry of that name.
func (v View) Lookup(name string) (Entry, bool) {
	if v.index == nil {
		return Entry{}, false
	}
	return v.index.Lookup(name)
}

// After yields the entries strictly past pos, by ascending position. To resume a
// scan, in this view or a later one, pass the position of the last entry seen,
// whether it still exists or not.
func (v View) After(pos hashpos.Pos) iter.Seq[Entry] {
	if v.index == nil {
		return func(func(Entry) bool) {}
	}
	return v.index.After(pos)
}

// Len counts the entries.
func (v View) Len() int {
	if v.index == nil {
		return 0
	}
	return v.index.Len()
}

// Nlink returns st_nlink: 2 and the subdirectories, or 0 if that did not fit.
func (v View) Nlink() uint32 { return v.nlink.Load() }
