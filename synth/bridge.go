package synth

import (
	"encoding/hex"
	"syscall"

	"github.com/sysfsd/sysfsd/netdev"
)

// brforward is the one binary file: a bridge's forwarding database.
const brforward = "brforward"

// recordSize is that of struct __fdb_entry.
const recordSize = 16

// portBase is the default port priority, 32, where a port's id has it.
const portBase = 0x8000

// bridgeOf returns the bridge that a file of bridge/ or brport/ is about.
func (v *view) bridgeOf() *device {
	if v.d.kind == kindBridge {
		return v.d
	}
	return v.p.devices.get(v.d.link.Master)
}

// showBridgeID shows a bridge's priority and address. Without STP every bridge
// is its own root.
func showBridgeID(b []byte, v *view) ([]byte, error) {
	b = append(b, "8000."...)
	b = hex.AppendEncode(b, []byte(v.bridgeOf().link.Address))
	return append(b, '\n'), nil
}

// showGCTimer shows how long it is to the next cleaning, in 1/100 s: at most
// ageing_time.
func showGCTimer(b []byte, v *view) ([]byte, error) {
	if !v.d.link.Up() {
		return append(b, "0\n"...), nil
	}
	const ageing, tick = 30000, second / 100
	passed := uint64(v.p.now())/tick + v.p.roll(v.d.link.Index, saltTimer)
	return appendDec(b, ageing-passed%ageing), nil
}

func showPort(text func(n uint16) string) show {
	return func(b []byte, v *view) ([]byte, error) {
		return append(append(b, text(v.d.port)...), '\n'), nil
	}
}

// showPathCost is the kernel's port_cost.
func showPathCost(b []byte, v *view) ([]byte, error) {
	m := v.p.modes(v.d)
	cost := uint64(100)
	switch {
	case m.State != netdev.ModesKnown || m.Speed == speedUnknown:
	case m.Speed >= 10000:
		cost = 2
	case m.Speed >= 1000:
		cost = 4
	}
	return appendDec(b, cost), nil
}

// BR_STATE_* of linux/if_bridge.h. Without STP a port forwards or doesn't.
const (
	stateDisabled   = 0
	stateForwarding = 3
)

func showPortState(b []byte, v *view) ([]byte, error) {
	if running(v.d.link) && v.bridgeOf().link.Up() {
		return appendDec(b, stateForwarding), nil
	}
	return appendDec(b, stateDisabled), nil
}

// showForward shows one local entry for each port: mac[6], port_lo, is_local,
// ageing, port_hi, padding.
func showForward(b []byte, v *view) ([]byte, error) {
	for _, port := range v.p.devices.portsOf(v.d) {
		b = append(b, port.link.Address...)
		b = append(b, byte(port.port), 1, 0, 0, 0, 0, byte(port.port>>8), 0, 0, 0)
	}
	return b, nil
}

// readRecords copies whole records, as the kernel does.
func readRecords(b, records []byte, off int64) (int, error) {
	if off%recordSize != 0 {
		return 0, syscall.EINVAL
	}
	if off >= int64(len(records)) {
		return 0, nil
	}
	return copy(b[:len(b)/recordSize*recordSize], records[off:]), nil
}
