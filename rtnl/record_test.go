package rtnl

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

var update = flag.Bool("update", false, "record testdata from this kernel")

// recordings are runs of whole netlink messages: zoo is a dump of one device of
// each kind, events is what the kernel announced while eventScript ran, modes is
// a dump of the zoo's link modes.
var recordings = []string{"zoo.nlmsg", "events.nlmsg", "modes.nlmsg"}

var eventScript = []string{
	"link add br0 type bridge", "link add v0 type veth peer name v1", "link set v0 master br0",
	"link set v0 up", "link set v1 up", "link set br0 up", "link set v0 type bridge_slave cost 50",
	"link set v0 nomaster", "link set v1 down", "link set v1 name v2", "link del v0", "link del br0",
}

func TestRecordedDumpDecodes(t *testing.T) {
	if *update {
		record(t)
	}
	var b strings.Builder
	for _, l := range recordedLinks(t, newDecoder(), "zoo.nlmsg") {
		fmt.Fprintf(&b, "%+q\n", fmt.Sprintf("%+v", *l))
	}
	golden := filepath.Join("testdata", "zoo.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

func TestRecordedEventsLeaveTheBridgesPortAlive(t *testing.T) {
	var st Stats
	d := newDecoder()
	alive := map[string]uint32{}
	released := false
	for h, data := range messages(recording(t, "events.nlmsg")) {
		c, ok := d.change(h, data, &st)
		if !ok {
			continue
		}
		if h.Type == unix.RTM_DELLINK && data[0] == unix.AF_BRIDGE {
			released = true
			require.Equal(t, netdev.Touched, c.Op)
			require.Equal(t, c.Index, alive["v0"])
		}
		for name, index := range alive {
			if index == c.Index && c.Op != netdev.Touched {
				delete(alive, name)
			}
		}
		if c.Op == netdev.Set {
			alive[c.Link.Name] = c.Index
		}
	}
	require.True(t, released)
	require.Empty(t, alive)
	require.Zero(t, st.Malformed.Load())
}

// record writes the recordings anew.
func record(t *testing.T) {
	t.Helper()
	ns := testns.New(t)
	events := recordEvents(t, ns)
	testns.Zoo(t, ns)
	write(t, "events.nlmsg", events)
	write(t, "zoo.nlmsg", recordDump(t, ns, unix.NETLINK_ROUTE, linkDump()))
	family, err := findEthtool(dialer(ns))
	require.NoError(t, err)
	write(t, "modes.nlmsg", recordDump(t, ns, unix.NETLINK_GENERIC, family.modesRequest(0)))
}

func recordDump(t *testing.T, ns *testns.NS, family int, req netlink.Message) []byte {
	t.Helper()
	sock, err := dialer(ns)(family)
	require.NoError(t, err)
	defer func() { _ = sock.Close() }()
	var all []byte
	_, err = exchange(sock, req, func(h netlink.Header, data []byte) {
		all = append(all, datagram(netlink.Message{Header: h, Data: data})...)
	})
	require.NoError(t, err)
	return all
}

func recordEvents(t *testing.T, ns *testns.NS) []byte {
	t.Helper()
	sock, err := dialer(ns)(unix.NETLINK_ROUTE)
	require.NoError(t, err)
	require.NoError(t, sock.join(unix.RTNLGRP_LINK))
	ns.IP(eventScript...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	defer closeWith(ctx, sock)()
	var all []byte
	for {
		b, err := sock.receive()
		if err != nil {
			return all
		}
		all = append(all, b...)
	}
}

func dialer(ns *testns.NS) func(int) (socket, error) {
	var st Stats
	return func(family int) (socket, error) { return dialKernel(family, ns.Fd(), &st.Foreign) }
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	require.NotEmpty(t, data)
	require.NoError(t, os.WriteFile(filepath.Join("testdata", name), data, 0o644))
}

func recording(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(tb, err)
	return data
}

// recordedData returns the messages of a recording without their headers, those
// of one type unless it is 0.
func recordedData(tb testing.TB, name string, typ netlink.HeaderType) (all [][]byte) {
	tb.Helper()
	for h, data := range messages(recording(tb, name)) {
		if typ == 0 || h.Type == typ {
			all = append(all, data)
		}
	}
	return all
}

func recordedLinks(tb testing.TB, d *decoder, name string) (all []*netdev.Link) {
	tb.Helper()
	for _, data := range recordedData(tb, name, unix.RTM_NEWLINK) {
		l, err := d.link(data)
		require.NoError(tb, err)
		all = append(all, l)
	}
	return all
}

func byName(tb testing.TB, links []*netdev.Link, name string) *netdev.Link {
	tb.Helper()
	i := slices.IndexFunc(links, func(l *netdev.Link) bool { return l.Name == name })
	require.GreaterOrEqual(tb, i, 0, name)
	return links[i]
}
