package dirent

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/sysfsd/sysfsd/hashpos"
)

// Index is what a directory needs of its entries; the variants differ in how
// they order and find them, and so in speed. One goroutine changes an index, and
// nobody reads it meanwhile: readers have clones.
//
// Invariant: names are unique; positions are unique, not below hashpos.First and
// below 2^63; an entry keeps its position until it is removed.
type Index interface {
	// Lookup finds the entry of that name.
	Lookup(name string) (Entry, bool)
	// After yields the entries strictly past pos, by ascending position. The index
	// must not change before the sequence ends.
	After(pos hashpos.Pos) iter.Seq[Entry]
	// Len counts the entries.
	Len() int

	// Insert gives e a position, whatever its Pos was, and returns it as it is
	// kept. It fails only if the name exists, with ErrExist and what has the name.
	Insert(e Entry) (Entry, error)
	// Remove takes the entry of that name out and returns it.
	Remove(name string) (Entry, bool)
	// Update gives the entry of that name another node. Name, position and type
	// stay. It returns the entry as it was.
	Update(name string, node uint64) (Entry, bool)

	// InsertAll does Insert for each of batch, in its order, and stores the
	// positions in it. What exists already, in the index or earlier in batch, is
	// left out: its Pos is 0 then, and the error is ErrExist.
	InsertAll(batch []Entry) error
	// RemoveAll does Remove for each of names and returns what it took out, in no
	// particular order. Names that don't exist are passed over.
	RemoveAll(names []string) []Entry

	// Clone returns an independent copy. From then on one goroutine may use the
	// original while others use the copy.
	Clone() Index
	// Check verifies the invariants, by looking at every entry.
	Check() error
}

// Default is the kind of index to use unless there is a reason.
const Default = "hash"

// kinds has a line for each variant. Those that hash by themselves, or not at
// all, ignore the hash.
var kinds = map[string]func(hashpos.Hash) Index{
	"hash": newHash,
}

// Kinds returns the kinds of index that New knows, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// New returns an empty index of that kind. A nil hash is one under a random key.
func New(kind string, hash hashpos.Hash) (Index, error) {
	newIndex, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("dirent: new index %q, not one of %q: %w", kind, Kinds(), ErrKind)
	}
	if hash == nil {
		hash = hashpos.Keyed(hashpos.RandomKey())
	}
	return newIndex(hash), nil
}

// exists is the error of inserting name once more.
func exists(name string) error {
	return fmt.Errorf("dirent: insert %q: %w", name, ErrExist)
}

// removeEach is RemoveAll for an index that has no shorter way.
func removeEach(x Index, names []string) []Entry {
	removed := make([]Entry, 0, min(len(names), x.Len()))
	for _, name := range names {
		if e, ok := x.Remove(name); ok {
			removed = append(removed, e)
		}
	}
	return removed
}

// checkOrder verifies what Index promises of names and positions.
func checkOrder(x Index) error {
	names := make(map[string]bool, x.Len())
	last := hashpos.First - 1
	for e := range x.After(hashpos.Start) {
		if e.Pos <= last || e.Pos >= 1<<63 {
			return fmt.Errorf("dirent: position %d of %q does not follow %d", e.Pos, e.Name, last)
		}
		if names[e.Name] {
			return fmt.Errorf("dirent: two entries have the name %q", e.Name)
		}
		names[e.Name], last = true, e.Pos
	}
	if len(names) != x.Len() {
		return fmt.Errorf("dirent: %d entries are said to be %d", len(names), x.Len())
	}
	return nil
}
