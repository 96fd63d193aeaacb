package dirent

import (
	"slices"

	"github.com/sysfsd/sysfsd/hashpos"
)

// rebuildShare is the part of the entries, one in so many, from which on it is
// faster to build a tree of the survivors than to remove the others singly.
const rebuildShare = 10

// member is one of a batch: its bucket above 32 bits of its index. Sorting plain
// numbers is several times faster than sorting entries, and those of one bucket
// stay in the order of the batch.
type member uint64

func (m member) bucket() hashpos.Bucket { return hashpos.Bucket(m >> 32) }
func (m member) index() int             { return int(uint32(m)) }

// members returns n members by ascending bucket.
func (x *hashIndex) members(n int, name func(int) string) []member {
	all := make([]member, n)
	for i := range all {
		all[i] = member(x.hash.Bucket(name(i)))<<32 | member(i)
	}
	slices.Sort(all)
	return all
}

// InsertAll goes from the highest bucket down. A B-tree that grows upwards leaves
// each node half empty with room for all; one that grows downwards splits off
// nodes of just the right size: half the memory.
func (x *hashIndex) InsertAll(batch []Entry) error {
	old := x.clone() // Looked at instead of x: for a new directory it stays empty.
	all := x.members(len(batch), func(i int) string { return batch[i].Name })
	for len(all) > 0 {
		group := lastGroup(all)
		all = all[:len(all)-len(group)]
		x.insertGroup(old, batch, group)
	}
	if x.Len()-old.Len() == len(batch) {
		return nil
	}
	left := slices.IndexFunc(batch, func(e Entry) bool { return e.Pos == 0 })
	return exists(batch[left].Name)
}

// lastGroup returns the members at the end of all that share a bucket.
func lastGroup(all []member) []member {
	first := len(all) - 1
	for first > 0 && all[first-1].bucket() == all[first].bucket() {
		first--
	}
	return all[first:]
}

// insertGroup inserts the members of one bucket, which is in old as it was before
// the batch. It walks the bucket once, so that thousands of colliding names don't
// cost their square.
func (x *hashIndex) insertGroup(old *hashIndex, batch []Entry, group []member) {
	b := group[0].bucket()
	group = old.fresh(b, batch, group)
	next := 0
	for pos := range old.vacant(b) {
		if next == len(group) {
			break
		}
		batch[group[next].index()].Pos = pos
		next++
	}
	for _, m := range slices.Backward(group) {
		x.put(batch[m.index()])
	}
}

// fresh returns the members of a group whose names don't exist yet. The others
// get position 0.
func (x *hashIndex) fresh(b hashpos.Bucket, batch []Entry, group []member) []member {
	known := func(name string) bool { _, ok := x.find(b, name); return ok }
	if len(group) > 1 {
		known = x.names(b).addKnown
	}
	return slices.DeleteFunc(group, func(m member) bool {
		e := &batch[m.index()]
		e.Pos = 0
		return known(e.Name)
	})
}

// names returns the names in b.
func (x *hashIndex) names(b hashpos.Bucket) nameSet {
	names := nameSet{}
	add := func(e Entry) bool { return !names.addKnown(e.Name) }
	x.scan(b.Low(), add)
	x.scan(b.High(), add)
	return names
}

type nameSet map[string]struct{}

// addKnown adds name and tells whether it was there already.
func (s nameSet) addKnown(name string) bool {
	before := len(s)
	s[name] = struct{}{}
	return len(s) == before
}

func (x *hashIndex) RemoveAll(names []string) []Entry {
	if len(names) < x.Len()/rebuildShare {
		return removeEach(x, names)
	}
	c := cursor{names: names, all: x.members(len(names), func(i int) string { return names[i] })}
	removed := make([]Entry, 0, min(len(names), x.Len()))
	kept := make([]Entry, 0, max(0, x.Len()-len(names)))
	for e := range x.After(hashpos.Start) {
		if c.take(e) {
			removed = append(removed, e)
		} else {
			kept = append(kept, e)
		}
	}
	x.rebuild(kept)
	return removed
}

// rebuild makes kept, which is in order, the entries of x. It goes down for the
// reason that InsertAll does.
func (x *hashIndex) rebuild(kept []Entry) {
	x.entries, x.high = ordered{}, 0
	for _, e := range slices.Backward(kept) {
		x.put(e)
	}
}

// cursor walks a batch of names along with a scan of the index.
//
// Invariant: rest is the end of all that holds every name still to be found in
// bucket and those after it, in the present pass.
type cursor struct {
	names     []string
	all, rest []member
	bucket    hashpos.Bucket
}

// take tells whether e is named in the batch.
//
// Preconditions: it is called for all entries, in order.
func (c *cursor) take(e Entry) bool {
	c.seek(e.Pos.Bucket())
	for i, m := range c.rest {
		if m.bucket() != c.bucket {
			break
		}
		if c.names[m.index()] == e.Name {
			c.rest[0], c.rest[i] = m, c.rest[0]
			c.rest = c.rest[1:]
			return true
		}
	}
	return false
}

// seek drops the members of buckets before b. When the scan comes to the high
// ranges, all buckets come by a second time.
func (c *cursor) seek(b hashpos.Bucket) {
	if c.rest == nil || b < c.bucket {
		c.rest = c.all
	}
	c.bucket = b
	for len(c.rest) > 0 && c.rest[0].bucket() < b {
		c.rest = c.rest[1:]
	}
}
