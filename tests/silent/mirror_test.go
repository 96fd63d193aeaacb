package silent_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

// heard says which announcements named a device.
type heard struct {
	link    int // RTM_NEWLINK or RTM_DELLINK of family 0
	bridge  int // the same of AF_BRIDGE
	ethtool int // a notification of ethtool's monitor group
}

func (h heard) any() bool { return h != heard{} }

// view is what could be known of a namespace without reading sysfs.
type view struct {
	links map[uint32]*netdev.Link
	modes map[uint32]netdev.Modes
	heard map[uint32]heard // since the last reset
}

// mirror keeps a view by the announcements alone, as a source must: it dumps
// once, asks ethtool only because of an announcement, and reads no file.
type mirror struct {
	t        testing.TB
	route    *netlink.Conn // listens
	ask      *netlink.Conn // dumps
	monitor  *genetlink.Conn
	ethtool  *genetlink.Conn // asks for link modes
	family   uint16
	decoders map[uint16]func(*netdev.Link, []byte)

	listeners, wg sync.WaitGroup

	// asked wakes the goroutine that asks ethtool. It isn't the one that listens,
	// which must not wait for RTNL.
	asked chan struct{}
	// drained gets a word for each acknowledgement that barrier asked for.
	drained chan struct{}

	mu   sync.Mutex
	now  view
	last time.Time
	lost error
	// todo are the devices to ask about; asking says that an answer is awaited.
	todo   map[uint32]bool
	asking bool
}

func newMirror(t testing.TB, ns *testns.NS) *mirror {
	t.Helper()
	m := &mirror{t: t, decoders: attr.Decoders(), asked: make(chan struct{}, 1), drained: make(chan struct{}, 2), todo: map[uint32]bool{}}
	m.now = view{links: map[uint32]*netdev.Link{}, modes: map[uint32]netdev.Modes{}, heard: map[uint32]heard{}}
	config := &netlink.Config{NetNS: ns.Fd()}
	m.route, m.ask = m.dial(config), m.dial(config)
	m.check(m.route.JoinGroup(unix.RTNLGRP_LINK))
	m.dialEthtool(config)
	m.listeners.Go(m.listenRoute)
	m.listeners.Go(m.listenEthtool)
	m.wg.Go(m.askAll)
	t.Cleanup(func() {
		_, _, _, _ = m.route.Close(), m.monitor.Close(), m.ask.Close(), m.ethtool.Close()
		m.listeners.Wait() // Only they write to asked.
		close(m.asked)
		m.wg.Wait()
	})
	return m
}

func (m *mirror) dial(config *netlink.Config) *netlink.Conn {
	m.t.Helper()
	c, err := netlink.Dial(unix.NETLINK_ROUTE, config)
	m.check(err)
	_ = c.SetReadBuffer(1 << 22)
	return c
}

func (m *mirror) dialEthtool(config *netlink.Config) {
	m.t.Helper()
	var err error
	m.monitor, err = genetlink.Dial(config)
	m.check(err)
	m.ethtool, err = genetlink.Dial(config)
	m.check(err)
	family, err := m.ethtool.GetFamily("ethtool")
	m.check(err)
	m.family = family.ID
	for _, g := range family.Groups {
		if g.Name == "monitor" {
			m.check(m.monitor.JoinGroup(g.ID))
			return
		}
	}
	m.t.Fatal("silent: ethtool has no monitor group")
}

func (m *mirror) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("silent: netlink: %v", err)
	}
}

// view returns what is known now.
func (m *mirror) view() view {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		m.t.Errorf("silent: announcements were lost: %v", m.lost)
		m.lost = nil
	}
	return view{maps.Clone(m.now.links), maps.Clone(m.now.modes), maps.Clone(m.now.heard)}
}

// reset forgets what was heard, not what is known.
func (m *mirror) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.heard = map[uint32]heard{}
}

// barrier waits until all that was announced so far is taken in: the kernel's
// acknowledgement of a request that does nothing queues up behind it.
func (m *mirror) barrier() {
	const flags = netlink.Request | netlink.Acknowledge
	_, err := m.route.Send(netlink.Message{Header: netlink.Header{Type: netlink.Noop, Flags: flags}})
	m.check(err)
	_, err = m.monitor.Send(genetlink.Message{}, uint16(netlink.Noop), flags)
	m.check(err)
	for range 2 {
		select {
		case <-m.drained:
		case <-time.After(10 * time.Second):
			m.t.Fatal("silent: netlink doesn't answer")
		}
	}
}

// quiet waits until least has passed and nothing was announced for a while.
func (m *mirror) quiet(least, silence time.Duration) {
	m.t.Helper()
	time.Sleep(least)
	for {
		m.barrier()
		m.mu.Lock()
		left := silence - time.Since(m.last)
		if m.asking || len(m.todo) > 0 {
			left = max(left, time.Millisecond)
		}
		m.mu.Unlock()
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}

// dump replaces what is known by what the kernel says of all devices.
func (m *mirror) dump() {
	m.t.Helper()
	request := netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETLINK, Flags: netlink.Request | netlink.Dump},
		Data:   make([]byte, unix.SizeofIfInfomsg),
	}
	messages, err := m.ask.Execute(request)
	m.check(err)
	m.mu.Lock()
	m.now.links = map[uint32]*netdev.Link{}
	m.now.modes = map[uint32]netdev.Modes{}
	for _, msg := range messages {
		if l := m.decode(msg.Data); l != nil {
			m.now.links[l.Index] = l
		}
	}
	indexes := maps.Clone(m.now.links)
	m.mu.Unlock()
	for i := range indexes {
		m.askModes(i)
	}
}

func (m *mirror) listenRoute() {
	for {
		messages, err := m.route.Receive()
		if closed(err) {
			return
		}
		m.failed(err)
		for _, msg := range messages {
			switch msg.Header.Type {
			case netlink.Error:
				m.drained <- struct{}{}
			case unix.RTM_NEWLINK, unix.RTM_DELLINK:
				m.apply(msg)
			}
		}
	}
}

// apply takes one announcement. A bridge announces its ports in a family of its
// own, where DELLINK only says that a port was released.
func (m *mirror) apply(msg netlink.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	index := binary.NativeEndian.Uint32(msg.Data[4:])
	h := m.now.heard[index]
	if msg.Data[0] == unix.AF_BRIDGE {
		h.bridge++
	} else {
		h.link++
		if msg.Header.Type == unix.RTM_DELLINK {
			delete(m.now.links, index)
			delete(m.now.modes, index)
		} else if l := m.decode(msg.Data); l != nil {
			m.now.links[index] = l
		}
	}
	m.now.heard[index] = h
	m.last = time.Now()
	m.askAboveLocked(index)
}

func (m *mirror) listenEthtool() {
	for {
		_, raw, err := m.monitor.Receive()
		if closed(err) {
			return
		}
		m.failed(err)
		for _, msg := range raw {
			if msg.Header.Type == netlink.Error {
				m.drained <- struct{}{}
				continue
			}
			if index := ethtoolIndex(msg); index != 0 {
				m.mu.Lock()
				h := m.now.heard[index]
				h.ethtool++
				m.now.heard[index] = h
				m.last = time.Now()
				m.askAboveLocked(index)
				m.mu.Unlock()
			}
		}
	}
}

func (m *mirror) failed(err error) {
	if err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = err
}

// closed also covers the errors of a socket that is being closed under a reader.
func closed(err error) bool {
	return errors.Is(err, os.ErrClosed) || errors.Is(err, unix.EBADF)
}

// askAboveLocked asks for the speed of a device and of all that take theirs
// from it, since those change without a word.
func (m *mirror) askAboveLocked(index uint32) {
	todo := []uint32{index}
	seen := map[uint32]bool{index: true}
	for n := 0; n < len(todo); n++ {
		for i, l := range m.now.links {
			above := l.Lower == todo[n]
			if below := m.now.links[todo[n]]; below != nil && below.Master == i {
				above = true
			}
			if above && !seen[i] {
				todo, seen[i] = append(todo, i), true
			}
		}
	}
	for _, i := range todo {
		m.todo[i] = true
	}
	select {
	case m.asked <- struct{}{}:
	default: // It is awake already.
	}
}

// askAll asks what was asked for until the mirror ends.
func (m *mirror) askAll() {
	for range m.asked {
		for {
			m.mu.Lock()
			todo := m.todo
			m.todo, m.asking = map[uint32]bool{}, len(todo) > 0
			m.mu.Unlock()
			if len(todo) == 0 {
				break
			}
			for i := range todo {
				m.askModes(i)
			}
		}
	}
}
