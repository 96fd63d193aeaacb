package testns

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Announcement is one message about a device that the kernel sent to everybody.
type Announcement struct {
	At     time.Time
	Type   netlink.HeaderType
	Family uint8
	Index  int32
}

// Watch collects what the kernel announces about a namespace's devices
// (RTNLGRP_LINK), to judge a mirror by the time it could have known.
type Watch struct {
	conn *netlink.Conn
	done chan struct{}

	mu   sync.Mutex
	seen []Announcement
	err  error
}

// Watch starts listening now. It stops when the test ends.
func (ns *NS) Watch() *Watch {
	ns.tb.Helper()
	conn := ns.dialRoute()
	if err := conn.JoinGroup(unix.RTNLGRP_LINK); err != nil {
		ns.tb.Fatalf("testns: join RTNLGRP_LINK: %v", err)
	}
	w := &Watch{conn: conn, done: make(chan struct{})}
	go w.run()
	ns.tb.Cleanup(func() {
		_ = conn.Close()
		<-w.done
	})
	return w
}

// Announced returns all announcements so far, oldest first. It fails where some
// of them were lost.
func (w *Watch) Announced() ([]Announcement, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Announcement(nil), w.seen...), w.err
}

// Last returns the time of the latest announcement, or the zero time.
func (w *Watch) Last() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		return time.Time{}
	}
	return w.seen[len(w.seen)-1].At
}

func (w *Watch) run() {
	defer close(w.done)
	for {
		messages, err := w.conn.Receive()
		at := time.Now()
		if errors.Is(err, os.ErrClosed) || errors.Is(err, unix.EBADF) {
			return
		}
		w.mu.Lock()
		if err != nil {
			w.err = err
		}
		for _, m := range messages {
			if len(m.Data) >= unix.SizeofIfInfomsg {
				w.seen = append(w.seen, Announcement{
					At: at, Type: m.Header.Type, Family: m.Data[0],
					Index: int32(binary.NativeEndian.Uint32(m.Data[4:])),
				})
			}
		}
		w.mu.Unlock()
		if err != nil && !errors.Is(err, unix.ENOBUFS) {
			return
		}
	}
}

// Links changes devices by netlink, without a process for each change: for
// tests that need thousands of them.
type Links struct {
	ns   *NS
	conn *netlink.Conn
}

// Links opens a socket in the namespace. It is closed when the test ends.
func (ns *NS) Links() *Links {
	ns.tb.Helper()
	conn := ns.dialRoute()
	ns.tb.Cleanup(func() { _ = conn.Close() })
	return &Links{ns: ns, conn: conn}
}

// SetMTU is ip link set mtu.
func (l *Links) SetMTU(index int, mtu uint32) error {
	return l.set(index, unix.IFLA_MTU, binary.NativeEndian.AppendUint32(nil, mtu))
}

// SetAlias is ip link set alias.
func (l *Links) SetAlias(index int, alias string) error {
	return l.set(index, unix.IFLA_IFALIAS, []byte(alias))
}

func (l *Links) set(index int, attribute uint16, value []byte) error {
	data := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(data[4:], uint32(index))
	attributes, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: attribute, Data: value}})
	if err != nil {
		return err
	}
	_, err = l.conn.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_SETLINK, Flags: netlink.Request | netlink.Acknowledge},
		Data:   append(data, attributes...),
	})
	return err
}

func (ns *NS) dialRoute() *netlink.Conn {
	ns.tb.Helper()
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{NetNS: ns.Fd()})
	if err != nil {
		ns.tb.Fatalf("testns: rtnetlink: %v", err)
	}
	// A teardown of thousands of devices must not overrun a listener.
	_ = conn.SetReadBuffer(1 << 24)
	return conn
}
