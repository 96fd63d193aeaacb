package tree

import (
	"slices"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// pair is what makes an edge one of its own.
type pair struct {
	upper, lower netdev.Serial
	master       bool
}

// edge is an Edge as the writer has it, with the names it is entered under.
type edge struct {
	Edge
	upperName, lowerName string
}

// relations are the two directories of a device that edges fill.
type relations struct{ names, ports edgeLedger }

// edges are all edges. An edge belongs to the device whose message tells of it:
// to the upper one by IFLA_LINK, to the lower one by IFLA_MASTER.
type edges struct {
	owned map[netdev.Serial][]*edge
	// touching has the edges of a device, owned or not.
	touching map[netdev.Serial][]*edge
	// dirs has the directories of those devices that have edges.
	dirs  map[netdev.Serial]*relations
	dirty map[netdev.Serial]struct{}
	// waiting has the devices that name an ifindex as master or lower, so that
	// they are looked at again when a device gets it.
	waiting map[uint32]map[netdev.Serial]struct{}
	// found has the lowers that only the real directory tells of; where there
	// is an entry it overrules IFLA_LINK.
	found map[netdev.Serial][]netdev.Serial
}

func newEdges() edges {
	return edges{
		owned:    make(map[netdev.Serial][]*edge),
		touching: make(map[netdev.Serial][]*edge),
		dirs:     make(map[netdev.Serial]*relations),
		dirty:    make(map[netdev.Serial]struct{}),
		waiting:  make(map[uint32]map[netdev.Serial]struct{}),
		found:    make(map[netdev.Serial][]netdev.Serial),
	}
}

// relate brings the edges that a device owns to what is known of it.
func (t *Tree) relate(d *Device) {
	want := t.wanted(d)
	for _, e := range slices.Clone(t.edges.owned[d.Serial]) {
		if i := slices.Index(want, pair{e.Upper, e.Lower, e.Master}); i >= 0 {
			want = slices.Delete(want, i, i+1)
			continue
		}
		t.unlink(e)
	}
	for _, p := range want {
		t.link(d.Serial, p)
	}
}

// wanted returns the edges that a device should own.
func (t *Tree) wanted(d *Device) []pair {
	var want []pair
	if m, ok := t.byIndex[d.Link.Master]; ok && d.Link.Master != 0 {
		want = append(want, pair{m.Serial, d.Serial, true})
	}
	if lowers, ok := t.edges.found[d.Serial]; ok {
		for _, s := range lowers {
			if _, alive := t.next.Device(s); alive {
				want = append(want, pair{d.Serial, s, false})
			}
		}
		return want
	}
	if l, ok := t.byIndex[d.Link.Lower]; ok && d.Link.Lower != 0 {
		want = append(want, pair{d.Serial, l.Serial, false})
	}
	return want
}

// await notes which ifindexes a device names, or no longer names.
func (t *Tree) await(old, d *netdev.Link, s netdev.Serial) {
	for _, index := range [...]uint32{old.Master, old.Lower} {
		if set := t.edges.waiting[index]; set != nil {
			delete(set, s)
			if len(set) == 0 {
				delete(t.edges.waiting, index)
			}
		}
	}
	for _, index := range [...]uint32{d.Master, d.Lower} {
		if index == 0 {
			continue
		}
		if t.edges.waiting[index] == nil {
			t.edges.waiting[index] = make(map[netdev.Serial]struct{})
		}
		t.edges.waiting[index][s] = struct{}{}
	}
}

// link makes an edge. Its names are entered by rename.
func (t *Tree) link(owner netdev.Serial, p pair) {
	upper, _ := t.next.Device(p.upper)
	e := &edge{Edge: Edge{
		Serial: t.newSerial(), Upper: p.upper, Lower: p.lower, Master: p.master,
		Port: p.master && upper.Link.Kind == "bridge",
	}}
	t.next.edges.set(e.Serial, &e.Edge)
	t.edges.owned[owner] = append(t.edges.owned[owner], e)
	for _, s := range [...]netdev.Serial{e.Upper, e.Lower} {
		t.edges.touching[s] = append(t.edges.touching[s], e)
	}
	t.rename(e)
}

// unlink removes an edge and its names.
func (t *Tree) unlink(e *edge) {
	t.unname(e)
	t.next.edges.remove(e.Serial)
	owner := e.Upper
	if e.Master {
		owner = e.Lower
	}
	drop(t.edges.owned, owner, e)
	drop(t.edges.touching, e.Upper, e)
	drop(t.edges.touching, e.Lower, e)
}

func drop(m map[netdev.Serial][]*edge, s netdev.Serial, e *edge) {
	left := slices.DeleteFunc(m[s], func(o *edge) bool { return o == e })
	if len(left) == 0 {
		delete(m, s)
		return
	}
	m[s] = left
}

// rename enters an edge under the names that its devices have now.
func (t *Tree) rename(e *edge) {
	upper, _ := t.next.Device(e.Upper)
	lower, _ := t.next.Device(e.Lower)
	t.nameUpper(e, upper.Link.Name)
	t.nameLower(e, lower.Link.Name)
}

// unname removes an edge's names.
func (t *Tree) unname(e *edge) {
	t.nameUpper(e, "")
	t.nameLower(e, "")
}

// nameUpper enters an edge in the lower device's directory under the name of the
// upper one, in place of what it was; an empty name is none.
func (t *Tree) nameUpper(e *edge, name string) {
	if e.upperName == name {
		return
	}
	dir, node := t.relationsOf(e.Lower), NodeOf(e.Serial, attr.SlotUpper, TypeLink)
	if e.upperName != "" {
		dir.names.remove("upper_"+e.upperName, node)
	}
	if e.upperName = name; name != "" {
		dir.names.add("upper_"+name, node)
	}
}

// nameLower is nameUpper in the upper device's directories.
func (t *Tree) nameLower(e *edge, name string) {
	if e.lowerName == name {
		return
	}
	dir := t.relationsOf(e.Upper)
	node, port := NodeOf(e.Serial, attr.SlotLower, TypeLink), NodeOf(e.Serial, attr.SlotPort, TypeLink)
	if e.lowerName != "" {
		dir.names.remove("lower_"+e.lowerName, node)
		if e.Port {
			dir.ports.remove(e.lowerName, port)
		}
	}
	if e.lowerName = name; name != "" {
		dir.names.add("lower_"+name, node)
		if e.Port {
			dir.ports.add(name, port)
		}
	}
}

// relationsOf returns a device's directories of relations, to be changed.
func (t *Tree) relationsOf(s netdev.Serial) *relations {
	r, ok := t.edges.dirs[s]
	if !ok {
		r = &relations{}
		r.names.dir, r.ports.dir = t.newDir(), t.newDir()
		t.edges.dirs[s] = r
	}
	t.edges.dirty[s] = struct{}{}
	return r
}

// disconnect removes all edges of a device that is gone.
func (t *Tree) disconnect(d *Device) {
	for _, e := range slices.Clone(t.edges.touching[d.Serial]) {
		t.unlink(e)
	}
	t.await(d.Link, &netdev.Link{}, d.Serial)
	delete(t.edges.found, d.Serial)
}

// freezeRelations puts the changed relations into the snapshot to be.
func (t *Tree) freezeRelations() {
	for s := range t.edges.dirty {
		r := t.edges.dirs[s]
		r.names.settle()
		r.ports.settle()
		if r.names.dir.Len() == 0 {
			delete(t.edges.dirs, s)
		}
		if d, ok := t.next.Device(s); ok {
			n := d.renew()
			n.Rel, n.Master = r.view(), t.masterOf(s)
			t.put(n)
		}
	}
	clear(t.edges.dirty)
}

func (r *relations) view() *Relations {
	if r.names.dir.Len() == 0 {
		return nil
	}
	return &Relations{Names: r.names.dir.View(), Ports: r.ports.dir.View()}
}

func (t *Tree) masterOf(s netdev.Serial) netdev.Serial {
	for _, e := range t.edges.owned[s] {
		if e.Master {
			return e.Upper
		}
	}
	return 0
}

// above adds the devices that stand on s, at any height.
func (t *Tree) above(s netdev.Serial, seen map[netdev.Serial]struct{}) {
	if _, ok := seen[s]; ok {
		return
	}
	seen[s] = struct{}{}
	for _, e := range t.edges.touching[s] {
		if e.Lower == s {
			t.above(e.Upper, seen)
		}
	}
}
