package rtnl

import "github.com/sysfsd/sysfsd/netdev"

// collection is the set of all devices while it is put together from dumps and
// from what was announced since they began.
type collection struct {
	links []*netdev.Link // nil where a device is gone
	at    map[uint32]int // position in links by ifindex
	rest  []netdev.Change
}

func newCollection() *collection { return &collection{at: make(map[uint32]int)} }

// set adds a device or a newer state of it.
func (c *collection) set(l *netdev.Link) {
	if i, ok := c.at[l.Index]; ok {
		c.links[i] = l
		return
	}
	c.at[l.Index] = len(c.links)
	c.links = append(c.links, l)
}

// apply brings the collection up to date with what was announced.
func (c *collection) apply(changes []netdev.Change) {
	for i := range changes {
		switch ch := &changes[i]; ch.Op {
		case netdev.Set:
			c.set(ch.Link)
		case netdev.Gone:
			if i, ok := c.at[ch.Index]; ok {
				c.links[i] = nil
			}
		default:
			c.rest = append(c.rest, *ch)
		}
	}
}

// changes returns a Set for each device, then all that wasn't about a Link.
func (c *collection) changes() []netdev.Change {
	all := make([]netdev.Change, 0, len(c.links)+len(c.rest))
	for _, l := range c.links {
		if l != nil {
			all = append(all, netdev.Change{Op: netdev.Set, Index: l.Index, Link: l})
		}
	}
	return append(all, c.rest...)
}

// indexes returns the ifindex of each device.
func (c *collection) indexes() []uint32 {
	all := make([]uint32, 0, len(c.links))
	for _, l := range c.links {
		if l != nil {
			all = append(all, l.Index)
		}
	}
	return all
}
