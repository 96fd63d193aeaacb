package synth

import (
	"iter"

	"github.com/sysfsd/sysfsd/netdev"
)

// device is what a population keeps of one device beside its Link.
type device struct {
	link *netdev.Link
	// active is how long the device has had carrier before since, in ns; both
	// count from the population's start.
	active, since int64
	// The devices whose Lower is this one, and the ports of this bridge, are two
	// lists through their members: a device is in at most one list of each.
	above, nextAbove, prevAbove uint32
	ports, nextPort, prevPort   uint32
	place                       uint32 // of a PCI device on the bus; of a veth: its peer
	port                        uint16 // number of a bridge's port, 0 for none
	kind                        kind
	flags                       deviceFlags
}

type deviceFlags uint8

const (
	plugged deviceFlags = 1 << iota // its own cable, program or radio is there
	history                         // counters didn't start at 0
	renamed
)

func (d *device) has(f deviceFlags) bool { return d.flags&f != 0 }

// queues returns how many queues are shown each way. A veth and a tap allocate
// more than they use.
func (d *device) queues() uint32 {
	n := d.link.NumTxQueues
	if d.kind == kindTap || (d.kind == kindVeth && n == templates[kindVeth].queues) {
		return 1
	}
	return n
}

func (d *device) plug(in bool) {
	d.flags &^= plugged
	if in {
		d.flags |= plugged
	}
}

// peer returns the other end of a veth pair, 0 if it is in another namespace.
func (d *device) peer() uint32 {
	if d.kind != kindVeth {
		return 0
	}
	return d.place
}

// under returns the device that this one is stacked on, 0 for none here.
func (d *device) under() uint32 { return d.link.Lower }

// linked returns the device that IFLA_LINK names, 0 for none here. A veth isn't
// stacked on its peer.
func (d *device) linked() uint32 { return max(d.peer(), d.under()) }

// chunkSize keeps what a lone survivor of many holds on to small: ifindexes are
// never used again.
const chunkSize = 64

type chunk struct {
	devices [chunkSize]device
	live    int
}

// table holds devices by ifindex. Chunks without a device are nil.
type table struct {
	chunks []*chunk
	live   int
}

// get returns the device of an ifindex, nil if there is none. The pointer is
// good until that device is removed.
func (t *table) get(index uint32) *device {
	i := int(index / chunkSize)
	if i >= len(t.chunks) || t.chunks[i] == nil {
		return nil
	}
	d := &t.chunks[i].devices[index%chunkSize]
	if d.link == nil {
		return nil
	}
	return d
}

// put adds a device.
// Preconditions: the ifindex was never used.
func (t *table) put(index uint32, d device) *device {
	i := int(index / chunkSize)
	for i >= len(t.chunks) {
		t.chunks = append(t.chunks, nil)
	}
	c := t.chunks[i]
	if c == nil {
		c = &chunk{}
		t.chunks[i] = c
	}
	c.devices[index%chunkSize] = d
	c.live++
	t.live++
	return &c.devices[index%chunkSize]
}

// remove drops a device.
// Preconditions: it is there.
func (t *table) remove(index uint32) {
	c := t.chunks[index/chunkSize]
	c.devices[index%chunkSize] = device{}
	c.live--
	t.live--
	if c.live == 0 {
		t.chunks[index/chunkSize] = nil
	}
}

// all yields the devices of a range of ifindexes in their order.
func (t *table) all(first, last uint32) iter.Seq2[uint32, *device] {
	return func(yield func(uint32, *device) bool) {
		for i := int(first / chunkSize); i < len(t.chunks) && i <= int(last/chunkSize); i++ {
			if t.chunks[i] != nil && !t.chunks[i].each(uint32(i)*chunkSize, first, last, yield) {
				return
			}
		}
	}
}

func (c *chunk) each(base, first, last uint32, yield func(uint32, *device) bool) bool {
	for j := range c.devices {
		index := base + uint32(j)
		if c.devices[j].link == nil || index < first || index > last {
			continue
		}
		if !yield(index, &c.devices[j]) {
			return false
		}
	}
	return true
}

// stack puts a device at the head of the list of those above lower.
func (t *table) stack(index uint32, d *device, lower uint32) {
	l := t.get(lower)
	d.nextAbove, d.prevAbove = l.above, 0
	if next := t.get(l.above); next != nil {
		next.prevAbove = index
	}
	l.above = index
}

// unstack takes a device out of the list of those above lower.
func (t *table) unstack(d *device, lower uint32) {
	if next := t.get(d.nextAbove); next != nil {
		next.prevAbove = d.prevAbove
	}
	if prev := t.get(d.prevAbove); prev != nil {
		prev.nextAbove = d.nextAbove
	} else if l := t.get(lower); l != nil {
		l.above = d.nextAbove
	}
	d.nextAbove, d.prevAbove = 0, 0
}

// enslave puts a device at the head of a bridge's list of ports.
func (t *table) enslave(index uint32, d *device, master uint32) {
	m := t.get(master)
	d.nextPort, d.prevPort = m.ports, 0
	if next := t.get(m.ports); next != nil {
		next.prevPort = index
	}
	m.ports = index
}

// release takes a device out of a bridge's list of ports.
func (t *table) release(d *device, master uint32) {
	if next := t.get(d.nextPort); next != nil {
		next.prevPort = d.prevPort
	}
	if prev := t.get(d.prevPort); prev != nil {
		prev.nextPort = d.nextPort
	} else if m := t.get(master); m != nil {
		m.ports = d.nextPort
	}
	d.nextPort, d.prevPort = 0, 0
}

// stacked yields the devices above one.
func (t *table) stacked(d *device) iter.Seq2[uint32, *device] {
	return func(yield func(uint32, *device) bool) {
		for i := d.above; i != 0; {
			u := t.get(i)
			next := u.nextAbove
			if !yield(i, u) {
				return
			}
			i = next
		}
	}
}

// portsOf yields a bridge's ports, the latest first as the kernel's list is.
func (t *table) portsOf(d *device) iter.Seq2[uint32, *device] {
	return func(yield func(uint32, *device) bool) {
		for i := d.ports; i != 0; {
			p := t.get(i)
			next := p.nextPort
			if !yield(i, p) {
				return
			}
			i = next
		}
	}
}
