package attr

import "io/fs"

// statistics are the 24 words of struct rtnl_link_stats64 that have a file.
// Counters move without a word; nothing but reading them tells.
var statistics = liveIn("statistics/", 0o444, "unsigned decimal",
	"collisions", "multicast",
	"rx_bytes", "rx_compressed", "rx_crc_errors", "rx_dropped", "rx_errors", "rx_fifo_errors",
	"rx_frame_errors", "rx_length_errors", "rx_missed_errors", "rx_nohandler", "rx_over_errors", "rx_packets",
	"tx_aborted_errors", "tx_bytes", "tx_carrier_errors", "tx_compressed", "tx_dropped", "tx_errors",
	"tx_fifo_errors", "tx_heartbeat_errors", "tx_packets", "tx_window_errors")

// queueRows: three files of a transmit queue are answered under RTNL.
var queueRows = concat(
	liveIn("queues/rx-*/", 0o644, "CPU bitmap in hexadecimal", "rps_cpus"),
	liveIn("queues/rx-*/", 0o644, "decimal", "rps_flow_cnt"),
	liveIn("queues/tx-*/", 0o444, "decimal", "tx_timeout"),
	liveIn("queues/tx-*/", 0o644, "decimal Mb/s", "tx_maxrate"),
	waitsIn("queues/tx-*/", 0o444, "decimal", "traffic_class"),
	waitsIn("queues/tx-*/", 0o644, "bitmap in hexadecimal", "xps_cpus", "xps_rxqs"),
	liveIn("queues/tx-*/byte_queue_limits/", 0o644, "decimal",
		"hold_time", "limit", "limit_max", "limit_min", "stall_max", "stall_thrs"),
	liveIn("queues/tx-*/byte_queue_limits/", 0o444, "decimal", "inflight", "stall_cnt"),
)

var powerRows = concat(
	liveIn("power/", 0o644, "word", "control", "async"),
	liveIn("power/", 0o644, "decimal ms; EIO without runtime PM", "autosuspend_delay_ms"),
	liveIn("power/", 0o444, "decimal or word",
		"runtime_active_kids", "runtime_active_time", "runtime_enabled", "runtime_status",
		"runtime_suspended_time", "runtime_usage"),
)

// bridgeRows: only a bridge that is UP announces its options, and never what
// the spanning tree does to it.
var bridgeRows = concat(
	liveIn("bridge/", 0o644, "decimal, hexadecimal for masks, 1/100 s for times",
		"ageing_time", "default_pvid", "forward_delay", "group_addr", "group_fwd_mask", "hash_elasticity", "hash_max",
		"hello_time", "max_age", "multicast_igmp_version", "multicast_last_member_count",
		"multicast_last_member_interval", "multicast_membership_interval", "multicast_mld_version",
		"multicast_querier", "multicast_querier_interval", "multicast_query_interval",
		"multicast_query_response_interval", "multicast_query_use_ifaddr", "multicast_router", "multicast_snooping",
		"multicast_startup_query_count", "multicast_startup_query_interval", "multicast_stats_enabled",
		"nf_call_arptables", "nf_call_ip6tables", "nf_call_iptables", "no_linklocal_learn", "priority", "stp_state",
		"vlan_filtering", "vlan_protocol", "vlan_stats_enabled", "vlan_stats_per_port"),
	liveIn("bridge/", 0o444, "decimal, 1/100 s for timers",
		"bridge_id", "gc_timer", "hello_timer", "root_id", "root_path_cost", "root_port", "tcn_timer",
		"topology_change", "topology_change_detected", "topology_change_timer"),
	liveIn("bridge/", 0o200, "write only", "flush"),
	liveIn("", 0o444, "binary: 16 bytes a forwarding entry", "brforward"),
)

var portRows = concat(
	liveIn("brport/", 0o644, "decimal, hexadecimal for masks",
		"backup_port", "bpdu_guard", "broadcast_flood", "group_fwd_mask", "hairpin_mode", "isolated", "learning",
		"multicast_fast_leave", "multicast_flood", "multicast_router", "multicast_to_unicast", "neigh_suppress",
		"path_cost", "priority", "proxyarp", "proxyarp_wifi", "root_block", "unicast_flood"),
	liveIn("brport/", 0o444, "decimal, 1/100 s for timers",
		"change_ack", "config_pending", "designated_bridge", "designated_cost", "designated_port",
		"designated_root", "forward_delay_timer", "hold_timer", "message_age_timer", "port_id", "port_no", "state"),
	liveIn("brport/", 0o200, "write only", "flush"),
)

var tunRows = concat(
	liveIn("", 0o444, "decimal, -1 for none", "owner", "group"),
	liveIn("", 0o444, "hexadecimal with 0x", "tun_flags"),
)

// bondRows stand here so that their paths are shared between bonds. What
// bonding does when a file of it is read was not tested: they may wait.
var bondRows = concat(
	waitsIn("bonding/", 0o644, "word and number, or list",
		"active_slave", "ad_actor_sys_prio", "ad_actor_system", "ad_select", "ad_user_port_key", "all_slaves_active",
		"arp_all_targets", "arp_interval", "arp_ip_target", "arp_missed_max", "arp_validate", "downdelay",
		"fail_over_mac", "lacp_active", "lacp_rate", "lp_interval", "miimon", "min_links", "mode", "num_grat_arp",
		"num_unsol_na", "packets_per_slave", "peer_notif_delay", "primary", "primary_reselect", "queue_id",
		"resend_igmp", "slaves", "tlb_dynamic_lb", "updelay", "use_carrier", "xmit_hash_policy"),
	waitsIn("bonding/", 0o444, "word or number",
		"ad_actor_key", "ad_aggregator", "ad_num_ports", "ad_partner_key", "ad_partner_mac", "mii_status"),
	waitsIn("bonding_slave/", 0o444, "word or number",
		"ad_actor_oper_port_state", "ad_aggregator_id", "ad_partner_oper_port_state", "link_failure_count",
		"mii_status", "perm_hwaddr", "queue_id", "state"),
)

func liveIn(dir string, mode fs.FileMode, format string, names ...string) []Row {
	return rowsIn(dir, mode, Live, "the kernel's file", format, names)
}

func waitsIn(dir string, mode fs.FileMode, format string, names ...string) []Row {
	return rowsIn(dir, mode, Waits, "the kernel's file, which may take RTNL", format, names)
}

func rowsIn(dir string, mode fs.FileMode, c Class, source, format string, names []string) []Row {
	rows := make([]Row, 0, len(names))
	for _, n := range names {
		rows = append(rows, Row{Path: dir + n, Mode: mode, Class: c, Source: source, Format: format})
	}
	return rows
}

// NeedsQueues reports that the kernel answers ENOENT, without asking anything,
// for a file of a transmit queue where the device has only one.
func NeedsQueues(name string) bool { return name == "xps_cpus" || name == "traffic_class" }
