package silent_test

func hasPort(s *stage) bool { return s.bridge && s.peer }

// option is a bridge's option by netlink, turned back to what its file said.
func option(name, value, file string) knob {
	return ip("bridge "+name, "link set X type bridge "+name+" "+value, "link set X type bridge "+name+" {bridge/"+file+"}").
		when(isBridge)
}

var bridgeKnobs = []knob{
	option("forward_delay", "1000", "forward_delay"),
	option("hello_time", "300", "hello_time"),
	option("max_age", "1000", "max_age"),
	option("ageing_time", "1000", "ageing_time"),
	option("priority", "4096", "priority"),
	option("group_fwd_mask", "8", "group_fwd_mask"),
	option("mcast_router", "2", "multicast_router"),
	option("mcast_snooping", "0", "multicast_snooping"),
	option("mcast_querier", "1", "multicast_querier"),
	option("mcast_hash_max", "1024", "hash_max"),
	option("nf_call_iptables", "1", "nf_call_iptables"),
	option("stp_state", "1", "stp_state").slowly(),
	option("vlan_filtering", "1", "vlan_filtering"),
	{
		name: "port deleted", via: "outside", slow: true, applies: hasPort,
		turn: lines("ip link del P"),
		back: (*stage).remake,
	},
	ip("port released", "link set P nomaster", "link set P master X").outside().slowly().when(hasPort),
	otherBridge("port to other bridge", "P", "link set P master X").outside().when(hasPort),
	{
		name: "port learns", via: "outside", applies: hasPort,
		turn: func(s *stage) error { return traffic(s, "q0") },
	},
}

// slave is a port's option by ip link, and again by bridge link, which asks
// for it in AF_BRIDGE.
func slave(name, value, file string) knob {
	back := "{brport/" + file + "}"
	switch value {
	case "on":
		back = "off"
	case "off":
		back = "on"
	}
	return ip("slave "+name, "link set X type bridge_slave "+name+" "+value, "link set X type bridge_slave "+name+" "+back).
		when(isPort)
}

func bridgeLink(name, value, back string) knob {
	return tool("bridge link "+name, "bridge link set dev X "+name+" "+value, "bridge link set dev X "+name+" "+back).when(isPort)
}

var portKnobs = []knob{
	slave("state", "1", "state").slowly(),
	slave("priority", "8", "priority"),
	slave("cost", "77", "path_cost"),
	slave("guard", "on", "bpdu_guard"),
	slave("hairpin", "on", "hairpin_mode"),
	slave("fastleave", "on", "multicast_fast_leave"),
	slave("root_block", "on", "root_block"),
	slave("learning", "off", "learning"),
	slave("flood", "off", "unicast_flood"),
	slave("proxy_arp", "on", "proxyarp"),
	slave("proxy_arp_wifi", "on", "proxyarp_wifi"),
	slave("mcast_router", "2", "multicast_router"),
	slave("mcast_fast_leave", "on", "multicast_fast_leave"),
	slave("mcast_flood", "off", "multicast_flood"),
	slave("bcast_flood", "off", "broadcast_flood"),
	slave("mcast_to_unicast", "on", "multicast_to_unicast"),
	slave("group_fwd_mask", "8", "group_fwd_mask"),
	slave("neigh_suppress", "on", "neigh_suppress"),
	slave("isolated", "on", "isolated"),
	ip("slave backup_port", "link set X type bridge_slave backup_port y0", "link set X type bridge_slave nobackup_port").when(isPort),
	bridgeLink("state", "1", "3").slowly(),
	bridgeLink("cost", "78", "2"),
	bridgeLink("hairpin", "on", "off"),
	bridgeLink("guard", "on", "off"),
	bridgeLink("isolated", "on", "off"),
	ip("bridge forwards less", "link set b0 type bridge stp_state 1", "link set b0 type bridge stp_state 0").outside().slowly().when(isPort),
	ip("bridge renamed", "link set b0 name b1", "link set b1 name b0").outside().when(isPort),
	ip("bridge down", "link set b0 down", "link set b0 up").outside().slowly().when(isPort),
	ip("other port gone", "link set y0 nomaster", "link set y0 master b0").outside().slowly().when(isPort),
	ip("other port renamed", "link set y0 name y1", "link set y1 name y0").outside().when(isPort),
}
