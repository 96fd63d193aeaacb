package silent_test

import "slices"

// base is a kind of device; each of its states makes a scene.
type base struct {
	scene
	// states maps a state's name to the lines that bring it about.
	states []state
}

type state struct {
	name  string
	lines []string
}

var (
	upOrDown = []state{
		{"up", []string{"link set X up"}},
		{"down", []string{"link set X down"}},
	}
	// withPeer has all that a carrier may depend on.
	withPeer = []state{
		{"up", []string{"link set P up", "link set X up"}},
		{"down", []string{"link set P up", "link set X down"}},
		{"no carrier", []string{"link set P down", "link set X up"}},
		{"both down", []string{"link set P down", "link set X down"}},
	}
)

const (
	addVeth    = "link add X type veth peer name P"
	addMacvlan = "link add u0 link X type macvlan mode bridge"
	upMacvlan  = "link set u0 up"
	addLower   = "link add P type veth peer name q0"
	upFarLower = "link set q0 up"
)

// bases are the kinds that the kernels of our CI have without modules.
var bases = []base{
	{scene{kind: "lo"}, upOrDown},
	{scene{kind: "veth", make: []string{addVeth}, peer: true}, withPeer},
	{scene{
		kind: "veth with queues", peer: true,
		make: []string{"link add X numrxqueues 4 numtxqueues 4 type veth peer name P numrxqueues 4 numtxqueues 4"},
	}, withPeer[:2]},
	{scene{
		kind: "veth, peer abroad", peer: true, remote: true,
		make: []string{"link add X type veth peer name P netns AWAY"},
	}, []state{
		{"up", []string{"OTHER link set P up", "link set X up"}},
		{"down", []string{"OTHER link set P up", "link set X down"}},
	}},
	{scene{kind: "ifb", make: []string{"link add X numtxqueues 2 type ifb"}}, upOrDown},
	{scene{kind: "bridge", bridge: true, peer: true, make: []string{
		"link add X type bridge", addLower, upFarLower,
	}, again: []string{"link set P master X"}}, withPeer[:3]},
	{scene{kind: "bridge without ports", bridge: true, make: []string{"link add X type bridge"}}, upOrDown},
	{scene{kind: "port", port: true, peer: true, upper: "b0", make: []string{
		addVeth, "link add y0 type veth peer name z0", "link set z0 up",
	}, makeUpper: []string{
		"link add b0 type bridge", "link set b0 up", "link set y0 up master b0",
	}, again: []string{"link set X master b0"}}, withPeer[:3]},
	{scene{kind: "macvlan", peer: true, make: []string{
		addLower, upFarLower, "link add X link P type macvlan mode bridge",
	}}, withPeer[:3]},
	{scene{kind: "macvtap", peer: true, make: []string{
		addLower, upFarLower, "link add X link P type macvtap mode bridge",
	}}, withPeer[:2]},
	{scene{kind: "vxlan", peer: true, make: []string{
		addLower, upFarLower, "link add X type vxlan id 5 dev P dstport 4789",
	}}, withPeer[:2]},
	{scene{kind: "vxlan without device", make: []string{
		"link add X type vxlan id 5 local 127.0.0.1 dstport 4789",
	}}, upOrDown},
	{scene{kind: "below macvlan", peer: true, upper: "u0", make: []string{addVeth}, makeUpper: []string{
		addMacvlan, upMacvlan,
	}}, withPeer[:2]},
	{scene{kind: "below vxlan", peer: true, upper: "u0", make: []string{addVeth}, makeUpper: []string{
		"link add u0 type vxlan id 5 dev X dstport 4789", upMacvlan,
	}}, withPeer[:2]},
	{scene{kind: "macvlan over tap", peer: true, opens: "p0", flags: tapFlags, make: []string{
		"tuntap add P mode tap", "link add X link P type macvlan mode bridge",
	}}, withPeer[:2]},
	{scene{kind: "macvlan over tap abroad", peer: true, remote: true, opens: "p0", flags: tapFlags, make: []string{
		"OTHER tuntap add P mode tap", "OTHER link add X link P type macvlan mode bridge", "OTHER link set X netns AWAY",
	}}, []state{
		{"up", []string{"OTHER link set P up", "link set X up"}},
		{"down", []string{"OTHER link set P up", "link set X down"}},
	}},
	// What has no speed of its own takes one from abroad through two devices.
	{scene{kind: "macvlan over tap abroad, port", port: true, peer: true, remote: true, opens: "p0", flags: tapFlags, upper: "b0", make: []string{
		"OTHER tuntap add P mode tap", "OTHER link add X link P type macvlan mode bridge", "OTHER link set X netns AWAY",
		"link add y0 type veth peer name z0",
	}, makeUpper: []string{"link add b0 type bridge", "link set b0 up", "link set y0 master b0"}, again: []string{"link set X master b0"}}, []state{
		{"up", []string{"OTHER link set P up", "link set X up"}},
	}},
	{scene{kind: "tun", tun: true, flags: tunFlags, make: []string{"tuntap add X mode tun"}}, upOrDown},
	{scene{kind: "tap", tun: true, flags: tapFlags, make: []string{"tuntap add X mode tap"}}, upOrDown},
	{scene{
		kind: "tap, attached", tun: true, opens: "x0", flags: tapFlags, make: []string{"tuntap add X mode tap"},
	}, upOrDown},
	{scene{kind: "tun, attached", tun: true, opens: "x0", flags: tunFlags, make: []string{
		"tuntap add X mode tun",
	}}, upOrDown},
	{scene{kind: "tap with queues", tun: true, opens: "x0", flags: tapQueueFlags, make: []string{
		"tuntap add X mode tap multi_queue",
	}}, upOrDown},
	// Speed travels through all three.
	{scene{kind: "bridge over macvlan over tap", tun: true, opens: "x0", flags: tapFlags, upper: "u0", make: []string{
		"tuntap add X mode tap", "link add b0 type bridge", "link set b0 up",
	}, makeUpper: []string{addMacvlan, upMacvlan}, again: []string{"link set u0 master b0"}}, upOrDown},
}

// scenes returns every kind in every state that it has. Bridges and their ports
// have the most knobs, and would keep all others waiting if they weren't shared
// out over two namespaces.
func scenes() []*scene {
	var all []*scene
	for _, b := range bases {
		for _, st := range b.states {
			sc := b.scene
			sc.state, sc.settle = st.name, slices.Concat(sc.again, st.lines)
			if !sc.port && !sc.bridge {
				all = append(all, &sc)
				continue
			}
			for half := 1; half <= 2; half++ {
				one := sc
				one.half = half
				all = append(all, &one)
			}
		}
	}
	return all
}

// sceneNamed returns one scene.
func sceneNamed(name string) *scene {
	for _, sc := range scenes() {
		if sc.name() == name {
			return sc
		}
	}
	return nil
}
