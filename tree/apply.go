package tree

import (
	"slices"

	"github.com/sysfsd/sysfsd/netdev"
)

// change is all that a batch says of one ifindex.
type change struct {
	link    *netdev.Link // the last state, nil: not said
	modes   *netdev.Modes
	index   uint32
	gone    bool // the device it was is gone; with link: another has the ifindex
	touched bool
}

// plan is a batch by ifindex, in the order of first mention.
type plan struct {
	changes []change
	at      map[uint32]int // index in changes
}

// of returns what is said of an ifindex, to be filled in; it is good until the
// next call.
func (p *plan) of(index uint32) *change {
	i, ok := p.at[index]
	if !ok {
		i = len(p.changes)
		p.at[index] = i
		p.changes = append(p.changes, change{index: index})
	}
	return &p.changes[i]
}

// find returns what is said of an ifindex, nil if nothing.
func (p *plan) find(index uint32) *change {
	if i, ok := p.at[index]; ok {
		return &p.changes[i]
	}
	return nil
}

// reduce sums a batch up: for each ifindex what it is in the end.
func reduce(b netdev.Batch) *plan {
	p := &plan{at: make(map[uint32]int, len(b.Changes)), changes: make([]change, 0, len(b.Changes))}
	for i := range b.Changes {
		switch c := &b.Changes[i]; c.Op {
		case netdev.Set:
			p.of(c.Link.Index).link = c.Link
		case netdev.Gone:
			*p.of(c.Index) = change{index: c.Index, gone: true}
		case netdev.SetModes:
			p.of(c.Index).modes = &c.Modes
		case netdev.Touched:
			p.of(c.Index).touched = true
		}
	}
	return p
}

// Apply makes a batch visible as a whole and returns the ifindexes whose speed
// and duplex have to be asked for again. Only the writer may call it.
func (t *Tree) Apply(b netdev.Batch) (ask []uint32) {
	p := reduce(b)
	if b.Full {
		t.missing(p)
	}
	if b.Recheck {
		t.replaced(p)
	}
	for i := range p.changes {
		if d, ok := t.byIndex[p.changes[i].index]; ok && p.changes[i].gone {
			t.remove(d)
		}
	}
	if b.Full {
		t.places.class.expect(len(p.changes))
		t.placeAt(virtualPath).expect(len(p.changes))
	}
	var changed []netdev.Serial
	for i := range p.changes {
		if d := t.change(&p.changes[i]); d != nil {
			changed = append(changed, d.Serial)
		}
	}
	t.settlePlaces()
	t.publish()
	t.queueChecks(changed)
	if b.Full {
		return nil
	}
	return t.askFor(changed)
}

// missing adds the devices that a full batch doesn't have to its plan.
func (t *Tree) missing(p *plan) {
	for index := range t.byIndex {
		if c := p.find(index); c == nil || c.link == nil {
			p.of(index).gone = true
		}
	}
}

// replaced adds to a plan that a device is gone whose real directory is another
// one now: its removal was lost, and its ifindex and name were used again. Where
// it isn't known which it was, it is taken for another.
func (t *Tree) replaced(p *plan) {
	for index, d := range t.byIndex {
		c := p.find(index)
		if c == nil || c.link == nil || c.gone {
			continue
		}
		st, err := t.options.Files.Stat(netdev.Dir{Path: d.Home.Path + "/" + c.link.Name}, "")
		if err == nil && st.Ino != d.real.ino.Load() {
			c.gone = true
		}
	}
}

// change applies what was said of an ifindex and returns the device if its
// message may mean more than it says.
func (t *Tree) change(c *change) *Device {
	old := t.byIndex[c.index]
	switch {
	case c.link != nil && old == nil:
		return t.appear(c)
	case old == nil:
		return nil
	case c.link != nil && (c.touched || !sameLink(old.Link, c.link)):
		return t.alter(old, c)
	case c.link != nil || c.touched:
		// Said again or touched: what was kept of it is no longer to be trusted.
		n := t.own(old)
		n.setModes(c)
		return n
	case c.modes != nil && *c.modes != old.Modes:
		t.own(old).setModes(c)
	}
	return nil
}

// sameLink reports that two messages say the same.
func sameLink(a, b *netdev.Link) bool {
	x, y := *a, *b
	if x.More != nil && y.More != nil && *x.More == *y.More {
		x.More, y.More = nil, nil
	}
	return x == y
}

// appear makes a new device.
func (t *Tree) appear(c *change) *Device {
	n := &Device{Serial: t.newSerial(), Born: t.now().UnixNano(), edition: t.edition, real: &realDir{}}
	n.Link = c.link
	n.setModes(c)
	n.Home = t.placeAt(t.homeOf(n.Link)).home
	n.Shape = t.shapeOf(n)
	t.enter(n)
	t.put(n)
	t.await(&netdev.Link{}, n.Link, n.Serial)
	t.relate(n)
	for _, s := range t.edges.waiting.all(n.Link.Index) {
		if d, ok := t.next.Device(s); ok {
			t.relate(d)
		}
	}
	return n
}

// alter makes a device what a message says.
func (t *Tree) alter(old *Device, c *change) *Device {
	n := old.renew(t.edition)
	n.Link = c.link
	n.setModes(c)
	renamed := old.Link.Name != n.Link.Name
	if renamed {
		n.Home = t.placeAt(t.homeOf(n.Link)).home
	}
	n.Shape = t.shapeOf(n)
	if renamed || n.Home != old.Home {
		t.leave(old)
		t.enter(n)
	}
	t.put(n)
	t.await(old.Link, n.Link, n.Serial)
	if old.Link.Lower != n.Link.Lower {
		delete(t.edges.found, n.Serial)
	}
	t.relate(n)
	if renamed {
		for e := range t.edges.touching.each(n.Serial) {
			t.rename(e)
		}
	}
	return n
}

// remove takes a device out of the tree.
func (t *Tree) remove(d *Device) {
	t.leave(d)
	t.disconnect(d)
	t.next.devices.remove(d.Serial)
	delete(t.byIndex, d.Link.Index)
	t.dead = append(t.dead, d.Serial)
	t.options.Files.Forget(d.Serial)
}

// put makes d the current state of its device.
func (t *Tree) put(d *Device) {
	t.byIndex[d.Link.Index] = d
	t.next.devices.set(d.Serial, d)
}

// own returns the current state of a device to be changed: d itself as long as
// nobody has seen it, else a copy that takes its place.
func (t *Tree) own(d *Device) *Device {
	if d.edition == t.edition {
		return d
	}
	n := d.renew(t.edition)
	t.put(n)
	return n
}

// renew returns a copy without what was kept.
func (d *Device) renew(edition uint64) *Device {
	return &Device{
		Values: d.Values, Home: d.Home, Shape: d.Shape, Rel: d.Rel,
		Serial: d.Serial, Master: d.Master, Born: d.Born, edition: edition, real: d.real,
	}
}

func (d *Device) setModes(c *change) {
	if c.modes != nil {
		d.Modes = *c.modes
	}
}

// askFor returns the ifindexes of the changed devices and of all that stand on
// them: a stacked device takes speed and duplex from below without a word. Those
// that are down have none to ask for.
func (t *Tree) askFor(changed []netdev.Serial) []uint32 {
	seen := make(map[netdev.Serial]struct{}, len(changed))
	for _, s := range changed {
		t.above(s, seen)
	}
	ask := make([]uint32, 0, len(seen))
	for s := range seen {
		if d, ok := t.next.Device(s); ok && d.Link.Up() {
			ask = append(ask, d.Link.Index)
		}
	}
	slices.Sort(ask)
	return ask
}
