package silent_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func hasPeer(s *stage) bool    { return s.peer && !s.remote }
func peerAbroad(s *stage) bool { return s.remote }
func isBridge(s *stage) bool   { return s.bridge }
func isPort(s *stage) bool     { return s.port }
func notPort(s *stage) bool    { return !s.port && !s.bridge }
func hasUpper(s *stage) bool   { return s.upper != "" }
func isTun(s *stage) bool      { return s.tun }
func isOpen(s *stage) bool     { return s.tun && s.opens != "" }
func isTap(s *stage) bool      { return s.tun && s.flags&unix.IFF_TAP != 0 }

func overTap(s *stage) bool { return strings.HasPrefix(s.kind, "macvlan over tap") }

// knobs are those that aren't found by looking at the tree. What a device
// refuses is a knob that it doesn't have.
var knobs = slices.Concat(deviceKnobs, relationKnobs, peerKnobs, tunKnobs, bridgeKnobs, portKnobs, ioctlKnobs)

var deviceKnobs = []knob{
	ip("rename", "link set X name r0", "link set r0 name X"),
	ip("mtu", "link set X mtu 1400", "link set X mtu {mtu}"),
	ip("address", "link set X address 02:00:00:00:00:77", "link set X address {address}"),
	ip("broadcast", "link set X broadcast 02:ff:ff:ff:ff:ff", "link set X broadcast {broadcast}"),
	ip("txqueuelen", "link set X txqueuelen 77", "link set X txqueuelen {tx_queue_len}"),
	{
		name: "alias", via: "netlink", turn: lines("ip link set X alias by-netlink"),
		back: func(s *stage) error {
			_, err := s.ns.Try("ip", "link", "set", s.subject(), "alias", "")
			return err
		},
	},
	ip("group", "link set X group 7", "link set X group 0"),
	ip("protodown", "link set X protodown on", "link set X protodown off").slowly(),
	ip("mode dormant", "link set X mode dormant", "link set X mode default").slowly(),
	ip("promisc", "link set X promisc on", "link set X promisc off"),
	ip("allmulticast", "link set X allmulticast on", "link set X allmulticast off"),
	toggle("arp", unix.IFF_NOARP),
	toggle("multicast", unix.IFF_MULTICAST),
	ip("dynamic", "link set X dynamic on", "link set X dynamic off"),
	ip("trailers off", "link set X trailers off", "link set X trailers on"),
	ip("addrgenmode", "link set X addrgenmode none", "link set X addrgenmode eui64"),
	ip("altname", "link property add dev X altname another", "link property del dev X altname another"),
	ip("gso_max_size", "link set X gso_max_size 32768", "link set X gso_max_size 65536"),
	ip("carrier", "link set X carrier off", "link set X carrier on").slowly(),
	ip("state dormant", "link set X state dormant", "link set X state up").slowly(),
	{
		name: "up or down", via: "netlink", slow: true,
		turn: func(s *stage) error {
			if strings.HasSuffix(s.state, "down") {
				return s.ip("link set X up")
			}
			return s.ip("link set X down")
		},
		back: (*stage).restore,
	},
	tool("ethtool -L, fewer", "ethtool -L X rx 3 tx 2", "ethtool -L X rx 4 tx 4"),
	tool("ethtool -L, one", "ethtool -L X rx 1 tx 1", "ethtool -L X rx 4 tx 4"),
	tool("ethtool -K tx", "ethtool -K X tx off", "ethtool -K X tx on"),
	tool("ethtool -K gro", "ethtool -K X gro on", "ethtool -K X gro off"),
	tool("ethtool -K tso", "ethtool -K X tso off", "ethtool -K X tso on"),
	tool("ethtool msglvl", "ethtool -s X msglvl 1", "ethtool -s X msglvl 0"),
	{
		name: "traffic", via: "outside", turn: func(s *stage) error { return traffic(s, s.subject()) },
	},
}

// toggle is a flag that some kinds of device have from the start and others not.
func toggle(name string, bit int64) knob {
	set := func(s *stage, other bool) error {
		flags, _ := strconv.ParseInt(s.was(s.subject(), "flags"), 0, 64)
		on := flags&bit != 0
		if bit == unix.IFF_NOARP {
			on = !on
		}
		if on != other {
			return s.ip("link set X " + name + " on")
		}
		return s.ip("link set X " + name + " off")
	}
	return knob{
		name: name, via: "netlink",
		turn: func(s *stage) error { return set(s, true) },
		back: func(s *stage) error { return set(s, false) },
	}
}

// traffic sends broadcasts out of a device.
func traffic(s *stage, name string) error {
	var err error
	s.ns.Do(func() {
		var fd int
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		defer func() { _ = unix.Close(fd) }()
		frame := append([]byte("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x88\x88\xb5"), make([]byte, 50)...)
		to := &unix.SockaddrLinklayer{Ifindex: int(s.before.index(name)), Protocol: 0xb588}
		for range 3 {
			if err = unix.Sendto(fd, frame, 0, to); err != nil {
				return
			}
		}
	})
	return err
}

// otherBridge is a knob that makes a device the port of a bridge of its own.
func otherBridge(name, device, back string) knob {
	return knob{
		name: name, via: "netlink", slow: true,
		turn: lines("ip link add b9 type bridge", "ip link set b9 up", "ip link set "+device+" master b9"),
		back: func(s *stage) error {
			err := s.ip(back)
			return errors.Join(err, s.ip("link del b9"))
		},
	}
}

// relationKnobs put devices above, below and elsewhere.
var relationKnobs = []knob{
	otherBridge("enslave", "X", "link set X nomaster").when(notPort),
	otherBridge("other master", "X", "link set X master b0").when(isPort),
	ip("release", "link set X nomaster", "link set X master b0").slowly().when(isPort),
	{
		name: "upper deleted", via: "outside", slow: true, applies: hasUpper,
		turn: func(s *stage) error { return s.ip("link del " + s.upper) },
		back: (*stage).remake,
	},
	{
		name: "upper moved away", via: "outside", slow: true, applies: hasUpper,
		turn: func(s *stage) error { return s.ip("link set " + s.upper + " netns AWAY") },
		back: func(s *stage) error {
			if err := s.ip("OTHER link set " + s.upper + " netns AWAY"); err != nil {
				return err
			}
			return s.remake()
		},
	},
	ip("upper renamed", "link set u0 name u1", "link set u1 name u0").outside().when(hasUpper),
	ip("macvlan on top", "link add m9 link X type macvlan mode bridge", "link del m9").outside(),
	ip("macvlan on top, up", "link add m9 link X up type macvlan mode bridge", "link del m9").outside().slowly(),
	ip("vxlan on top", "link add m9 type vxlan id 99 dev X dstport 4999", "link del m9").outside(),
	ip("moved away", "link set X netns AWAY", "OTHER link set X netns AWAY").slowly().remaking(),
}

// peerKnobs turn something of P.
var peerKnobs = []knob{
	{
		name: "peer up or down", via: "outside", slow: true, applies: func(s *stage) bool { return s.peer },
		turn: func(s *stage) error {
			where := ""
			if s.remote {
				where = "OTHER "
			}
			if s.state == "no carrier" || s.state == "both down" {
				return s.ip(where + "link set P up")
			}
			return s.ip(where + "link set P down")
		},
		back: (*stage).restore,
	},
	ip("peer renamed", "link set P name r0", "link set r0 name P").outside().when(hasPeer),
	ip("peer mtu", "link set P mtu 1300", "link set P mtu {P/mtu}").outside().when(hasPeer),
	ip("peer address", "link set P address 02:00:00:00:00:78", "link set P address {P/address}").outside().when(hasPeer),
	ip("peer promisc", "link set P promisc on", "link set P promisc off").outside().when(hasPeer),
	ip("peer dormant", "link set P mode dormant", "link set P mode default").outside().slowly().when(hasPeer),
	ip("peer protodown", "link set P protodown on", "link set P protodown off").outside().slowly().when(hasPeer),
	ip("peer moved away", "link set P netns AWAY", "OTHER link set P netns AWAY").outside().slowly().when(hasPeer).remaking(),
	otherBridge("peer enslaved", "P", "link set P nomaster").outside().when(func(s *stage) bool {
		return hasPeer(s) && !s.bridge
	}),
	ip("peer comes home", "OTHER link set P netns AWAY", "link set P netns AWAY").outside().slowly().when(peerAbroad).remaking(),
	ip("peer abroad renamed", "OTHER link set P name r0", "OTHER link set r0 name P").outside().when(peerAbroad),
	ip("peer abroad mtu", "OTHER link set P mtu 1300", "OTHER link set P mtu 1500").outside().when(peerAbroad),
	tool("speed of tap below", "ethtool -s P speed 100 duplex half", "ethtool -s P speed 10000 duplex full").
		outside().when(func(s *stage) bool { return overTap(s) && !s.remote }),
	tool("speed of tap below, abroad", "OTHER ethtool -s P speed 100 duplex half", "OTHER ethtool -s P speed 10000 duplex full").
		outside().when(func(s *stage) bool { return overTap(s) && s.remote }),
	{
		name: "tap below closed", via: "outside", slow: true,
		applies: func(s *stage) bool { return s.opens == "p0" },
		turn:    (*stage).release,
		back:    func(s *stage) error { return s.attach("p0", s.flags) },
	},
}

func (s *stage) tunIoctl(request uint, value int) error {
	return unix.IoctlSetInt(int(s.held[len(s.held)-1].Fd()), request, value)
}

func tunIoctl(name string, request uint, turn, back int) knob {
	return knob{
		name: name, via: "ioctl", applies: isOpen,
		turn: func(s *stage) error { return s.tunIoctl(request, turn) },
		back: func(s *stage) error { return s.tunIoctl(request, back) },
	}
}

// tunKnobs are what the program of a tun or tap device can do.
var tunKnobs = []knob{
	{
		name: "program attaches", via: "ioctl", slow: true,
		applies: func(s *stage) bool { return s.tun && s.opens == "" },
		turn:    func(s *stage) error { return s.attach("x0", s.flags) },
		back:    (*stage).release,
	},
	{
		name: "program detaches", via: "ioctl", slow: true, applies: isOpen,
		turn: (*stage).release,
		back: func(s *stage) error { return s.attach("x0", s.flags) },
	},
	{
		name: "program attaches with other flags", via: "ioctl", slow: true,
		applies: func(s *stage) bool { return s.tun && s.opens == "" },
		turn:    func(s *stage) error { return s.attach("x0", s.flags|unix.IFF_VNET_HDR) },
		back: func(s *stage) error {
			if err := s.release(); err != nil {
				return err
			}
			if err := s.attach("x0", s.flags); err != nil {
				return err
			}
			return s.release()
		},
	},
	{
		name: "second queue", via: "ioctl",
		applies: func(s *stage) bool { return s.flags == tapQueueFlags },
		turn:    func(s *stage) error { return s.attach("x0", s.flags) },
		back:    (*stage).release,
	},
	tunIoctl("TUNSETOWNER", unix.TUNSETOWNER, 1000, 0),
	tunIoctl("TUNSETGROUP", unix.TUNSETGROUP, 1001, 0),
	tunIoctl("TUNSETLINK", unix.TUNSETLINK, unix.ARPHRD_PPP, unix.ARPHRD_ETHER),
	tunIoctl("TUNSETOFFLOAD", unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4, 0),
	{
		name: "TUNSETCARRIER", via: "ioctl", slow: true, applies: isOpen,
		turn: func(s *stage) error { return s.setCarrier(0) },
		back: func(s *stage) error { return s.setCarrier(1) },
	},
	tool("speed", "ethtool -s X speed 100 duplex half", "ethtool -s X speed 10000 duplex full").when(isTap),
	{
		name: "ETHTOOL_SSET", via: "ioctl", applies: isTun,
		turn: func(s *stage) error { return s.setSpeed(1000, 0) },
		back: func(s *stage) error { return s.setSpeed(10000, 1) },
	},
}

func (s *stage) setCarrier(on int) error {
	return unix.IoctlSetPointerInt(int(s.held[len(s.held)-1].Fd()), unix.TUNSETCARRIER, on)
}

// member keeps a packet socket that wants more of a device's frames: the
// kernel's own way into promiscuity.
func member(name string, kind uint16) knob {
	return knob{
		name: name, via: "outside",
		turn: func(s *stage) error {
			var err error
			s.ns.Do(func() {
				var fd int
				if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
					return
				}
				s.held = append(s.held, os.NewFile(uintptr(fd), name))
				err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
					&unix.PacketMreq{Ifindex: int32(s.before.index(s.subject())), Type: kind})
			})
			return err
		},
		back: (*stage).release,
	}
}
