package synth

import (
	"fmt"
	"math/bits"
	"syscall"

	"github.com/sysfsd/sysfsd/netdev"
)

// grow makes n devices. With an error it has made fewer.
// Preconditions: ctl is held, mu is not.
func (p *Population) grow(n int, t *touched) (int, error) {
	made := 0
	for made < n {
		more, err := p.growStride(min(n-made, stride), t)
		made += more
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

func (p *Population) growStride(n int, t *touched) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := 0
	for made < n {
		more, err := p.makeUnit(n-made, t)
		made += more
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// makeUnit makes what belongs together: one device, or a veth pair where there
// is room for two. A veth alone has its other end in another namespace.
func (p *Population) makeUnit(room int, t *touched) (int, error) {
	if p.next > maxIndex-1 {
		return 0, fmt.Errorf("all %d ifindexes were used", maxIndex)
	}
	k := p.mix.kindOf(p.roll(p.next, saltKind))
	if k == kindVeth && room > 1 {
		return p.makePair(t)
	}
	l, err := p.newLink(k, p.next)
	if err != nil {
		return 0, err
	}
	d := p.newDevice(k, l)
	p.next++
	p.dress(&d, l)
	p.join(p.devices.put(l.Index, d), t)
	return 1, nil
}

// makePair makes two ends of one cable.
func (p *Population) makePair(t *touched) (int, error) {
	a, err := p.newLink(kindVeth, p.next)
	if err != nil {
		return 0, err
	}
	b, err := p.newLink(kindVeth, p.next+1)
	if err != nil {
		p.names.free(a.Name)
		return 0, err
	}
	first, second := p.newDevice(kindVeth, a), p.newDevice(kindVeth, b)
	p.next += 2
	a.HasLink, b.HasLink = true, true
	first.place, second.place = b.Index, a.Index
	b.MTU = a.MTU
	if bridge, port := p.freeBridge(a.Index); port != 0 {
		a.Master, a.Slave, a.MTU, b.MTU = bridge.link.Index, bridgeSlave, bridge.link.MTU, bridge.link.MTU
		first.port = port
	}
	one, two := p.devices.put(a.Index, first), p.devices.put(b.Index, second)
	p.derive(one, a)
	p.join(two, t)
	p.join(one, t)
	return 2, nil
}

// newLink makes a Link that has what all kinds have, and takes its name.
func (p *Population) newLink(k kind, index uint32) (*netdev.Link, error) {
	var buf [maxName + len(etherBroadcast)]byte
	pattern := p.mix.patternOf(k, p.roll(index, saltPattern))
	name, n, err := p.names.lowest(buf[:0], pattern)
	if err != nil {
		return nil, err
	}
	var addr [len(etherBroadcast)]byte
	m := &templates[k]
	l := &netdev.Link{
		Index: index, Kind: m.ipKind, Type: arphrdEther, Flags: m.flags, MTU: p.mtu(k, index),
		TxQueueLen: m.txqlen, NumTxQueues: m.queues, Broadcast: etherBroadcast, Alias: p.alias(k, index),
	}
	l.Name, l.Address = withName(name, appendAddress(addr[:0], p.seed, index))
	if p.roll(index, saltState)%16 < m.upOf16 {
		l.Flags |= syscall.IFF_UP
	}
	l.Carrier = 1
	if !m.unmanaged { // off at first, which the kernel counts
		l.Carrier, l.CarrierCount, l.CarrierDown = 0, 1, 1
	}
	pattern.own(n, index)
	return l, nil
}

func (p *Population) makeLo() {
	m := &templates[kindLo]
	l := &netdev.Link{
		Name: m.name, Index: loIndex, Type: arphrdLoop, Flags: m.flags | syscall.IFF_UP, MTU: 65536,
		TxQueueLen: m.txqlen, NumTxQueues: m.queues, Address: zeroAddress, Broadcast: zeroAddress, Carrier: 1,
	}
	p.names.take(l.Name, l.Index)
	p.next = loIndex + 1
	p.join(p.devices.put(l.Index, p.newDevice(kindLo, l)), &touched{})
}

// newDevice makes the record of a Link: plugged in, and with four queues each way
// for one in sixteen of those that can.
func (p *Population) newDevice(k kind, l *netdev.Link) device {
	if (k == kindVeth || k == kindIfb) && p.roll(l.Index, saltQueues)%16 == 0 {
		l.NumTxQueues = 4
	}
	return device{link: l, kind: k, flags: plugged}
}

// dress gives a device what only its kind has.
func (p *Population) dress(d *device, l *netdev.Link) {
	switch d.kind {
	case kindVeth:
		l.HasLink = true
	case kindBridge:
		p.bridge = l.Index
		if !l.Up() { // it never looked at its ports
			l.Carrier, l.CarrierCount, l.CarrierDown = 1, 0, 0
		}
	case kindMacvlan:
		p.putOver(l, true)
	case kindVxlan:
		if p.roll(l.Index, saltState)>>8%2 == 0 {
			p.putOver(l, false)
		}
	case kindTap:
		p.dressTap(d, l)
	case kindPCI:
		p.dressPCI(d, l)
	case kindLo, kindIfb, kindDummy, kindCount:
	}
}

// putOver stacks a device on another. A macvlan for which there is none came
// from another namespace, as those of containers do.
func (p *Population) putOver(l *netdev.Link, hasLink bool) {
	l.HasLink = hasLink
	l.Carrier, l.CarrierCount, l.CarrierDown = 1, 0, 0 // taken over before it is registered
	lower := p.candidate(l.Index)
	if lower == nil {
		return
	}
	l.Lower, l.MTU = lower.link.Index, lower.link.MTU
	if hasLink {
		l.Carrier = lower.link.Carrier
		return
	}
	const vxlanHeadroom = 50
	l.MTU -= vxlanHeadroom
}

// candidate returns a device that another can be stacked on, nil if a few tries
// find none: a mix may have nearly none.
func (p *Population) candidate(index uint32) *device {
	const tries, window = 8, 4096
	random := p.roll(index, saltLower)
	for range tries {
		back := 1 + uint32(random%uint64(min(index-1, window)))
		d := p.devices.get(index - back)
		if d != nil && (d.kind == kindVeth || d.kind == kindPCI) && d.link.Master == 0 {
			return d
		}
		random = scramble(random)
	}
	return nil
}

// freeBridge returns the bridge that a veth pair gets a port of and the port's
// number, which is 0 for two pairs of three.
func (p *Population) freeBridge(index uint32) (*device, uint16) {
	if p.bridge == 0 || p.roll(index, saltMaster)%3 != 0 {
		return nil, 0
	}
	var port uint16
	b := p.devices.get(p.bridge)
	if b != nil {
		port = p.freePort(b)
	}
	if port == 0 {
		p.bridge = 0 // gone or full
	}
	return b, port
}

// maxPort is the kernel's BR_MAX_PORTS - 1: port numbers have 10 bits.
const maxPort = 1<<10 - 1

// freePort returns the lowest free port number of a bridge, 0 if it is full.
func (p *Population) freePort(bridge *device) uint16 {
	var used [(maxPort + 1) / wordBits]uint64
	used[0] = 1 // 0 is no port number
	for _, port := range p.devices.portsOf(bridge) {
		used[port.port/wordBits] |= 1 << (port.port % wordBits)
	}
	for i, word := range used {
		if word != ^uint64(0) {
			return uint16(i*wordBits + bits.TrailingZeros64(^word))
		}
	}
	return 0
}

// dressTap: a program is attached to three of four, one in eight has many queues.
func (p *Population) dressTap(d *device, l *netdev.Link) {
	if p.roll(l.Index, saltCarrier)%4 == 0 {
		d.flags &^= plugged
	}
	if p.roll(l.Index, saltQueues)%8 == 0 {
		l.NumTxQueues = tapQueues
	}
}

// dressPCI puts a card into the lowest free place; most have a cable.
func (p *Population) dressPCI(d *device, l *netdev.Link) {
	n := p.slots.lowest()
	p.slots.set(n)
	for n >= len(p.cards) {
		p.cards = append(p.cards, 0)
	}
	p.cards[n] = l.Index
	d.place = uint32(n)
	m := modelOf(p.seed, d.place)
	l.NumTxQueues = uint32(m.queues)
	l.More = moreOf(p.seed, d.place, l.Address)
	if p.roll(l.Index, saltCarrier)%8 == 0 {
		d.flags &^= plugged
	}
}

// join makes a new device part of what is around it.
// Preconditions: nobody else has seen its Link yet.
func (p *Population) join(d *device, t *touched) {
	l := d.link
	if d.under() != 0 {
		p.devices.stack(l.Index, d, l.Lower)
	}
	if l.Master != 0 {
		p.devices.enslave(l.Index, d, l.Master)
	}
	p.derive(d, l)
	p.turn(d, false, running(l))
	if !p.building {
		t.set = append(t.set, l.Index)
	}
	p.work = append(p.work[:0], d.peer(), l.Master)
	p.work = p.settle(p.work, t)
}

func (p *Population) mtu(k kind, index uint32) uint32 {
	if k == kindBridge {
		return 1500 // the least of its ports'
	}
	switch p.roll(index, saltMTU) % 16 {
	case 0:
		return 9000
	case 1:
		return 1492
	case 2:
		return 1420
	}
	return 1500
}

func (p *Population) alias(k kind, index uint32) string {
	random := p.roll(index, saltAlias)
	if random%16 != 0 || k == kindIfb || k == kindTap {
		return ""
	}
	return fmt.Sprintf("customer %05d", random>>8%100000)
}
