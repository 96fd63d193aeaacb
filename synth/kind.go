package synth

import (
	"strings"
	"syscall"

	"github.com/sysfsd/sysfsd/netdev"
)

// kind numbers the templates that devices are made by.
type kind uint8

const (
	kindLo kind = iota
	kindVeth
	kindIfb
	kindDummy
	kindBridge
	kindMacvlan
	kindVxlan
	kindTap
	kindPCI
	kindCount
)

// Operational states of RFC 2863, IF_OPER_* of linux/if.h.
const (
	operUnknown        = 0
	operDown           = 2
	operLowerLayerDown = 3
	operUp             = 6
)

// The flags of a device that sysfs and netlink show, and the ones that follow
// from its state.
const (
	iffStates    = syscall.IFF_RUNNING | iffLowerUp | iffDormant
	iffLowerUp   = 0x10000
	iffDormant   = 0x20000
	etherFlags   = syscall.IFF_BROADCAST | syscall.IFF_MULTICAST
	noarpFlags   = syscall.IFF_BROADCAST | syscall.IFF_NOARP
	arphrdEther  = 1
	arphrdLoop   = 772
	bridgeSlave  = "bridge"
	etherTxQueue = 1000 // DEFAULT_TX_QUEUE_LEN
)

// template is what all devices of a kind have in common. Its values are those of
// the real devices in testdata.
type template struct {
	name    string // as --kinds calls it
	pattern string // of names, if --names has none for it
	ipKind  string // IFLA_INFO_KIND
	devtype string // the line DEVTYPE of uevent
	flags   uint32
	txqlen  uint32
	queues  uint32 // IFLA_NUM_TX_QUEUES, if it isn't multi-queue
	weight  int    // in the default mix
	upOf16  uint64 // how many of 16 are administratively up
	// Without carrier management a device that is up is in state unknown.
	unmanaged bool
}

// templates in the order of kinds. The default weights are those of an access router:
// mostly one veth pair or ifb for each customer. Ports to the world have to be asked
// for: without them all devices are in devices/virtual/net.
var templates = [kindCount]template{
	kindLo: {name: "lo", flags: syscall.IFF_LOOPBACK, txqlen: etherTxQueue, queues: 1, upOf16: 16, unmanaged: true},
	kindVeth: {
		name: "veth", pattern: "veth%d", ipKind: "veth", flags: etherFlags, txqlen: etherTxQueue, queues: 2, weight: 58, upOf16: 14,
	},
	kindIfb: {
		name: "ifb", pattern: "ifb%d", ipKind: "ifb", flags: noarpFlags, txqlen: 32, queues: 1, weight: 20, upOf16: 15, unmanaged: true,
	},
	kindDummy: {
		name: "dummy", pattern: "dummy%d", ipKind: "dummy", flags: noarpFlags, txqlen: etherTxQueue, queues: 1, weight: 2, upOf16: 12, unmanaged: true,
	},
	kindBridge: {
		name: "bridge", pattern: "br%d", ipKind: "bridge", devtype: "DEVTYPE=bridge\n", flags: etherFlags, txqlen: etherTxQueue, queues: 1, weight: 2, upOf16: 15,
	},
	kindMacvlan: {
		name: "macvlan", pattern: "macvlan%d", ipKind: "macvlan", flags: etherFlags, txqlen: etherTxQueue, queues: 1, weight: 10, upOf16: 14,
	},
	kindVxlan: {
		name: "vxlan", pattern: "vxlan%d", ipKind: "vxlan", devtype: "DEVTYPE=vxlan\n", flags: etherFlags, txqlen: etherTxQueue, queues: 1, weight: 5, upOf16: 15, unmanaged: true,
	},
	kindTap: {name: "tap", pattern: "tap%d", ipKind: "tun", flags: etherFlags, txqlen: etherTxQueue, queues: 1, weight: 2, upOf16: 14},
	kindPCI: {name: "pci", pattern: "eth%d", flags: etherFlags, txqlen: etherTxQueue, queues: 1, weight: 0, upOf16: 13},
}

// kindNamed returns the kind that --kinds means. lo can't be asked for: there is
// exactly one.
func kindNamed(name string) (kind, bool) {
	for k := kindLo + 1; k < kindCount; k++ {
		if templates[k].name == name {
			return k, true
		}
	}
	return 0, false
}

// kindNames lists what kindNamed knows, for messages.
func kindNames() string {
	var all []string
	for k := kindLo + 1; k < kindCount; k++ {
		all = append(all, templates[k].name)
	}
	return strings.Join(all, ", ")
}

// The addresses that many devices share.
const (
	etherBroadcast netdev.HWAddr = "\xff\xff\xff\xff\xff\xff"
	zeroAddress    netdev.HWAddr = "\x00\x00\x00\x00\x00\x00"
)
