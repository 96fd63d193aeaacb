package dirent

import (
	"slices"

	"github.com/google/btree"
	"github.com/sysfsd/sysfsd/hashpos"
)

// hashDegree favours lookups. A published change copies a node on each level: with
// 16 it was measured a third cheaper, and a lookup a quarter dearer.
const hashDegree = 32

// fewest is how many entries a directory has before it gets a B-tree. Most devices
// have a directory of one or two names, and a tree costs some 400 bytes.
const fewest = 16

// ordered keeps entries by position: in a slice as long as they are few, then in a
// B-tree. Its zero value is empty.
//
// Invariant: few is sorted, and never changed in place once a clone has it.
type ordered struct {
	few    []Entry
	shared bool
	tree   *btree.BTreeG[Entry] // Instead of few; nil until there are too many.
}

func byPos(a, b Entry) bool { return a.Pos < b.Pos }

func (o *ordered) len() int {
	if o.tree != nil {
		return o.tree.Len()
	}
	return len(o.few)
}

// from yields the entries at pos and past it.
func (o *ordered) from(pos hashpos.Pos, yield func(Entry) bool) {
	if o.tree != nil {
		o.tree.AscendGreaterOrEqual(Entry{Pos: pos}, yield)
		return
	}
	i, _ := o.search(pos)
	for _, e := range o.few[i:] {
		if !yield(e) {
			return
		}
	}
}

// in yields the entries whose positions are in r.
func (o *ordered) in(r hashpos.Range, yield func(Entry) bool) {
	if o.tree != nil {
		o.tree.AscendRange(Entry{Pos: r.Lo}, Entry{Pos: r.Hi}, yield)
		return
	}
	o.from(r.Lo, func(e Entry) bool { return e.Pos < r.Hi && yield(e) })
}

func (o *ordered) search(pos hashpos.Pos) (int, bool) {
	return slices.BinarySearchFunc(o.few, pos, func(e Entry, p hashpos.Pos) int {
		switch {
		case e.Pos < p:
			return -1
		case e.Pos > p:
			return 1
		}
		return 0
	})
}

// put adds e, or replaces what has its position.
func (o *ordered) put(e Entry) {
	if o.tree == nil && len(o.few) >= fewest {
		o.grow()
	}
	if o.tree != nil {
		o.tree.ReplaceOrInsert(e)
		return
	}
	o.unshare()
	i, ok := o.search(e.Pos)
	if ok {
		o.few[i] = e
		return
	}
	o.few = slices.Insert(o.few, i, e)
}

// grow moves the entries into a tree, from the last for the reason that InsertAll
// goes down.
func (o *ordered) grow() {
	o.tree = btree.NewG(hashDegree, byPos)
	for _, e := range slices.Backward(o.few) {
		o.tree.ReplaceOrInsert(e)
	}
	o.few, o.shared = nil, false
}

// remove takes out what has e's position.
func (o *ordered) remove(e Entry) {
	if o.tree != nil {
		o.tree.Delete(e)
		return
	}
	if i, ok := o.search(e.Pos); ok {
		o.unshare()
		o.few = slices.Delete(o.few, i, i+1)
	}
}

func (o *ordered) unshare() {
	if o.shared {
		o.few, o.shared = slices.Clone(o.few), false
	}
}

// clone returns an independent copy.
func (o *ordered) clone() ordered {
	if o.tree != nil {
		return ordered{tree: o.tree.Clone()}
	}
	o.shared = true
	return ordered{few: o.few, shared: true}
}
