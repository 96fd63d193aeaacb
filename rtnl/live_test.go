package rtnl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

func TestLiveMirrorEqualsSysfs(t *testing.T) {
	ns := testns.New(t)
	testns.Zoo(t, ns)
	s := openLive(t, ns, Options{})
	m := followAsking(t, s)
	<-s.ModesReady()
	// Link-watch announces carrier and operstate up to a second late.
	m.equalsSysfs(ns)
	assert.Zero(t, s.stats.Malformed.Load())
}

func TestLiveHostsHardware(t *testing.T) {
	host := testns.Host(t)
	s := openLive(t, host, Options{})
	m := followAsking(t, s)
	<-s.ModesReady()
	m.equalsSysfs(host)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.links {
		_, err := os.Lstat(filepath.Join("/sys/class/net", l.Name, "device"))
		assert.Equal(t, err == nil, l.HasParent(), l.Name)
	}
}

func TestLiveChanges(t *testing.T) {
	ns := testns.New(t)
	s := openLive(t, ns, Options{})
	m := follow(t, s)
	m.eventually(func() bool { return m.named("lo") != nil }, "lo")

	ns.IP("link add br0 type bridge", "link add v0 type veth peer name v1", "link add v2 type veth peer name v3")
	m.eventually(func() bool {
		return m.named("br0") != nil && m.named("v0") != nil && m.named("v0").Kind == "veth" && m.named("v3") != nil
	}, "created")

	ns.IP("link set v0 mtu 1400", "link set v0 address 02:00:00:00:00:07", "link set br0 up", "link set v0 up", "link set v1 up")
	m.eventually(func() bool {
		l := m.named("v0")
		return l.MTU == 1400 && l.Address == "\x02\x00\x00\x00\x00\x07" && l.Up() && l.Carrier == 1 && m.named("br0").Up()
	}, "changed and up")

	v0, br0 := uint32(ns.Index("v0")), uint32(ns.Index("br0"))
	ns.IP("link set v0 name tmp", "link set v1 name v0", "link set tmp name v1")
	m.eventually(func() bool { return m.named("v1") != nil && m.named("v1").Index == v0 && m.named("v0") != nil }, "swapped names")

	ns.IP("link set v1 master br0")
	m.eventually(func() bool { return m.named("v1").Master == br0 && m.named("v1").Slave == "bridge" }, "enslaved")
	before := m.touches(v0)
	ns.IP("link set v1 type bridge_slave cost 42")
	m.eventually(func() bool { return m.touched[v0] > before }, "port touched")
	before = m.touches(v0)
	ns.IP("link set v1 nomaster")
	m.eventually(func() bool { return m.links[v0] != nil && m.links[v0].Master == 0 && m.links[v0].Slave == "" }, "released")

	ns.IP("link set v1 down", "link del br0")
	m.eventually(func() bool { return !m.named("v1").Up() && m.named("br0") == nil }, "down and deleted")
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Zero(t, m.gone[v0], "a port that leaves its bridge lives on")
	assert.Positive(t, m.gone[br0])
}

func TestLiveSameIfindexIsAnotherDevice(t *testing.T) {
	ns := testns.New(t)
	m := follow(t, openLive(t, ns, Options{}))
	ns.IP("link add one index 77 type ifb")
	m.eventually(func() bool { return m.named("one") != nil }, "first")
	ns.IP("link del one", "link add two index 77 type ifb")
	m.eventually(func() bool { return m.named("two") != nil && m.named("one") == nil && m.gone[77] == 1 }, "second")
	assert.Equal(t, uint32(77), m.named("two").Index)
}

func TestLiveMoveToAnotherNamespaceAndBack(t *testing.T) {
	ns, abroad := testns.New(t), testns.New(t)
	m, there := follow(t, openLive(t, ns, Options{})), follow(t, openLive(t, abroad, Options{}))
	ns.IP("link add low type veth peer name far", "link add mv link low type macvlan")
	m.eventually(func() bool { return m.named("mv") != nil && m.named("mv").Lower == m.named("low").Index }, "macvlan")
	index := uint32(ns.Index("mv"))
	ns.IP("link set mv netns " + abroad.Path())
	m.eventually(func() bool { return m.gone[index] == 1 && m.named("mv") == nil }, "gone here")
	there.eventually(func() bool { l := there.named("mv"); return l != nil && l.Lower == 0 && l.HasLink }, "there, above nothing there")
	abroad.IP("link set mv netns " + ns.Path())
	m.eventually(func() bool { l := m.named("mv"); return l != nil && l.Lower == m.named("low").Index }, "back")
	there.eventually(func() bool { return there.named("mv") == nil }, "gone there")
}

func TestLiveVxlanIsAboveItsLink(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add low type veth peer name far", "link add vx type vxlan id 1 dev low dstport 4789", "link add free type vxlan id 2 dstport 4790")
	m := follow(t, openLive(t, ns, Options{}))
	m.eventually(func() bool { return m.named("vx") != nil && m.named("free") != nil }, "devices")
	assert.Equal(t, uint32(ns.Index("low")), m.named("vx").Lower)
	assert.False(t, m.named("vx").HasLink)
	assert.Zero(t, m.named("free").Lower)
	assert.Zero(t, m.named("low").Lower)
	assert.True(t, m.named("low").HasLink)
}

func TestLiveSpeedSetByEthtool(t *testing.T) {
	ns := testns.New(t)
	ns.IP("tuntap add tap0 mode tap", "link set tap0 up", "link add br0 type bridge", "link set tap0 master br0", "link set br0 up")
	ns.OpenTap("tap0")
	s := openLive(t, ns, Options{})
	m := followAsking(t, s)
	<-s.ModesReady()
	tap, br := uint32(ns.Index("tap0")), uint32(ns.Index("br0"))
	m.equalsSysfs(ns)
	m.eventually(func() bool { return m.modes[tap].Speed == 10000 && m.modes[br].Speed == 10000 }, "before")

	before := m.touches(tap)
	ns.Run("ethtool", "-s", "tap0", "speed", "100", "duplex", "half")
	m.eventually(func() bool { return m.touched[tap] > before }, "told of it")
	m.eventually(func() bool {
		return m.modes[tap] == netdev.Modes{Speed: 100, Duplex: 0, State: netdev.ModesKnown} && m.modes[br].Speed == 100
	}, "the tap and what is above it")
	m.equalsSysfs(ns)
}

func TestLiveOverflowIsMadeUpFor(t *testing.T) {
	ns := testns.New(t)
	s := openLive(t, ns, Options{ReadBuffer: 1})
	m := follow(t, s)
	m.eventually(func() bool { return len(m.batches) > 0 }, "started")
	m.gate.Lock()
	ns.IP(lines(300, "link add o%d group 7 type ifb")...)
	ns.IP("link del group 7")
	ns.IP(lines(300, "link add p%d type ifb")...)
	m.gate.Unlock()
	// A name that was used before, by a device that may have been missed.
	ns.IP("link del p5", "link add p5 type ifb", "link set p6 mtu 1300")
	m.equalsKernel(ns)
	assert.Positive(t, s.stats.Overflows.Load())
	assert.Positive(t, s.stats.Resyncs.Load())
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.fulls()[1:] {
		assert.True(t, b.Recheck)
	}
}

func TestLiveStartUnderChurn(t *testing.T) {
	ns := testns.New(t)
	ns.IP(lines(200, "link add stay%d type ifb")...)
	ctx, cancel := context.WithCancel(t.Context())
	var churn sync.WaitGroup
	churn.Go(func() {
		for ctx.Err() == nil {
			batch := append(lines(40, "link add c%d type ifb"), lines(40, "link set c%d name d%[1]d")...)
			batch = append(batch, lines(40, "link set d%d mtu 1400")...)
			ns.IP(append(batch, lines(40, "link del d%d")...)...)
		}
	})
	defer churn.Wait()
	defer cancel()
	for range 10 {
		s := openLive(t, ns, Options{})
		m := follow(t, s)
		m.eventually(func() bool { return len(m.batches) > 20 }, "batches under churn")
		m.mu.Lock()
		first := netdev.Batch{}
		if len(m.batches) > 0 {
			first = m.batches[0]
		}
		stay, names := 0, map[string]bool{}
		for _, c := range first.Changes {
			if c.Op == netdev.Set {
				assert.False(t, names[c.Link.Name], "two are %s", c.Link.Name)
				names[c.Link.Name] = true
				if strings.HasPrefix(c.Link.Name, "stay") {
					stay++
				}
			}
		}
		m.mu.Unlock()
		assert.Equal(t, 200, stay)
		m.stop()
	}
	s := openLive(t, ns, Options{})
	m := follow(t, s)
	cancel()
	churn.Wait()
	m.equalsKernel(ns)
	assert.Zero(t, s.stats.Overflows.Load())
}

func TestLiveMessagesOfOthersAreIgnored(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add victim type ifb")
	s := openLive(t, ns, Options{})
	m := follow(t, s)
	m.eventually(func() bool { return m.named("victim") != nil }, "victim")
	forged := datagram(delLink(uint32(ns.Index("victim"))))
	var err error
	ns.Do(func() { err = multicast(forged) })
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.stats.Foreign.Load() > 0 }, patience, time.Millisecond)
	ns.IP("link add later type ifb")
	m.eventually(func() bool { return m.named("later") != nil }, "later")
	assert.NotNil(t, m.named("victim"))
	assert.Zero(t, s.stats.DelLink.Load())
}

func TestLiveReadBufferIsLogged(t *testing.T) {
	ns := testns.New(t)
	var log syncBuffer
	s := openLive(t, ns, Options{ReadBuffer: 1 << 20, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	m := follow(t, s)
	m.eventually(func() bool { return len(m.batches) > 0 }, "started")
	assert.Equal(t, int64(2<<20), s.stats.ReadBuffer.Load(), "the kernel doubles it")
	assert.Equal(t, 1, strings.Count(log.String(), "receive buffer"))
	assert.Contains(t, log.String(), "level=DEBUG", "it is what was wanted")
}

func TestLiveBarrierNeedsNoPrivilegesAndHoldsTheOrder(t *testing.T) {
	ns := testns.New(t)
	s := openLive(t, ns, Options{})
	q := newQueue()
	sub, err := s.subscribe(q)
	require.NoError(t, err)
	defer sub.close()
	for i := range 50 {
		ns.IP(fmt.Sprintf("link add b%d type ifb", i), fmt.Sprintf("link set b%d name c%[1]d", i))
		require.NoError(t, sub.barrier(t.Context()))
		last := ""
		for _, c := range q.take().changes {
			last = c.Link.Name
		}
		require.Equal(t, fmt.Sprintf("c%d", i), last)
	}
}

func BenchmarkLive(b *testing.B) {
	count, _ := strconv.Atoi(os.Getenv("RTNL_DEVICES"))
	if count == 0 {
		b.Skip("RTNL_DEVICES says how many to make")
	}
	ns := testns.New(b)
	ns.IP(lines(count/2, "link add v%d type veth peer name w%[1]d")...)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(Options{NetNS: ns.Fd()})
		require.NoError(b, err)
		start := time.Now()
		for batch, err := range s.Batches(b.Context()) {
			require.NoError(b, err)
			if batch.Full {
				b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-to-links")
			}
			if s.stats.ModesDumps.Load() > 0 && len(batch.Changes)%modesChunk != 0 && !batch.Full {
				b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-to-modes")
				break
			}
		}
	}
}

func BenchmarkLiveAsk(b *testing.B) {
	ns := testns.New(b)
	ns.IP("link add v0 type veth peer name v1", "link set v0 up")
	s, err := Open(Options{NetNS: ns.Fd()})
	require.NoError(b, err)
	w := &answerer{Source: s, queue: newQueue()}
	defer w.hangUp()
	index := uint32(ns.Index("v0"))
	for b.Loop() {
		if err := w.askOne(b.Context(), index); err != nil {
			b.Fatal(err)
		}
	}
}

// multicast sends to RTNLGRP_LINK as any program with CAP_NET_ADMIN can.
func multicast(b []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (unix.RTNLGRP_LINK - 1)})
}

func openLive(t *testing.T, ns *testns.NS, o Options) *Source {
	t.Helper()
	o.NetNS = ns.Fd()
	s, err := Open(o)
	require.NoError(t, err)
	return s
}

// lines formats a line for each of n numbers.
func lines(n int, format string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return all
}

func (m *mirror) touches(index uint32) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.touched[index]
}

// equalsKernel waits until the mirror has what a dump has now.
func (m *mirror) equalsKernel(ns *testns.NS) {
	m.t.Helper()
	want := openLive(m.t, ns, Options{})
	var diff string
	require.Eventually(m.t, func() bool {
		c := newCollection()
		if _, err := want.dumpOnce(m.t.Context(), c); err != nil {
			diff = err.Error()
			return false
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		diff = ""
		for _, l := range c.links {
			if got := m.links[l.Index]; got == nil || *got != *l {
				diff += fmt.Sprintf("%+v\nbut have %+v\n", l, got)
			}
		}
		if len(m.links) != len(c.links) {
			diff += fmt.Sprintf("have %d, want %d", len(m.links), len(c.links))
		}
		return diff == ""
	}, patience, 20*time.Millisecond)
	require.Empty(m.t, diff)
}

// equalsSysfs waits until each mirrored file of each device has the text, or the
// error, that the kernel's own has.
func (m *mirror) equalsSysfs(ns *testns.NS) {
	m.t.Helper()
	sysfs := filepath.Join(ns.Sysfs(), "class/net")
	var diff []string
	compare := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		diff = nil
		entries, err := os.ReadDir(sysfs)
		if err != nil || len(entries) != len(m.links) {
			diff = append(diff, fmt.Sprintf("%d devices, want %d: %v", len(m.links), len(entries), err))
		}
		for _, l := range m.links {
			v := &attr.Values{Link: l, Modes: m.modes[l.Index]}
			diff = append(diff, differences(filepath.Join(sysfs, l.Name), v)...)
		}
		return len(diff) == 0
	}
	for deadline := time.Now().Add(3 * time.Second); !compare() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	require.Empty(m.t, diff)
}

func differences(dir string, v *attr.Values) (all []string) {
	for i := range attr.Rows {
		r := &attr.Rows[i]
		if r.Show == nil || r.ClassOf(v.Link) != attr.Mirrored {
			continue
		}
		want, wantErr := os.ReadFile(filepath.Join(dir, r.Path))
		if errors.Is(wantErr, os.ErrNotExist) {
			continue // Not in this kernel.
		}
		got, gotErr := r.Show(nil, v)
		if string(got) != string(want) || gotErr != nil != (wantErr != nil) || gotErr != nil && !errors.Is(wantErr, gotErr) {
			all = append(all, fmt.Sprintf("%s %s: %q %v, want %q %v", v.Link.Name, r.Path, got, gotErr, want, wantErr))
		}
	}
	return all
}
