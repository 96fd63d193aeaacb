package synth

import (
	"slices"

	"github.com/sysfsd/sysfsd/netdev"
)

// doomed is what a Del removes: what is in the ranges, and what can't be without.
type doomed struct {
	ranges []Range // disjoint, in order
	extra  map[uint32]bool
	list   []uint32
}

// doom finds the victims of a Del.
// Preconditions: ctl is held.
func (p *Population) doom(ranges []Range) *doomed {
	v := &doomed{ranges: disjoint(ranges), extra: make(map[uint32]bool)}
	for _, r := range v.ranges {
		for index := range p.devices.all(r.First, r.Last) {
			v.list = append(v.list, index)
		}
	}
	for i := 0; i < len(v.list); i++ { // what is appended has dependents too
		d := p.devices.get(v.list[i])
		v.add(d.peer())
		for index := range p.devices.stacked(d) {
			v.add(index)
		}
	}
	return v
}

func (v *doomed) has(index uint32) bool {
	i, _ := slices.BinarySearchFunc(v.ranges, index, func(r Range, index uint32) int {
		return int(int64(r.Last) - int64(index))
	})
	return (i < len(v.ranges) && v.ranges[i].First <= index) || v.extra[index]
}

func (v *doomed) add(index uint32) {
	if index == 0 || v.has(index) {
		return
	}
	v.extra[index] = true
	v.list = append(v.list, index)
}

// disjoint sorts ranges and merges those that overlap. It leaves lo out.
func disjoint(ranges []Range) []Range {
	var sorted []Range
	for _, r := range ranges {
		r = Range{max(r.First, loIndex+1), min(r.Last, maxIndex)}
		if r.First <= r.Last {
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, func(a, b Range) int { return int(int64(a.First) - int64(b.First)) })
	var merged []Range
	for _, r := range sorted {
		if n := len(merged); n > 0 && r.First <= merged[n-1].Last {
			merged[n-1].Last = max(merged[n-1].Last, r.Last)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// remove removes one device.
// Preconditions: ctl and mu are held.
func (p *Population) remove(index uint32, v *doomed, t *touched) {
	d := p.devices.get(index)
	for port, pd := range p.devices.portsOf(d) {
		if !v.has(port) {
			l := *pd.link
			l.Master, l.Slave = 0, ""
			p.replace(port, pd, &l, t)
		}
	}
	if d.link.Master != 0 {
		p.devices.release(d, d.link.Master)
		t.masters = append(t.masters, d.link.Master)
	}
	if d.under() != 0 {
		p.devices.unstack(d, d.link.Lower)
	}
	if d.kind == kindPCI {
		p.slots.clear(int(d.place))
		p.cards[d.place] = 0
	}
	p.names.free(d.link.Name)
	p.devices.remove(index)
	t.gone = append(t.gone, index)
}

// isPort reports that a Link is a bridge's port.
func isPort(l *netdev.Link) bool { return l.Master != 0 && l.Slave == bridgeSlave }
