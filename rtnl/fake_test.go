package rtnl

import (
	"encoding/binary"
	"os"
	"sync"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fakeEthtool is the id of ethtool's family in a fakeKernel, fakeMonitor that of
// its multicast group.
const (
	fakeEthtool = 21
	fakeMonitor = 6
)

// fakeKernel answers requests by functions of a test and announces what the test
// wants. Requests without a function get EOPNOTSUPP.
type fakeKernel struct {
	links  nltest.Func // RTM_GETLINK
	modes  nltest.Func // ETHTOOL_MSG_LINKMODES_GET
	family nltest.Func // CTRL_CMD_GETFAMILY
	refuse error       // of all dials

	mu      sync.Mutex
	groups  map[uint32]*fakeSocket
	open    int
	deaf    int // markers that are dropped, as by a socket that overflows
	joined  int // subscriptions to links
	dialled int
}

func (k *fakeKernel) dial(int) (socket, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dialled++
	if k.refuse != nil {
		return nil, k.refuse
	}
	k.open++
	return &fakeSocket{kernel: k, in: make(chan received, 1024), closed: make(chan struct{})}, nil
}

// announce sends messages to whoever is in a group now.
func (k *fakeKernel) announce(group uint32, msgs ...netlink.Message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.groups[group].deliver(msgs)
}

// fail makes the next receive in a group fail.
func (k *fakeKernel) fail(group uint32, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.groups[group].in <- received{err: err}
}

func (k *fakeKernel) subscriptions() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.joined
}

func (k *fakeKernel) answer(m netlink.Message) ([]netlink.Message, error) {
	fn := k.links
	switch m.Header.Type {
	case netlink.Noop:
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.deaf > 0 {
			k.deaf--
			return nil, nil
		}
		return nltest.Error(0, []netlink.Message{m})
	case unix.GENL_ID_CTRL:
		fn = k.family
	case fakeEthtool:
		fn = k.modes
	}
	if fn == nil {
		return nltest.Error(int(unix.EOPNOTSUPP), []netlink.Message{m})
	}
	return fn([]netlink.Message{m})
}

type received struct {
	data []byte
	err  error
}

type fakeSocket struct {
	kernel *fakeKernel
	in     chan received
	closed chan struct{}
	once   sync.Once
	seq    uint32
}

func (s *fakeSocket) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.kernel.mu.Lock()
		defer s.kernel.mu.Unlock()
		s.kernel.open--
	})
	return nil
}

func (s *fakeSocket) join(group uint32) error {
	s.kernel.mu.Lock()
	defer s.kernel.mu.Unlock()
	if s.kernel.groups == nil {
		s.kernel.groups = make(map[uint32]*fakeSocket)
	}
	s.kernel.groups[group] = s
	if group == unix.RTNLGRP_LINK {
		s.kernel.joined++
	}
	return nil
}

func (s *fakeSocket) send(m netlink.Message) (uint32, error) {
	s.seq++
	m.Header.Sequence = s.seq
	msgs, err := s.kernel.answer(m)
	if err != nil {
		s.in <- received{err: err}
	}
	for i := range msgs {
		msgs[i].Header.Sequence = s.seq
	}
	s.deliver(msgs)
	return s.seq, nil
}

// deliver puts two messages into a datagram, so that there are several of both.
func (s *fakeSocket) deliver(msgs []netlink.Message) {
	for len(msgs) > 0 {
		n := min(2, len(msgs))
		s.in <- received{data: datagram(msgs[:n]...)}
		msgs = msgs[n:]
	}
}

func (s *fakeSocket) receive() ([]byte, error) {
	select {
	case r := <-s.in:
		return r.data, r.err
	case <-s.closed:
		return nil, os.ErrClosed
	}
}

func (s *fakeSocket) setReadBuffer(bytes int) (int, error) { return bytes, nil }

// datagram is what the kernel would have sent.
func datagram(msgs ...netlink.Message) []byte {
	var all []byte
	for _, m := range msgs {
		m.Header.Length = uint32(unix.NLMSG_HDRLEN + len(m.Data))
		padded := make([]byte, align(int(m.Header.Length)))
		binary.NativeEndian.PutUint32(padded, m.Header.Length)
		binary.NativeEndian.PutUint16(padded[4:], uint16(m.Header.Type))
		binary.NativeEndian.PutUint16(padded[6:], uint16(m.Header.Flags))
		binary.NativeEndian.PutUint32(padded[8:], m.Header.Sequence)
		binary.NativeEndian.PutUint32(padded[12:], m.Header.PID)
		copy(padded[unix.NLMSG_HDRLEN:], m.Data)
		all = append(all, padded...)
	}
	return all
}

// linkMessage makes a message about a device.
func linkMessage(typ netlink.HeaderType, family uint8, index uint32, attrs ...netlink.Attribute) netlink.Message {
	data := make([]byte, unix.SizeofIfInfomsg)
	data[0] = family
	binary.NativeEndian.PutUint16(data[2:], unix.ARPHRD_ETHER)
	binary.NativeEndian.PutUint32(data[4:], index)
	binary.NativeEndian.PutUint32(data[8:], unix.IFF_UP)
	return netlink.Message{Header: netlink.Header{Type: typ}, Data: append(data, nltest.MustMarshalAttributes(attrs)...)}
}

// newLink makes an RTM_NEWLINK.
func newLink(index uint32, name string, attrs ...netlink.Attribute) netlink.Message {
	return linkMessage(unix.RTM_NEWLINK, unix.AF_UNSPEC, index, append([]netlink.Attribute{str(unix.IFLA_IFNAME, name)}, attrs...)...)
}

func delLink(index uint32) netlink.Message {
	return linkMessage(unix.RTM_DELLINK, unix.AF_UNSPEC, index, str(unix.IFLA_IFNAME, "gone"))
}

// dumpOf is the answer to a dump.
func dumpOf(msgs ...netlink.Message) ([]netlink.Message, error) {
	all := append(append([]netlink.Message(nil), msgs...), netlink.Message{Data: make([]byte, 4)})
	if len(msgs) == 0 {
		all[0].Header = netlink.Header{Type: netlink.Done, Flags: netlink.Multi}
		return all, nil
	}
	return nltest.Multipart(all)
}

// always answers the same to each dump.
func always(msgs ...netlink.Message) nltest.Func {
	return func([]netlink.Message) ([]netlink.Message, error) { return dumpOf(msgs...) }
}

func str(typ uint16, s string) netlink.Attribute {
	return netlink.Attribute{Type: typ, Data: append([]byte(s), 0)}
}

func u32(typ uint16, n uint32) netlink.Attribute {
	return netlink.Attribute{Type: typ, Data: binary.NativeEndian.AppendUint32(nil, n)}
}

func nest(typ uint16, attrs ...netlink.Attribute) netlink.Attribute {
	return netlink.Attribute{Type: typ | unix.NLA_F_NESTED, Data: nltest.MustMarshalAttributes(attrs)}
}

// kind is an IFLA_LINKINFO, the data ahead of the kind as no kernel sends it.
func kind(name string, data ...netlink.Attribute) netlink.Attribute {
	return nest(unix.IFLA_LINKINFO, nest(unix.IFLA_INFO_DATA, data...), str(unix.IFLA_INFO_KIND, name))
}

// ethtoolFamily answers as the controller does.
func ethtoolFamily([]netlink.Message) ([]netlink.Message, error) {
	groups := nest(unix.CTRL_ATTR_MCAST_GROUPS,
		nest(1, u32(unix.CTRL_ATTR_MCAST_GRP_ID, 5), str(unix.CTRL_ATTR_MCAST_GRP_NAME, "other")),
		nest(2, str(unix.CTRL_ATTR_MCAST_GRP_NAME, "monitor"), u32(unix.CTRL_ATTR_MCAST_GRP_ID, fakeMonitor)))
	id := netlink.Attribute{Type: unix.CTRL_ATTR_FAMILY_ID, Data: binary.NativeEndian.AppendUint16(nil, fakeEthtool)}
	return []netlink.Message{{
		Header: netlink.Header{Type: unix.GENL_ID_CTRL},
		Data:   append([]byte{1, 2, 0, 0}, nltest.MustMarshalAttributes([]netlink.Attribute{id, groups})...),
	}}, nil
}

// modesMessage is an answer or a notification about link modes.
func modesMessage(cmd uint8, index, speed uint32, duplex uint8) netlink.Message {
	attrs := nltest.MustMarshalAttributes([]netlink.Attribute{
		nest(unix.ETHTOOL_A_LINKMODES_HEADER, u32(unix.ETHTOOL_A_HEADER_DEV_INDEX, index), str(unix.ETHTOOL_A_HEADER_DEV_NAME, "x")),
		u32(unix.ETHTOOL_A_LINKMODES_SPEED, speed),
		{Type: unix.ETHTOOL_A_LINKMODES_DUPLEX, Data: []byte{duplex}},
	})
	return netlink.Message{Header: netlink.Header{Type: fakeEthtool}, Data: append([]byte{cmd, 1, 0, 0}, attrs...)}
}

// asked returns the ifindex that a request for link modes is about, 0: all.
func asked(req []netlink.Message) uint32 {
	index, _ := decodeModes(req[0].Data)
	return index
}

func openFake(t *testing.T, k *fakeKernel) *Source {
	t.Helper()
	s, err := Open(Options{dial: k.dial})
	require.NoError(t, err)
	t.Cleanup(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		require.Zero(t, k.open, "sockets left open")
	})
	return s
}
