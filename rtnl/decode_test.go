package rtnl

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestDecodeLink(t *testing.T) {
	mac := netlink.Attribute{Type: unix.IFLA_ADDRESS, Data: []byte{2, 0, 0, 0, 0, 1}}
	brd := netlink.Attribute{Type: unix.IFLA_BROADCAST, Data: []byte{255, 255, 255, 255, 255, 255}}
	base := netdev.Link{Name: "a", Index: 7, Type: unix.ARPHRD_ETHER, Flags: unix.IFF_UP}
	for _, test := range []struct {
		name  string
		attrs []netlink.Attribute
		want  func(l *netdev.Link)
	}{
		{"only a name", nil, func(*netdev.Link) {}},
		{"addresses", []netlink.Attribute{mac, brd}, func(l *netdev.Link) {
			l.Address, l.Broadcast = "\x02\x00\x00\x00\x00\x01", "\xff\xff\xff\xff\xff\xff"
		}},
		{"unknown attribute", []netlink.Attribute{u32(999, 1)}, func(*netdev.Link) {}},
		{"number too short", []netlink.Attribute{{Type: unix.IFLA_MTU, Data: []byte{1, 2, 3}}}, func(*netdev.Link) {}},
		{"empty attributes", []netlink.Attribute{
			{Type: unix.IFLA_MTU}, {Type: unix.IFLA_LINKINFO}, {Type: unix.IFLA_LINK}, {Type: unix.IFLA_ADDRESS}, {Type: unix.IFLA_OPERSTATE},
		}, func(*netdev.Link) {}},
		{"port", []netlink.Attribute{
			u32(unix.IFLA_MASTER, 3),
			nest(unix.IFLA_LINKINFO, str(unix.IFLA_INFO_KIND, "veth"), str(unix.IFLA_INFO_SLAVE_KIND, "bridge")),
		}, func(l *netdev.Link) { l.Master, l.Kind, l.Slave = 3, "veth", "bridge" }},
		{"hardware", []netlink.Attribute{
			str(unix.IFLA_PARENT_DEV_NAME, "0000:00:03.0"), str(unix.IFLA_PARENT_DEV_BUS_NAME, "pci"),
		}, func(l *netdev.Link) { l.More = &netdev.More{ParentName: "0000:00:03.0", ParentBus: "pci"} }},
		{"the last of two", []netlink.Attribute{u32(unix.IFLA_MTU, 1), u32(unix.IFLA_MTU, 2)}, func(l *netdev.Link) { l.MTU = 2 }},
	} {
		want := base
		test.want(&want)
		got, err := newDecoder().link(newLink(7, "a", test.attrs...).Data)
		require.NoError(t, err, test.name)
		assert.Equal(t, &want, got, test.name)
	}
}

func TestDecodeLower(t *testing.T) {
	link, abroad := u32(unix.IFLA_LINK, 5), u32(unix.IFLA_LINK_NETNSID, 0)
	vxlan := kind("vxlan", u32(unix.IFLA_VXLAN_ID, 9), u32(unix.IFLA_VXLAN_LINK, 6))
	for _, test := range []struct {
		name    string
		attrs   []netlink.Attribute
		lower   uint32
		hasLink bool
	}{
		{"macvlan", []netlink.Attribute{link, kind("macvlan")}, 5, true},
		{"kind first", []netlink.Attribute{kind("macvtap"), link}, 5, true},
		{"vlan", []netlink.Attribute{link, kind("vlan")}, 5, true},
		{"ipvlan", []netlink.Attribute{link, kind("ipvlan")}, 5, true},
		{"ipvtap", []netlink.Attribute{link, kind("ipvtap")}, 5, true},
		{"macsec", []netlink.Attribute{link, kind("macsec")}, 5, true},
		{"macvlan above another namespace", []netlink.Attribute{link, abroad, kind("macvlan")}, 0, true},
		{"veth", []netlink.Attribute{link, kind("veth")}, 0, true},
		{"kind of tomorrow", []netlink.Attribute{link, kind("tomorrow")}, 0, true},
		{"no kind", []netlink.Attribute{link}, 0, true},
		{"tunnel above nothing", []netlink.Attribute{u32(unix.IFLA_LINK, 0), kind("ipip")}, 0, true},
		{"vxlan", []netlink.Attribute{vxlan}, 6, false},
		{"vxlan above nothing", []netlink.Attribute{kind("vxlan", u32(unix.IFLA_VXLAN_ID, 9))}, 0, false},
		{"vxlan above another namespace", []netlink.Attribute{vxlan, abroad}, 0, false},
		{"bridge with such an option", []netlink.Attribute{kind("bridge", u32(unix.IFLA_VXLAN_LINK, 6))}, 0, false},
	} {
		l, err := newDecoder().link(newLink(7, "a", test.attrs...).Data)
		require.NoError(t, err, test.name)
		assert.Equal(t, test.lower, l.Lower, test.name)
		assert.Equal(t, test.hasLink, l.HasLink, test.name)
	}
}

func TestDecodeRefusesWhatIsNoDevice(t *testing.T) {
	good := newLink(7, "a", u32(unix.IFLA_MTU, 1500)).Data
	negative := append([]byte(nil), good...)
	binary.NativeEndian.PutUint32(negative[4:], 1<<31)
	for name, data := range map[string][]byte{
		"nothing":             nil,
		"header cut":          good[:15],
		"attribute cut":       good[:len(good)-2],
		"attribute of size 3": append(append([]byte(nil), good...), 3, 0, 1, 0),
		"no name":             linkMessage(unix.RTM_NEWLINK, 0, 7).Data,
		"empty name":          newLink(7, "").Data,
		"ifindex 0":           newLink(0, "a").Data,
		"negative ifindex":    negative,
	} {
		_, err := newDecoder().link(data)
		assert.ErrorIs(t, err, errMalformed, name)
	}
}

func TestChange(t *testing.T) {
	for _, test := range []struct {
		name string
		msg  netlink.Message
		want netdev.Op
		ok   bool
	}{
		{"new", newLink(7, "a"), netdev.Set, true},
		{"gone", delLink(7), netdev.Gone, true},
		{"moved away", linkMessage(unix.RTM_DELLINK, 0, 7, u32(unix.IFLA_NEW_NETNSID, 1), u32(unix.IFLA_NEW_IFINDEX, 9)), netdev.Gone, true},
		{"port changed", linkMessage(unix.RTM_NEWLINK, unix.AF_BRIDGE, 7, str(unix.IFLA_IFNAME, "a")), netdev.Touched, true},
		{"port left its bridge", linkMessage(unix.RTM_DELLINK, unix.AF_BRIDGE, 7, str(unix.IFLA_IFNAME, "a")), netdev.Touched, true},
		{"wireless event", newLink(7, "a", netlink.Attribute{Type: unix.IFLA_WIRELESS, Data: []byte{1}}), netdev.Touched, true},
		{"IPv6's view", linkMessage(unix.RTM_NEWLINK, unix.AF_INET6, 7, str(unix.IFLA_IFNAME, "a")), 0, false},
		{"IPv6 left", linkMessage(unix.RTM_DELLINK, unix.AF_INET6, 7), 0, false},
		{"another message", linkMessage(unix.RTM_NEWADDR, 0, 7), 0, false},
		{"bridge's address", linkMessage(unix.RTM_NEWNEIGH, unix.AF_BRIDGE, 7), 0, false},
		{"too short", netlink.Message{Header: netlink.Header{Type: unix.RTM_DELLINK}, Data: make([]byte, 15)}, 0, false},
		{"malformed", newLink(7, ""), 0, false},
	} {
		var st Stats
		c, ok := newDecoder().change(test.msg.Header, test.msg.Data, &st)
		assert.Equal(t, test.ok, ok, test.name)
		if ok {
			assert.Equal(t, test.want, c.Op, test.name)
			assert.Equal(t, uint32(7), c.Index, test.name)
		}
	}
}

func TestRepeatedStringsAreShared(t *testing.T) {
	d := newDecoder()
	links := recordedLinks(t, d, "zoo.nlmsg")
	a, b := byName(t, links, "ve-up0"), byName(t, links, "ve-up1")
	assert.Same(t, unsafe.StringData(a.Kind), unsafe.StringData(b.Kind))
	assert.Same(t, unsafe.StringData(string(a.Broadcast)), unsafe.StringData(string(b.Broadcast)))
	p, q := byName(t, links, "br-p0"), byName(t, links, "br-p1")
	assert.Same(t, unsafe.StringData(p.Slave), unsafe.StringData(q.Slave))
}

func TestLinkAllocatesItsNameAndAddressOnly(t *testing.T) {
	d := newDecoder()
	for _, data := range recordedData(t, "zoo.nlmsg", unix.RTM_NEWLINK) {
		l, err := d.link(data)
		require.NoError(t, err)
		want := 2.0 // The Link and its name.
		if l.Address != "" {
			want++
		}
		if l.Alias != "" {
			want++
		}
		assert.LessOrEqual(t, testing.AllocsPerRun(20, func() { _, _ = d.link(data) }), want, l.Name)
	}
}

func TestInternerIsBounded(t *testing.T) {
	var n interner
	for i := range 3 * internLimit {
		n.of(binary.NativeEndian.AppendUint32(nil, uint32(i)))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	assert.LessOrEqual(t, len(n.strings), internLimit)
}

func FuzzDecode(f *testing.F) {
	for _, name := range recordings {
		for _, data := range recordedData(f, name, 0) {
			f.Add(data)
		}
	}
	d := newDecoder()
	f.Fuzz(func(t *testing.T, data []byte) {
		var st Stats
		for _, typ := range []netlink.HeaderType{unix.RTM_NEWLINK, unix.RTM_DELLINK} {
			c, ok := d.change(netlink.Header{Type: typ}, data, &st)
			if ok && c.Op == netdev.Set && (c.Link.Name == "" || c.Link.Index != c.Index || int32(c.Index) <= 0) {
				t.Errorf("%+v", c)
			}
		}
		decodeModes(data)
		decodeFamily(data)
		for range messages(data) {
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	d := newDecoder()
	for _, name := range []string{"ve-up0", "br-up", "br-p0", "mv-up"} {
		b.Run(name, func(b *testing.B) {
			var data []byte
			for _, m := range recordedData(b, "zoo.nlmsg", unix.RTM_NEWLINK) {
				if l, err := d.link(m); err == nil && l.Name == name {
					data = m
				}
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.link(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
