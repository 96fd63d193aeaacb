package synth

import "strconv"

// Counters are functions of the time that a device had carrier. What it receives
// is a stream: packets and bytes. What a veth sends is its peer's stream, so that
// both ends tell the same story; all others have a second one to send.

// stream names what flows one way.
type stream struct {
	index uint32 // of the device that receives it
	sent  bool   // the second stream of a device without peer
}

// rx and tx are the two streams of a device.
func (d *device) rxStream() stream { return stream{index: d.link.Index} }

func (d *device) txStream() stream {
	if peer := d.peer(); peer != 0 {
		return stream{index: peer}
	}
	return stream{index: d.link.Index, sent: d.kind != kindLo} // lo receives what it sends
}

// activeAt returns how long a device has had carrier, in ns.
func (d *device) activeAt(now int64) uint64 {
	active := d.active
	if running(d.link) {
		active += max(0, now-d.since)
	}
	return uint64(active)
}

const (
	second = 1_000_000_000
	// maxPast is below what a device counted before the start: some minutes of a
	// busy one.
	maxPast = 1 << 24
	// smallest and sizes say what a stream's packets are long on average.
	smallest, sizes = 64, 900
)

// packets returns how many packets of a stream passed the device by now. The
// rate of a stream is between half of and one and a half times the average.
func (p *Population) packets(d *device, s stream, now int64) uint64 {
	salt := saltCounters
	if s.sent {
		salt += 1 << 32
	}
	var past uint64
	if d.has(history) {
		past = p.roll(s.index, salt) % maxPast
	}
	if p.rate == 0 {
		return past
	}
	const half = 1 << 15
	factor := half + p.roll(s.index, salt+saltRate<<16)%(2*half)
	return past + mulDiv(d.activeAt(now), p.rate*factor, 2*half*second)
}

// bytes returns how long the packets of a stream were together.
func (p *Population) bytes(d *device, s stream, now int64) uint64 {
	size := smallest + p.roll(s.index, saltSize)%sizes
	return p.packets(d, s, now) * size
}

// counter returns one of statistics/. One packet in 2^16 gets lost, as it does
// where customers are.
func (p *Population) counter(d *device, name string, now int64) uint64 {
	const lost, groups = 16, 6
	switch name {
	case "rx_packets":
		return p.packets(d, d.rxStream(), now)
	case "tx_packets":
		return p.packets(d, d.txStream(), now)
	case "rx_bytes":
		return p.bytes(d, d.rxStream(), now)
	case "tx_bytes":
		return p.bytes(d, d.txStream(), now)
	case "rx_dropped":
		if d.kind == kindIfb || d.kind == kindPCI {
			return p.packets(d, d.rxStream(), now) >> lost
		}
	case "multicast":
		if d.kind == kindBridge || d.kind == kindPCI {
			return p.packets(d, d.rxStream(), now) >> groups
		}
	}
	return 0
}

// appendCounter appends the text of one of statistics/.
func (p *Population) appendCounter(b []byte, d *device, name string) []byte {
	return append(strconv.AppendUint(b, p.counter(d, name, p.now()), 10), '\n')
}
