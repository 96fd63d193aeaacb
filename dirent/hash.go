package dirent

import (
	"fmt"
	"iter"
	"math"

	"github.com/sysfsd/sysfsd/hashpos"
)

// hashIndex is the default variant: entries ordered by position, which is a
// hash of the name plus a tie-breaker. The entries of one hash stand together, so
// lookup scans them: almost always a single one. Many names of one hash are slow,
// never wrong.
//
// Invariant: an entry is in the bucket of its name; high counts those in the high
// range of theirs.
type hashIndex struct {
	hash    hashpos.Hash
	entries ordered
	high    int
}

var _ Index = (*hashIndex)(nil)

func newHash(hash hashpos.Hash) Index {
	return &hashIndex{hash: hash}
}

func (x *hashIndex) Len() int { return x.entries.len() }

func (x *hashIndex) Lookup(name string) (Entry, bool) {
	return x.find(x.hash.Bucket(name), name)
}

func (x *hashIndex) After(pos hashpos.Pos) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		if pos < math.MaxUint64 {
			x.entries.from(pos+1, yield)
		}
	}
}

func (x *hashIndex) Insert(e Entry) (Entry, error) {
	b := x.hash.Bucket(e.Name)
	if old, ok := x.find(b, e.Name); ok {
		return old, exists(e.Name)
	}
	for e.Pos = range x.vacant(b) {
		break
	}
	x.put(e)
	return e, nil
}

func (x *hashIndex) Remove(name string) (Entry, bool) {
	e, ok := x.Lookup(name)
	if ok {
		x.entries.remove(e)
		x.high -= highs(e)
	}
	return e, ok
}

func (x *hashIndex) Update(name string, node uint64) (Entry, bool) {
	old, ok := x.Lookup(name)
	if ok && old.Node != node {
		e := old
		e.Node = node
		x.entries.put(e)
	}
	return old, ok
}

func (x *hashIndex) Clone() Index { return x.clone() }

func (x *hashIndex) clone() *hashIndex {
	return &hashIndex{hash: x.hash, entries: x.entries.clone(), high: x.high}
}

func (x *hashIndex) Check() error {
	high := 0
	for e := range x.After(hashpos.Start) {
		if e.Pos.Bucket() != x.hash.Bucket(e.Name) {
			return fmt.Errorf("dirent: %q is at %d, outside of its bucket", e.Name, e.Pos)
		}
		high += highs(e)
	}
	if high != x.high {
		return fmt.Errorf("dirent: %d entries in high ranges are said to be %d", high, x.high)
	}
	return checkOrder(x)
}

// find is Lookup for who knows the bucket.
func (x *hashIndex) find(b hashpos.Bucket, name string) (e Entry, ok bool) {
	match := func(o Entry) bool {
		if o.Name == name {
			e, ok = o, true
		}
		return !ok
	}
	x.scan(b.Low(), match)
	if !ok && x.high > 0 {
		x.scan(b.High(), match)
	}
	return e, ok
}

// scan yields the entries whose positions are in r.
func (x *hashIndex) scan(r hashpos.Range, yield func(Entry) bool) {
	x.entries.in(r, yield)
}

// vacant yields the positions of b that nobody has, lowest first. A position may
// be given again once its entry is gone: a scan past it has seen that entry, one
// before it has not, and neither has to see the new one.
func (x *hashIndex) vacant(b hashpos.Bucket) iter.Seq[hashpos.Pos] {
	return func(yield func(hashpos.Pos) bool) {
		_ = x.vacantIn(b.Low(), yield) && x.vacantIn(b.High(), yield)
	}
}

// vacantIn is vacant for one range. It tells whether yield wants more.
func (x *hashIndex) vacantIn(r hashpos.Range, yield func(hashpos.Pos) bool) bool {
	next, more := r.Lo, true
	upTo := func(end hashpos.Pos) bool {
		for ; more && next < end; next++ {
			more = yield(next)
		}
		return more
	}
	x.scan(r, func(e Entry) bool {
		more = upTo(e.Pos)
		next = e.Pos + 1
		return more
	})
	return upTo(r.Hi)
}

// put adds e, which has a vacant position.
func (x *hashIndex) put(e Entry) {
	x.entries.put(e)
	x.high += highs(e)
}

// highs is 1 for an entry in the high range of its bucket.
func highs(e Entry) int {
	if e.Pos.IsHigh() {
		return 1
	}
	return 0
}
