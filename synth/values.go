package synth

import (
	"fmt"
	"strconv"
	"syscall"

	"github.com/sysfsd/sysfsd/attr"
)

// view is what the text of a file is made of.
type view struct {
	p     *Population
	d     *device
	path  string
	queue uint64
}

// show appends the text of a file, or returns the errno of reading it.
type show func(b []byte, v *view) ([]byte, error)

// showOf returns what shows a row: its own Show, as the mirror would use it, so
// that both can't differ; else one of this package.
func showOf(row *attr.Row) show {
	if s, ok := shows[row.Path]; ok {
		return s
	}
	dir, name := split(row.Path)
	switch {
	case dir == "statistics":
		return func(b []byte, v *view) ([]byte, error) { return v.p.appendCounter(b, v.d, name), nil }
	case row.Show != nil && (name == "speed" || name == "duplex"):
		return func(b []byte, v *view) ([]byte, error) {
			return row.Show(b, &attr.Values{Link: v.d.link, Modes: v.p.modes(v.d)})
		}
	case row.Show != nil:
		return func(b []byte, v *view) ([]byte, error) { return row.Show(b, &attr.Values{Link: v.d.link}) }
	}
	text, ok := texts[row.Path]
	if !ok {
		text = "0\n"
	}
	return func(b []byte, _ *view) ([]byte, error) { return append(b, text...), nil }
}

// texts are files whose content is always the same, and not 0.
var texts = map[string]string{
	"dev_id":                 "0x0\n",
	"power/control":          "auto\n",
	"power/runtime_status":   "unsupported\n",
	"brport/backup_port":     "",
	"brport/broadcast_flood": "1\n", "brport/learning": "1\n", "brport/unicast_flood": "1\n",
	"brport/multicast_flood": "1\n", "brport/multicast_router": "1\n",
	"brport/group_fwd_mask": "0x0\n", "brport/priority": "32\n",

	"queues/tx-*/byte_queue_limits/hold_time": "1000\n",
	"queues/tx-*/byte_queue_limits/limit_max": "1879048192\n",

	"bridge/ageing_time": "30000\n", "bridge/forward_delay": "1500\n", "bridge/hello_time": "200\n",
	"bridge/max_age": "2000\n", "bridge/priority": "32768\n", "bridge/group_addr": "01:80:c2:00:00:00\n",
	"bridge/group_fwd_mask": "0x0\n", "bridge/hash_elasticity": "16\n", "bridge/hash_max": "4096\n",
	"bridge/multicast_igmp_version": "2\n", "bridge/multicast_mld_version": "1\n",
	"bridge/multicast_last_member_count": "2\n", "bridge/multicast_last_member_interval": "100\n",
	"bridge/multicast_membership_interval": "26000\n", "bridge/multicast_querier_interval": "25500\n",
	"bridge/multicast_query_interval": "12500\n", "bridge/multicast_query_response_interval": "1000\n",
	"bridge/multicast_router": "1\n", "bridge/multicast_snooping": "1\n",
	"bridge/multicast_startup_query_count": "2\n", "bridge/multicast_startup_query_interval": "3124\n",
}

// shows are files whose content depends on the device and isn't in its Link.
var shows = map[string]show{
	"uevent":           uevent,
	"iflink":           showIflink,
	"flags":            showFlags,
	"netdev_group":     showGroup,
	"addr_assign_type": showAddrAssign,
	"name_assign_type": showNameAssign,
	"dormant":          notNow,
	"testing":          notNow,

	"power/autosuspend_delay_ms": fails(syscall.EIO),

	"tun_flags": showTunFlags,
	"owner":     showOwner,
	"group":     showOwner,

	"queues/rx-*/rps_cpus":      func(b []byte, _ *view) ([]byte, error) { return appendBitmap(b, -1, cpus), nil },
	"queues/tx-*/xps_rxqs":      func(b []byte, v *view) ([]byte, error) { return appendBitmap(b, -1, v.d.rxQueues()), nil },
	"queues/tx-*/xps_cpus":      multiQueue(showXPS),
	"queues/tx-*/traffic_class": multiQueue(func(b []byte, _ *view) ([]byte, error) { return append(b, "0\n"...), nil }),

	brforward:                  showForward,
	"bridge/bridge_id":         showBridgeID,
	"bridge/root_id":           showBridgeID,
	"bridge/gc_timer":          showGCTimer,
	"brport/designated_bridge": showBridgeID,
	"brport/designated_root":   showBridgeID,
	"brport/designated_port":   showPort(func(n uint16) string { return strconv.Itoa(portBase + int(n)) }),
	"brport/port_id":           showPort(func(n uint16) string { return fmt.Sprintf("%#x", portBase+n) }),
	"brport/port_no":           showPort(func(n uint16) string { return fmt.Sprintf("%#x", n) }),
	"brport/path_cost":         showPathCost,
	"brport/state":             showPortState,
}

func fails(err error) show {
	return func(b []byte, _ *view) ([]byte, error) { return b, err }
}

// notNow shows a state that no device here is ever in, and that one that is down
// can't be in.
func notNow(b []byte, v *view) ([]byte, error) {
	if !v.d.link.Up() {
		return b, syscall.EINVAL
	}
	return append(b, "0\n"...), nil
}

func appendDec(b []byte, n uint64) []byte { return append(strconv.AppendUint(b, n, 10), '\n') }

// showIflink shows the other end's ifindex, which for one in another namespace
// is a number of that namespace.
func showIflink(b []byte, v *view) ([]byte, error) {
	l := v.d.link
	switch {
	case !l.HasLink:
		return appendDec(b, uint64(l.Index)), nil
	case v.d.linked() == 0:
		return appendDec(b, loIndex+1+v.p.roll(l.Index, saltAbroad)%64), nil
	}
	return appendDec(b, uint64(v.d.linked())), nil
}

// showFlags shows the device's own flags: those that follow from its state are
// not there, but those are that in-kernel users turned on.
func showFlags(b []byte, v *view) ([]byte, error) {
	f := v.d.link.Flags &^ iffStates
	if isPort(v.d.link) {
		f |= syscall.IFF_PROMISC | syscall.IFF_ALLMULTI
	}
	// A veth can't filter for more than one address.
	if v.d.kind == kindVeth && v.p.carriesMacvlan(v.d) {
		f |= syscall.IFF_PROMISC
	}
	return fmt.Appendf(b, "%#x\n", f), nil
}

func (p *Population) carriesMacvlan(d *device) bool {
	for _, upper := range p.devices.stacked(d) {
		if upper.kind == kindMacvlan && upper.link.Up() {
			return true
		}
	}
	return false
}

// showGroup: one device in 32 is in a group.
func showGroup(b []byte, v *view) ([]byte, error) {
	random := v.p.roll(v.d.link.Index, saltGroup)
	if v.d.kind == kindLo || random%32 != 0 {
		random = 0
	}
	return appendDec(b, random>>8%8), nil
}

// NET_ADDR_* of linux/netdevice.h.
const (
	addrPerm   = 0
	addrRandom = 1
	addrSet    = 3
)

// showAddrAssign: a bridge has an address that no port has, so somebody set it.
func showAddrAssign(b []byte, v *view) ([]byte, error) {
	switch v.d.kind {
	case kindLo, kindPCI:
		return appendDec(b, addrPerm), nil
	case kindBridge:
		return appendDec(b, addrSet), nil
	}
	return appendDec(b, addrRandom), nil
}

// NET_NAME_* of linux/netdevice.h.
const (
	nameEnum        = 1
	namePredictable = 2
	nameUser        = 3
	nameRenamed     = 4
)

// showNameAssign: the kernel doesn't know for a tap made by ioctl.
func showNameAssign(b []byte, v *view) ([]byte, error) {
	switch {
	case v.d.has(renamed):
		return appendDec(b, nameRenamed), nil
	case v.d.kind == kindTap:
		return b, syscall.EINVAL
	case v.d.kind == kindLo:
		return appendDec(b, namePredictable), nil
	case v.d.kind == kindPCI:
		return appendDec(b, nameEnum), nil
	}
	return appendDec(b, nameUser), nil
}

// The flags of linux/if_tun.h.
const (
	iffTap        = 0x2
	iffMultiQueue = 0x100
	iffPersist    = 0x800
	iffNoPI       = 0x1000
)

// tapQueues is MAX_TAP_QUEUES, which a multi-queue tap allocates.
const tapQueues = 256

func showTunFlags(b []byte, v *view) ([]byte, error) {
	f := iffTap | iffPersist | iffNoPI
	if v.d.link.NumTxQueues > 1 {
		f |= iffMultiQueue
	}
	return fmt.Appendf(b, "%#x\n", f), nil
}

// showOwner shows uid or gid: half of the taps have one, the same for both.
func showOwner(b []byte, v *view) ([]byte, error) {
	random := v.p.roll(v.d.link.Index, saltOwner)
	if random%2 == 0 {
		return append(b, "-1\n"...), nil
	}
	return appendDec(b, 1000+random>>8%8), nil
}

// cpus is how many the made-up machine has.
const cpus = 4

// rxQueues returns IFLA_NUM_RX_QUEUES: all kinds here allocate as many as they
// do to send.
func (d *device) rxQueues() int { return int(d.link.NumTxQueues) }

// appendBitmap shows a bitmap of n bits of which one, or none, is set: groups of
// 32 bits, the first only as wide as needed.
func appendBitmap(b []byte, bit, n int) []byte {
	const group = 32
	for high := n; high > 0; {
		low := (high - 1) / group * group
		word := uint32(0)
		if bit >= low && bit < high {
			word = 1 << (bit - low)
		}
		b = fmt.Appendf(b, "%0*x", (high-low+3)/4, word)
		if high = low; high > 0 {
			b = append(b, ',')
		}
	}
	return append(b, '\n')
}

// multiQueue makes reads fail for a device that allocated one queue.
func multiQueue(s show) show {
	return func(b []byte, v *view) ([]byte, error) {
		if v.d.link.NumTxQueues <= 1 {
			return b, syscall.ENOENT
		}
		return s(b, v)
	}
}

// showXPS: a card's driver spreads its queues over the CPUs.
func showXPS(b []byte, v *view) ([]byte, error) {
	bit := -1
	if v.d.kind == kindPCI {
		bit = int(v.queue % cpus)
	}
	return appendBitmap(b, bit, cpus), nil
}
