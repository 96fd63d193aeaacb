package testns

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Names that are legal and that careless code trips over.
const (
	oddName     = "we+ird!n"
	utf8Name    = "wé-ñ♥"           // More bytes than characters.
	longestName = "fifteenbyteslng" // IFNAMSIZ - 1.
	longAltname = "an-alternative-name-far-beyond-fifteen-bytes"
	bigIndex    = 1_000_000
)

// Devices names what Zoo made, by the part each plays. "Up" in a field's name
// means administratively up, "Down" means down.
type Devices struct {
	Lo string

	VethUp, VethUpPeer     string // Both up: carrier on both.
	VethHalf, VethHalfPeer string // The peer is down: operstate lowerlayerdown.
	VethDown, VethDownPeer string
	VethQueues             string // 4 queues allocated each way, 3 rx and 2 tx in use; up.
	VethQueuesDown         string // Its peer, one queue each way in use.
	VethAbroad             string // Up, its peer is VethAbroadPeer in the namespace Abroad.
	VethAbroadPeer         string

	Bridge, BridgePort, BridgePortDown string // The bridge is up.
	BridgeEmpty                        string // Down, without ports, options set.

	Macvlan, MacvlanDown, Macvtap, MacvlanLower string
	VxlanOver, VxlanLower, Vxlan                string
	Ifb, IfbDown                                string

	Tun, Tap, TapOwned, TapQueues string // No program attached.
	TapOpen                       string // A program attached, up.
	TapGone                       string // A program attached, then detached; up.

	Odd, UTF8, Longest string
	Alias              string // Alias with a newline inside, two altnames; up.
	BigIndex           string
	Custom             string // Address, broadcast, mtu, queue length, group, promiscuous; down.
	ProtoDown          string // proto_down on, up.

	// Abroad holds VethAbroadPeer.
	Abroad *NS
}

// Zoo fills a namespace with at least one device of every kind that the kernels
// of our CI have without modules, in every state that changes a file. It fails
// where it can't make one: a zoo with empty cages proves nothing.
func Zoo(tb testing.TB, ns *NS) Devices {
	tb.Helper()
	d := Devices{Lo: "lo", Abroad: New(tb)}
	ns.IP("link set lo up")
	d.addVeths(ns)
	d.addBridges(ns)
	d.addStacked(ns)
	d.addTuns(ns)
	d.addOddities(tb, ns)
	return d
}

func (d *Devices) addVeths(ns *NS) {
	d.VethUp, d.VethUpPeer = "ve-up0", "ve-up1"
	d.VethHalf, d.VethHalfPeer = "ve-half0", "ve-half1"
	d.VethDown, d.VethDownPeer = "ve-down0", "ve-down1"
	d.VethQueues, d.VethQueuesDown = "ve-mq0", "ve-mq1"
	d.VethAbroad, d.VethAbroadPeer = "ve-abroad", "ve-home"
	const four = "numrxqueues 4 numtxqueues 4"
	ns.IP(
		veth(d.VethUp, d.VethUpPeer), up(d.VethUp), up(d.VethUpPeer),
		veth(d.VethHalf, d.VethHalfPeer), up(d.VethHalf),
		veth(d.VethDown, d.VethDownPeer),
		fmt.Sprintf("link add %s %s type veth peer name %s %s", d.VethQueues, four, d.VethQueuesDown, four),
		fmt.Sprintf("link add %s type veth peer name %s netns %s", d.VethAbroad, d.VethAbroadPeer, d.Abroad.Path()),
		up(d.VethAbroad),
	)
	ns.Run("ethtool", "-L", d.VethQueues, "rx", "3", "tx", "2")
	ns.Run("ethtool", "-L", d.VethQueuesDown, "rx", "1", "tx", "1")
	ns.IP(up(d.VethQueues))
	d.Abroad.IP(up(d.VethAbroadPeer))
}

func (d *Devices) addBridges(ns *NS) {
	d.Bridge, d.BridgePort, d.BridgePortDown, d.BridgeEmpty = "br-up", "br-p0", "br-p1", "br-empty"
	ns.IP(
		"link add br-up type bridge", up(d.Bridge),
		veth(d.BridgePort, "br-q0"), up("br-q0"), up(d.BridgePort),
		veth(d.BridgePortDown, "br-q1"),
		"link set br-p0 master br-up", "link set br-p1 master br-up",
		"link set br-p0 type bridge_slave hairpin on cost 77",
		"link add br-empty type bridge forward_delay 900 priority 4096 group_fwd_mask 0x8",
	)
	// Not in every kernel: VLAN filtering adds files to both bridges.
	_, _ = ns.Try("ip", "link", "set", d.BridgeEmpty, "type", "bridge", "vlan_filtering", "1", "vlan_default_pvid", "7")
}

func (d *Devices) addStacked(ns *NS) {
	d.MacvlanLower, d.Macvlan, d.MacvlanDown, d.Macvtap = "mv-low", "mv-up", "mv-down", "mt-up"
	d.VxlanLower, d.VxlanOver, d.Vxlan = "vx-low", "vx-over", "vx-free"
	d.Ifb, d.IfbDown, d.ProtoDown = "ifb-up", "ifb-down", "mv-proto"
	ns.IP(
		veth(d.MacvlanLower, "mv-far"), up(d.MacvlanLower), up("mv-far"),
		"link add mv-up link mv-low type macvlan mode bridge", up(d.Macvlan),
		"link add mv-down link mv-low type macvlan mode private",
		"link add mv-proto link mv-low type macvlan mode vepa", up(d.ProtoDown),
		"link set mv-proto protodown on",
		"link add mt-up link mv-low type macvtap mode bridge", up(d.Macvtap),
		veth(d.VxlanLower, "vx-far"), up(d.VxlanLower),
		"link add vx-over type vxlan id 10 dev vx-low dstport 4789", up(d.VxlanOver),
		"link add vx-free type vxlan id 11 dstport 4790 local 127.0.0.1",
		"link add ifb-up numtxqueues 2 type ifb", up(d.Ifb),
		"link add ifb-down type ifb",
	)
}

func (d *Devices) addTuns(ns *NS) {
	d.Tun, d.Tap, d.TapOwned, d.TapQueues = "tun-idle", "tap-idle", "tap-owned", "tap-mq"
	d.TapOpen, d.TapGone = "tap-open", "tap-gone"
	ns.IP(
		"tuntap add tun-idle mode tun", up(d.Tun),
		"tuntap add tap-idle mode tap",
		"tuntap add tap-owned mode tap user 1000 group 1001", up(d.TapOwned),
		"tuntap add tap-mq mode tap multi_queue", up(d.TapQueues),
		"tuntap add tap-open mode tap", up(d.TapOpen),
		"tuntap add tap-gone mode tap", up(d.TapGone),
	)
	ns.OpenTap(d.TapOpen)
	_ = ns.OpenTun(d.TapGone, unix.IFF_TAP|unix.IFF_NO_PI|unix.IFF_VNET_HDR).Close()
}

func (d *Devices) addOddities(tb testing.TB, ns *NS) {
	tb.Helper()
	d.Odd, d.UTF8, d.Longest = oddName, utf8Name, longestName
	d.Alias, d.BigIndex, d.Custom = "al-up", "ix-big", "cu-down"
	if len(d.Longest) != unix.IFNAMSIZ-1 {
		tb.Fatalf("testns: %q is not the longest name", d.Longest)
	}
	ns.IP(
		veth(d.Odd, d.UTF8), up(d.Odd), up(d.UTF8),
		fmt.Sprintf("link add %s type ifb", d.Longest),
		fmt.Sprintf("link add %s index %d type ifb", d.BigIndex, bigIndex),
		veth(d.Alias, "al-far"), up(d.Alias),
		"link property add dev al-up altname al-short altname "+longAltname,
		veth(d.Custom, "cu-far"),
		"link set cu-down mtu 9000 txqueuelen 77 group 7 promisc on",
		"link set cu-down address 02:00:00:00:00:09 broadcast ff:ff:ff:ff:ff:fe",
	)
	// The only value that can hold a newline; a batch line can't.
	ns.Run("ip", "link", "set", d.Alias, "alias", "first line\nsecond line")
}

func veth(a, b string) string {
	return strings.Join([]string{"link add", a, "type veth peer name", b}, " ")
}

func up(name string) string { return "link set " + name + " up" }
