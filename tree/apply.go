package tree

import (
	"slices"

	"github.com/sysfsd/sysfsd/netdev"
)

// change is all that a batch says of one ifindex.
type change struct {
	link    *netdev.Link // the last state, nil: not said
	modes   *netdev.Modes
	gone    bool // the device it was is gone; with link: another has the ifindex
	touched bool
}

// plan is a batch by ifindex, in the order of first mention.
type plan struct {
	changes map[uint32]*change
	order   []uint32
}

func (p *plan) at(index uint32) *change {
	c, ok := p.changes[index]
	if !ok {
		c = &change{}
		p.changes[index] = c
		p.order = append(p.order, index)
	}
	return c
}

// reduce sums a batch up: for each ifindex what it is in the end.
func reduce(b netdev.Batch) *plan {
	p := &plan{changes: make(map[uint32]*change, len(b.Changes)), order: make([]uint32, 0, len(b.Changes))}
	for i := range b.Changes {
		switch c := &b.Changes[i]; c.Op {
		case netdev.Set:
			p.at(c.Link.Index).link = c.Link
		case netdev.Gone:
			*p.at(c.Index) = change{gone: true}
		case netdev.SetModes:
			p.at(c.Index).modes = &c.Modes
		case netdev.Touched:
			p.at(c.Index).touched = true
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
	for _, index := range p.order {
		if d, ok := t.byIndex[index]; ok && p.changes[index].gone {
			t.remove(d)
		}
	}
	changed := make(map[netdev.Serial]struct{})
	for _, index := range p.order {
		if d := t.change(index, p.changes[index]); d != nil {
			changed[d.Serial] = struct{}{}
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
		if c, ok := p.changes[index]; !ok || c.link == nil {
			p.at(index).gone = true
		}
	}
}

// replaced adds to a plan that a device is gone whose real directory is another
// one now: its removal was lost, and its ifindex and name were used again.
func (t *Tree) replaced(p *plan) {
	for index, d := range t.byIndex {
		c, ok := p.changes[index]
		if !ok || c.link == nil || c.gone || d.ino.Load() == 0 {
			continue
		}
		st, err := t.options.Files.Stat(netdev.Dir{Path: d.Home.Path + "/" + c.link.Name}, "")
		if err == nil && st.Ino != d.ino.Load() {
			c.gone = true
		}
	}
}

// change applies what was said of an ifindex and returns the device if its
// message may mean more than it says.
func (t *Tree) change(index uint32, c *change) *Device {
	old := t.byIndex[index]
	switch {
	case c.link != nil && old == nil:
		return t.appear(c)
	case old == nil:
		return nil
	case c.link != nil && (c.touched || !sameLink(old.Link, c.link)):
		return t.alter(old, c)
	case c.link != nil || c.touched:
		// Said again or touched: what was kept of it is no longer to be trusted.
		n := old.renew()
		n.setModes(c)
		t.put(n)
		return n
	case c.modes != nil && *c.modes != old.Modes:
		n := old.renew()
		n.setModes(c)
		t.put(n)
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
	n := &Device{Serial: t.newSerial(), Born: t.now().UnixNano()}
	n.Link = c.link
	n.setModes(c)
	n.Home = t.placeAt(t.homeOf(n.Link)).home
	n.Shape = t.shapeOf(n)
	t.enter(n)
	t.put(n)
	t.await(&netdev.Link{}, n.Link, n.Serial)
	t.relate(n)
	for s := range t.edges.waiting[n.Link.Index] {
		if d, ok := t.next.Device(s); ok {
			t.relate(d)
		}
	}
	return n
}

// alter makes a device what a message says.
func (t *Tree) alter(old *Device, c *change) *Device {
	n := old.renew()
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
		for _, e := range t.edges.touching[n.Serial] {
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
	t.private.drop(d.Serial)
	t.options.Files.Forget(d.Serial)
	t.stale.Devices = append(t.stale.Devices, d.Serial)
}

// put makes d the current state of its device.
func (t *Tree) put(d *Device) {
	t.byIndex[d.Link.Index] = d
	t.next.devices.set(d.Serial, d)
	t.stale.Devices = append(t.stale.Devices, d.Serial)
}

// renew returns a copy without what was kept.
func (d *Device) renew() *Device {
	n := &Device{
		Values: d.Values, Home: d.Home, Shape: d.Shape, Rel: d.Rel,
		Serial: d.Serial, Master: d.Master, Born: d.Born,
	}
	n.ino.Store(d.ino.Load())
	return n
}

func (d *Device) setModes(c *change) {
	if c.modes != nil {
		d.Modes = *c.modes
	}
}

// askFor returns the ifindexes of the changed devices and of all that stand on
// them: a stacked device takes speed and duplex from below without a word. Those
// that are down have none to ask for.
func (t *Tree) askFor(changed map[netdev.Serial]struct{}) []uint32 {
	seen := make(map[netdev.Serial]struct{}, len(changed))
	for s := range changed {
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
