package tests

import (
	"fmt"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// ip makes a change out of lines of ip -batch.
func ip(lines ...string) func(*live) {
	return func(l *live) { l.Helper(); l.ip(lines...) }
}

// write makes a change out of a write to the real sysfs.
func write(file, value string) func(*live) {
	return func(l *live) { l.Helper(); l.write(file, value) }
}

// command makes a change out of a command.
func command(name string, args ...string) func(*live) {
	return func(l *live) { l.Helper(); l.ns.Run(name, args...) }
}

func openTap(l *live) { l.Helper(); l.tap = l.ns.OpenTap("t0") }

// macvlanOnTap is a stacked device with a tap below that has a program.
func macvlanOnTap(l *live) {
	l.Helper()
	openTap(l)
	l.ip("link add mvt link t0 type macvlan", "link set mvt "+l.state)
}

// liveCases are the changes a device can go through, one at a time.
var liveCases = []liveCase{
	// Names.
	{name: "rename", change: ip("link set i0 name renamed")},
	{name: "rename to the longest name", change: ip("link set i0 name fifteenbyteslng")},
	{name: "rename and back", change: func(l *live) {
		l.ip("link set i0 name tmp")
		l.ip("link set tmp name i0")
	}},
	{name: "swap of two names", change: func(l *live) { l.swap("a0", "i0") }},
	{name: "swap of two names of a kind", change: func(l *live) { l.swap("i0", "i1") }},
	{name: "rename of an upper device", change: ip("link set mv0 name renamed")},
	{name: "rename of a lower device", change: ip("link set a0 name renamed")},
	{name: "rename of a bridge port", change: ip("link set p0 name renamed")},
	{name: "rename of a bridge", change: ip("link set br0 name renamed")},
	{name: "swap of the names of port and peer", change: func(l *live) { l.swap("p0", "q0") }},
	{name: "altname added", change: ip("link property add dev a0 altname other"), noop: "both"},
	{
		name:    "altname removed",
		prepare: ip("link property add dev a0 altname other"),
		change:  ip("link property del dev a0 altname other"), noop: "both",
	},

	// Plain values, by netlink and by sysfs.
	{name: "mtu", change: ip("link set i0 mtu 1234")},
	{name: "mtu by sysfs", change: write("i0/mtu", "1234")},
	{name: "mtu of a lower device", change: ip("link set a0 mtu 1234")},
	{name: "address", change: ip("link set x0 address 02:00:00:00:00:09")},
	{name: "address of a lower device", change: ip("link set a0 address 02:00:00:00:00:09")},
	{name: "address of a bridge port", change: ip("link set p0 address 00:00:00:00:00:09")},
	{name: "broadcast", change: ip("link set i0 broadcast ff:ff:ff:ff:ff:fe")},
	{name: "alias", change: ip("link set i0 alias name-for-people")},
	{name: "alias by sysfs", change: write("i0/ifalias", "name for people")},
	{name: "alias removed", prepare: write("i0/ifalias", "name"), change: write("i0/ifalias", "\n")},
	{name: "group", change: ip("link set i0 group 7")},
	{name: "group by sysfs", change: write("i0/netdev_group", "7")},
	{name: "queue length", change: ip("link set i0 txqueuelen 77")},
	{name: "queue length by sysfs", change: write("i0/tx_queue_len", "77")},
	{name: "proto_down", change: ip("link set mv0 protodown on"), watched: true},
	{name: "proto_down by sysfs", change: write("mv0/proto_down", "1"), watched: true},
	{name: "promiscuous", change: ip("link set i0 promisc on")},
	{name: "all multicast", change: ip("link set i0 allmulticast on")},
	{name: "flags by sysfs", change: write("i0/flags", "0x1100"), watched: true},
	{name: "link mode dormant", change: ip("link set a0 mode dormant"), watched: true},
	{
		name: "link mode default", prepare: ip("link set a0 mode dormant"),
		change: ip("link set a0 mode default"), watched: true,
	},
	{name: "operstate set dormant", change: ip("link set a0 state dormant"), watched: true, noop: "down"},
	{name: "gro_flush_timeout", change: write("a0/gro_flush_timeout", "20000")},
	{name: "napi_defer_hard_irqs", change: write("a0/napi_defer_hard_irqs", "2")},
	{name: "rps_cpus", change: write("mq0/queues/rx-1/rps_cpus", "1")},
	{name: "rps_flow_cnt", change: write("mq0/queues/rx-0/rps_flow_cnt", "64")},
	{name: "xps_cpus", change: write("mq0/queues/tx-1/xps_cpus", "1")},
	{name: "xps_rxqs", change: write("mq0/queues/tx-0/xps_rxqs", "1")},
	{name: "byte_queue_limits", change: write("i0/queues/tx-0/byte_queue_limits/limit_min", "10")},
	{name: "power control", change: write("i0/power/control", "on")},

	// Up, down and carrier.
	{name: "state", change: func(l *live) { l.toggle("i0") }, watched: true},
	{name: "state of a veth", change: func(l *live) { l.toggle("x0") }, watched: true},
	{name: "state of a lower device", change: func(l *live) { l.toggle("a0") }, watched: true},
	{name: "state of a lower device's peer", change: func(l *live) { l.toggle("a1") }, watched: true},
	{name: "state of a bridge", change: func(l *live) { l.toggle("br0") }, watched: true},
	{name: "state of a bridge port", change: func(l *live) { l.toggle("p0") }, watched: true},
	{name: "state of a bridge port's peer", change: func(l *live) { l.toggle("q0") }, watched: true},
	{name: "state of all at once", change: func(l *live) {
		l.ns.Run("ip", "link", "set", "group", "default", map[string]string{"up": "down", "down": "up"}[l.state])
	}, watched: true},
	{name: "down and up again", change: func(l *live) {
		l.toggle("x0")
		l.ip("link set x0 " + l.state)
	}, watched: true, noop: "down"},

	// Tun and tap.
	{name: "tap opened", change: openTap, watched: true},
	{name: "tap closed", prepare: openTap, change: func(l *live) { require.NoError(l, l.tap.Close()) }, watched: true},
	{name: "tap opened and closed", change: func(l *live) {
		openTap(l)
		require.NoError(l, l.tap.Close())
	}, watched: true},
	{name: "tap opened with other flags", change: func(l *live) {
		l.ns.OpenTun("t0", unix.IFF_TAP|unix.IFF_VNET_HDR)
	}, watched: true},
	{name: "tap given to a user", prepare: openTap, change: func(l *live) {
		require.NoError(l, unix.IoctlSetInt(int(l.tap.Fd()), unix.TUNSETOWNER, 1234))
		require.NoError(l, unix.IoctlSetInt(int(l.tap.Fd()), unix.TUNSETGROUP, 1235))
	}},
	{name: "bridge port's tap opened", change: func(l *live) { l.ns.OpenTap("t1") }, watched: true},
	{name: "carrier off by netlink", prepare: openTap, change: ip("link set t0 carrier off"), watched: true},
	{
		name: "carrier off by sysfs", prepare: openTap, watched: true, noop: "down",
		change: func(l *live) {
			if l.state == "up" { // EINVAL otherwise.
				l.write("t0/carrier", "0")
			}
		},
	},
	{name: "speed", prepare: openTap, change: command("ethtool", "-s", "t0", "speed", "2500", "duplex", "half"), noop: "down"},
	{
		name: "speed of a lower device", prepare: macvlanOnTap,
		change: command("ethtool", "-s", "t0", "speed", "2500", "duplex", "half"), noop: "down",
	},
	{
		name: "speed of a bridge port", prepare: func(l *live) { l.ns.OpenTap("t1") },
		change: command("ethtool", "-s", "t1", "speed", "25000", "duplex", "full"), noop: "down",
	},

	// Relations.
	{name: "enslaved", change: ip("link set q0 master br1"), watched: true},
	{name: "enslaved elsewhere", change: ip("link set p0 master br1"), watched: true},
	{name: "released", change: ip("link set p0 nomaster"), watched: true},
	{name: "macvlan on top", change: func(l *live) {
		l.ip("link add mv1 link x0 type macvlan", "link set mv1 "+l.state)
	}, watched: true},
	{name: "macvlan's all multicast", change: ip("link set mv0 allmulticast on")},
	{name: "passthru macvlan on top", change: func(l *live) {
		l.ip("link add mv1 link x0 type macvlan mode passthru", "link set mv1 "+l.state)
	}, watched: true},
	{name: "macvtap on top", change: ip("link add mt0 link x0 type macvtap")},
	{name: "macvlan removed", change: ip("link del mv0")},
	{name: "lower device removed", change: ip("link del a0"), watched: true},
	{name: "vxlan moved to another device", watched: true, late: "down", change: ip("link set vx0 type vxlan id 10 dev a1")},

	// Bridges.
	{name: "bridge options", change: ip("link set br0 type bridge forward_delay 900 hello_time 150 max_age 1900 " +
		"ageing_time 20000 priority 4096 group_fwd_mask 8 mcast_snooping 0 mcast_hash_max 512"), watched: true},
	{name: "bridge options by sysfs", change: func(l *live) {
		for file, value := range map[string]string{
			"forward_delay": "900", "ageing_time": "20000", "priority": "4096", "group_fwd_mask": "8",
			"multicast_router": "2", "multicast_querier": "1", "group_addr": "01:80:c2:00:00:0e", "hash_max": "512",
		} {
			l.write("br1/bridge/"+file, value)
		}
	}, watched: true}, // A new priority takes the carrier of a bridge without ports.
	{name: "spanning tree on", change: write("br0/bridge/stp_state", "1"), watched: true},
	{name: "bridge port options", change: ip("link set p0 type bridge_slave hairpin on cost 77 priority 9 learning off " +
		"flood off mcast_flood off isolated on guard on root_block on")},
	{name: "bridge port options by family", change: command("bridge", "link", "set", "dev", "p0", "cost", "78", "hairpin", "on")},
	{name: "bridge port options by sysfs", change: func(l *live) {
		for file, value := range map[string]string{
			"path_cost": "77", "priority": "9", "hairpin_mode": "1", "learning": "0", "isolated": "1",
			"multicast_router": "2", "group_fwd_mask": "0x8", "backup_port": "t1",
		} {
			l.write("p0/brport/"+file, value)
		}
	}},
	{
		name: "backup port renamed", prepare: write("p0/brport/backup_port", "t1"),
		change: ip("link set t1 name renamed"),
	},
	{name: "forwarding entry", change: command("bridge", "fdb", "add", "02:00:00:00:00:77", "dev", "p0", "master", "static"), noop: "both"},

	// Queues.
	{name: "queues added", change: command("ethtool", "-L", "mq0", "rx", "4", "tx", "3"), watched: true},
	{name: "queues removed", change: command("ethtool", "-L", "mq0", "rx", "1", "tx", "1"), watched: true},
	{name: "tap queues added", prepare: func(l *live) {
		l.ip("tuntap add tq mode tap multi_queue", "link set tq "+l.state)
		l.ns.OpenTun("tq", unix.IFF_TAP|unix.IFF_NO_PI|unix.IFF_MULTI_QUEUE)
	}, change: func(l *live) {
		l.ns.OpenTun("tq", unix.IFF_TAP|unix.IFF_NO_PI|unix.IFF_MULTI_QUEUE)
		l.ns.OpenTun("tq", unix.IFF_TAP|unix.IFF_NO_PI|unix.IFF_MULTI_QUEUE)
	}, watched: true},

	// Other namespaces.
	{name: "peer moved away", change: func(l *live) { l.ip("link set x1 netns " + l.other.Path()) }, watched: true},
	{
		name:    "peer's number changed abroad",
		prepare: func(l *live) { l.ip("link set x1 netns " + l.other.Path()) },
		change: func(l *live) {
			third := testns.New(l)
			third.IP(fmt.Sprintf("link add taken index %d type ifb", l.other.Index("x1")))
			l.other.IP("link set x1 netns " + third.Path())
		}, watched: true,
	},
	{name: "moved away", change: func(l *live) { l.ip("link set i0 netns " + l.other.Path()) }},
	{
		name:    "moved back",
		prepare: func(l *live) { l.ip("link set i0 netns " + l.other.Path()) },
		change:  func(l *live) { l.other.IP("link set i0 netns " + l.ns.Path()) },
	},
	{name: "moved away and back", change: func(l *live) {
		l.ip("link set i0 netns " + l.other.Path())
		l.other.IP("link set i0 netns " + l.ns.Path())
	}, watched: true, noop: "down"},
	{name: "upper moved away", change: func(l *live) { l.ip("link set mv0 netns " + l.other.Path()) }, watched: true},
	{
		name:    "upper moved back",
		prepare: func(l *live) { l.ip("link set mv0 netns " + l.other.Path()) },
		change:  func(l *live) { l.other.IP("link set mv0 netns " + l.ns.Path()) }, watched: true,
	},
	{name: "lower moved away", change: func(l *live) { l.ip("link set a0 netns " + l.other.Path()) }, watched: true},
	{name: "other namespace ends", prepare: func(l *live) {
		l.ip("link set x1 netns " + l.other.Path())
	}, change: func(l *live) { l.other.Delete() }, watched: true},

	// Birth and death.
	{name: "ifb added", change: ip("link add n0 type ifb")},
	{name: "veth added", change: ip("link add n0 type veth peer name n1")},
	{name: "multi-queue veth added", change: ip("link add n0 numrxqueues 3 numtxqueues 3 type veth peer name n1"), watched: true},
	{name: "bridge added", change: ip("link add n0 type bridge", "link set n0 up"), watched: true},
	{name: "vxlan added", change: ip("link add n0 type vxlan id 11 dev x0 dstport 4790")},
	{name: "tun added", change: ip("tuntap add n0 mode tun")},
	{name: "tap of a program added", change: func(l *live) { l.ns.OpenTap("n0") }},
	{name: "many added", change: func(l *live) {
		var lines []string
		for i := range 200 {
			lines = append(lines, fmt.Sprintf("link add n%d type ifb", i))
		}
		l.ip(lines...)
	}},
	{name: "removed", change: ip("link del i0")},
	{name: "veth removed", change: ip("link del x0")},
	{name: "bridge removed", change: ip("link del br0"), watched: true},
	{name: "bridge port removed", change: ip("link del p0"), watched: true},
	{
		name: "group removed", prepare: ip("link set i0 group 9", "link set x0 group 9", "link set mv0 group 9"),
		change: command("ip", "link", "del", "group", "9"),
	},
}
