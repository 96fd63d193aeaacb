package synth

import (
	"syscall"

	"github.com/sysfsd/sysfsd/netdev"
)

// settle brings devices, and all whose state follows from theirs, in line with
// what is around them. It returns the slice, which may have grown, for the next.
// Preconditions: ctl and mu are held.
func (p *Population) settle(work []uint32, t *touched) []uint32 {
	for len(work) > 0 {
		index := work[len(work)-1]
		work = work[:len(work)-1]
		d := p.devices.get(index)
		if d == nil {
			continue
		}
		l := *d.link
		p.derive(d, &l)
		if l == *d.link {
			continue
		}
		p.replace(index, d, &l, t)
		work = p.appendFollowers(work, d)
	}
	return work
}

// appendFollowers appends the devices whose state follows from that of another.
func (p *Population) appendFollowers(work []uint32, d *device) []uint32 {
	if peer := d.peer(); peer != 0 {
		work = append(work, peer)
	}
	for index := range p.devices.stacked(d) {
		work = append(work, index)
	}
	if d.link.Master != 0 {
		work = append(work, d.link.Master)
	}
	return work
}

// replace publishes a new Link of a device: a copy, for Links are immutable.
// Preconditions: ctl and mu are held.
func (p *Population) replace(index uint32, d *device, l *netdev.Link, t *touched) {
	now := *l
	old := d.link
	if old.Master != l.Master {
		p.move(index, d, l.Master, t)
	}
	p.turn(d, running(old), running(l))
	d.link = &now
	if !p.building {
		t.set = append(t.set, index)
	}
}

// move makes a device the port of another bridge, or of none.
func (p *Population) move(index uint32, d *device, master uint32, t *touched) {
	if old := d.link.Master; old != 0 {
		p.devices.release(d, old)
		t.masters = append(t.masters, old)
	}
	d.port = 0
	if master == 0 {
		return
	}
	d.port = p.freePort(p.devices.get(master))
	p.devices.enslave(index, d, master)
}

// set is Population.Set after the checks.
func (p *Population) set(index uint32, d *device, l *netdev.Link, t *touched) {
	if l.Carrier != d.link.Carrier {
		d.plug(l.Carrier != 0)
		if peer := p.devices.get(d.peer()); peer != nil { // a pair has one cable
			peer.plug(l.Carrier != 0)
		}
		l.Carrier = d.link.Carrier // derive counts the change
	}
	l.Slave = ""
	if l.Master != 0 {
		l.Slave = bridgeSlave
	}
	p.replace(index, d, l, t)
	work := append(p.appendFollowers(t.masters, d), index)
	p.settle(work, t)
}

// mayBecome reports that a change leaves alone what a device is.
func mayBecome(old, l *netdev.Link) bool {
	return l.Index == old.Index && l.Name == old.Name && l.Kind == old.Kind && l.Type == old.Type &&
		l.Lower == old.Lower && l.HasLink == old.HasLink && l.NumTxQueues == old.NumTxQueues &&
		l.HasParent() == old.HasParent()
}

// mayEnslave reports that a device is or may become a port of a bridge.
func (p *Population) mayEnslave(index, master uint32) bool {
	d, m := p.devices.get(index), p.devices.get(master)
	if master == 0 || master == d.link.Master {
		return true
	}
	return m != nil && m.kind == kindBridge && d.kind != kindBridge && d.kind != kindLo && p.freePort(m) != 0
}

// running reports IFF_LOWER_UP: packets may flow.
func running(l *netdev.Link) bool { return l.Flags&iffLowerUp != 0 }

// turn starts and stops the clock that a device's counters move by. What has
// carrier when the population is built has counted before.
func (p *Population) turn(d *device, was, is bool) {
	if was == is {
		return
	}
	if p.building { // it has been like this before the clock started
		d.flags ^= history
		return
	}
	now := p.now()
	if was {
		d.active += now - d.since
	}
	d.since = now
}

// derive sets what follows in a Link from the rest of it and from its
// neighbors: carrier and its counts, operational state, flags.
func (p *Population) derive(d *device, l *netdev.Link) {
	if carrier := p.carrier(d, l); carrier != l.Carrier {
		l.Carrier = carrier
		l.CarrierCount++
		l.CarrierUp += uint32(carrier)
		l.CarrierDown += uint32(1 - carrier)
	}
	if lower := p.devices.get(l.Lower); d.kind == kindMacvlan && lower != nil {
		l.MTU = min(l.MTU, lower.link.MTU)
	}
	l.Operstate = p.operstate(d, l)
	l.Flags &^= iffStates
	if !l.Up() {
		return
	}
	if l.Operstate == operUp || l.Operstate == operUnknown {
		l.Flags |= syscall.IFF_RUNNING
	}
	if l.Carrier != 0 {
		l.Flags |= iffLowerUp
	}
}

// carrier is what the driver of each kind says.
func (p *Population) carrier(d *device, l *netdev.Link) uint8 {
	if !d.has(plugged) || !p.connected(d, l) {
		return 0
	}
	return 1
}

func (p *Population) connected(d *device, l *netdev.Link) bool {
	switch d.kind {
	case kindPCI:
		return l.Up()
	case kindVeth:
		peer := p.devices.get(d.peer())
		return l.Up() && (peer == nil || peer.link.Up())
	case kindMacvlan:
		lower := p.devices.get(l.Lower)
		return lower == nil || lower.link.Carrier != 0
	case kindBridge:
		if !l.Up() { // it doesn't look at its ports
			return l.Carrier != 0
		}
		return p.forwards(d)
	case kindLo, kindIfb, kindDummy, kindVxlan, kindTap, kindCount:
	}
	return true
}

// forwards reports that a port of a bridge is live.
func (p *Population) forwards(d *device) bool {
	for _, port := range p.devices.portsOf(d) {
		if running(port.link) {
			return true
		}
	}
	return false
}

// operstate is the kernel's default_operstate: lower layer down only if the
// device that iflink names is here and has no carrier either.
func (p *Population) operstate(d *device, l *netdev.Link) uint8 {
	switch {
	case !l.Up():
		return operDown
	case l.Carrier == 0:
		lower := p.devices.get(d.linked())
		if l.HasLink && lower != nil && lower.link.Carrier == 0 {
			return operLowerLayerDown
		}
		return operDown
	case templates[d.kind].unmanaged && l.CarrierCount == 0:
		return operUnknown
	}
	return operUp
}

// What ethtool says of a device without link, and of software.
const (
	speedUnknown  = 1<<32 - 1
	speedSoftware = 10000
	duplexFull    = 1
	duplexUnknown = 0xff
)

// modes returns the answer that ethtool would get.
// Preconditions: ctl or mu is held.
func (p *Population) modes(d *device) netdev.Modes {
	m := netdev.Modes{Speed: speedSoftware, Duplex: duplexFull, State: netdev.ModesKnown}
	switch d.kind {
	case kindMacvlan, kindVxlan:
		if lower := p.devices.get(d.link.Lower); lower != nil {
			return p.modes(lower)
		}
		if d.kind == kindVxlan {
			m.Speed, m.Duplex = speedUnknown, duplexUnknown
		}
	case kindBridge:
		m.Speed, m.Duplex = p.fastest(d), duplexUnknown
	case kindPCI:
		m.Speed = modelOf(p.seed, d.place).speed
		if !running(d.link) {
			m.Speed, m.Duplex = speedUnknown, duplexUnknown
		}
	case kindLo, kindIfb, kindDummy:
		return netdev.Modes{State: netdev.ModesNone}
	case kindVeth, kindTap, kindCount:
	}
	return m
}

// fastest returns the speed of a bridge's fastest live port.
func (p *Population) fastest(bridge *device) uint32 {
	best := uint32(speedUnknown)
	for _, port := range p.devices.portsOf(bridge) {
		m := p.modes(port)
		if !running(port.link) || m.State != netdev.ModesKnown || m.Speed == speedUnknown {
			continue
		}
		if best == speedUnknown || m.Speed > best {
			best = m.Speed
		}
	}
	return best
}
