package tree

import (
	"slices"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/dirent"
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

// relations are the two directories of a device that edges fill: of relations,
// and of a bridge's ports. ports is nil where there never was one.
type relations struct{ names, ports *dirent.Dir }

// relationChanges are what a batch does to them.
type relationChanges struct{ names, ports edgeLedger }

// edges are all edges. An edge belongs to the device whose message tells of it:
// to the upper one by IFLA_LINK, to the lower one by IFLA_MASTER.
type edges struct {
	owned bags[netdev.Serial, *edge]
	// touching has the edges of a device, owned or not.
	touching bags[netdev.Serial, *edge]
	// dirs has the directories of those devices that have edges.
	dirs  map[netdev.Serial]relations
	dirty map[netdev.Serial]*relationChanges
	// waiting has the devices that name an ifindex as master or lower, so that
	// they are looked at again when a device gets it.
	waiting bags[uint32, netdev.Serial]
	// abroad has the devices that stand on one in another namespace.
	abroad map[netdev.Serial]struct{}
	// silent has the devices whose lower may change without a word: a vxlan that
	// is down can be put upon another device.
	silent map[netdev.Serial]struct{}
	// found has the lowers that only the real directory tells of; where there
	// is an entry it overrules IFLA_LINK.
	found map[netdev.Serial][]netdev.Serial
}

func newEdges() edges {
	return edges{
		owned:    make(bags[netdev.Serial, *edge]),
		touching: make(bags[netdev.Serial, *edge]),
		dirs:     make(map[netdev.Serial]relations),
		dirty:    make(map[netdev.Serial]*relationChanges),
		waiting:  make(bags[uint32, netdev.Serial]),
		abroad:   make(map[netdev.Serial]struct{}),
		silent:   make(map[netdev.Serial]struct{}),
		found:    make(map[netdev.Serial][]netdev.Serial),
	}
}

// relate brings the edges that a device owns to what is known of it.
func (t *Tree) relate(d *Device) {
	want := t.wanted(d)
	for _, e := range t.edges.owned.all(d.Serial) {
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
		t.edges.waiting.remove(index, s)
	}
	for _, index := range [...]uint32{d.Master, d.Lower} {
		if index != 0 {
			t.edges.waiting.add(index, s)
		}
	}
	member(t.edges.abroad, s, d.Abroad)
	member(t.edges.silent, s, d.Kind == "vxlan" && !d.Up())
}

func member(set map[netdev.Serial]struct{}, s netdev.Serial, is bool) {
	if is {
		set[s] = struct{}{}
	} else {
		delete(set, s)
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
	t.edges.owned.add(owner, e)
	t.edges.touching.add(e.Upper, e)
	t.edges.touching.add(e.Lower, e)
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
	t.edges.owned.remove(owner, e)
	t.edges.touching.remove(e.Upper, e)
	t.edges.touching.remove(e.Lower, e)
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

// relationsOf returns what the batch does to a device's relations.
func (t *Tree) relationsOf(s netdev.Serial) *relationChanges {
	c, ok := t.edges.dirty[s]
	if !ok {
		c = &relationChanges{}
		t.edges.dirty[s] = c
	}
	return c
}

// disconnect removes all edges of a device that is gone.
func (t *Tree) disconnect(d *Device) {
	for _, e := range t.edges.touching.all(d.Serial) {
		t.unlink(e)
	}
	t.await(d.Link, &netdev.Link{}, d.Serial)
	delete(t.edges.found, d.Serial)
	delete(t.edges.abroad, d.Serial)
	delete(t.edges.silent, d.Serial)
}

// freezeRelations puts the changed relations into the snapshot to be.
func (t *Tree) freezeRelations() {
	for s, c := range t.edges.dirty {
		r := t.edges.dirs[s]
		r.names, r.ports = t.settleIn(r.names, &c.names), t.settleIn(r.ports, &c.ports)
		if !r.empty() {
			t.edges.dirs[s] = r
		} else {
			delete(t.edges.dirs, s)
		}
		if d, ok := t.next.Device(s); ok {
			n := t.own(d)
			n.Rel, n.Master = r.view(), t.masterOf(s)
		}
	}
	clear(t.edges.dirty)
}

// settleIn makes changes in a directory, which is made for the first of them.
func (t *Tree) settleIn(dir *dirent.Dir, l *edgeLedger) *dirent.Dir {
	if dir == nil {
		if l.pending.len() == 0 {
			return nil
		}
		dir = t.newDir()
	}
	l.settle(dir)
	return dir
}

func (r relations) empty() bool { return r.names == nil || r.names.Len() == 0 }

func (r relations) view() *Relations {
	switch {
	case r.empty():
		return nil
	case r.ports == nil:
		return &Relations{Names: r.names.View()}
	}
	return &Relations{Names: r.names.View(), Ports: r.ports.View()}
}

func (t *Tree) masterOf(s netdev.Serial) netdev.Serial {
	for e := range t.edges.owned.each(s) {
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
	for e := range t.edges.touching.each(s) {
		if e.Lower == s {
			t.above(e.Upper, seen)
		}
	}
}
