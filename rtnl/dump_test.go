package rtnl

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestDumpOfManyPartsIsWhole(t *testing.T) {
	var msgs []netlink.Message
	for i := range uint32(25) {
		msgs = append(msgs, newLink(i+1, fmt.Sprintf("d%d", i+1)))
	}
	k := &fakeKernel{links: func(req []netlink.Message) ([]netlink.Message, error) {
		h, data := req[0].Header, req[0].Data
		assert.Equal(t, netlink.Request|netlink.Dump, h.Flags)
		assert.Equal(t, append(make([]byte, 16), 8, 0, unix.IFLA_EXT_MASK, 0, rtextFilterSkipStats, 0, 0, 0), data)
		return dumpOf(msgs...)
	}}
	c := dumped(t, k)
	require.Len(t, c, 25)
	assert.Equal(t, "d25", c[24].Link.Name)
}

func TestDumpOfNothing(t *testing.T) {
	assert.Empty(t, dumped(t, &fakeKernel{links: always()}))
}

func TestInterruptedDumpIsRepeatedAndUnited(t *testing.T) {
	for _, test := range []struct {
		name        string
		interrupted int
		dumps       int
	}{
		{"never", 0, 1},
		{"twice", 2, 3},
		{"always", 100, dumpTries},
	} {
		dumps := 0
		k := &fakeKernel{links: func([]netlink.Message) ([]netlink.Message, error) {
			dumps++
			// Each sees another device beside the first.
			msgs, err := dumpOf(newLink(1, "a", u32(unix.IFLA_MTU, uint32(dumps))), newLink(uint32(10+dumps), fmt.Sprintf("d%d", dumps)))
			if dumps <= test.interrupted {
				msgs[len(msgs)-1].Header.Flags |= netlink.DumpInterrupted
			}
			return msgs, err
		}}
		s := openFake(t, k)
		c := newCollection()
		require.NoError(t, s.dumpLinks(t.Context(), c), test.name)
		assert.Equal(t, test.dumps, dumps, test.name)
		all := c.changes()
		assert.Len(t, all, 1+dumps, test.name)
		assert.Equal(t, uint32(dumps), all[0].Link.MTU, "the latest state")
		assert.Equal(t, uint64(min(test.interrupted, dumpTries)), s.stats.Interrupted.Load(), test.name)
	}
}

func TestDumpFails(t *testing.T) {
	done := func(code int32) netlink.Message {
		return netlink.Message{
			Header: netlink.Header{Type: netlink.Done, Flags: netlink.Multi},
			Data:   binary.NativeEndian.AppendUint32(nil, uint32(code)),
		}
	}
	for _, test := range []struct {
		name string
		fn   func([]netlink.Message) ([]netlink.Message, error)
		want error
	}{
		{"refused", nil, unix.EOPNOTSUPP},
		{"ends with an error", func([]netlink.Message) ([]netlink.Message, error) {
			return []netlink.Message{newLink(1, "a"), done(-int32(unix.ENOMEM))}, nil
		}, unix.ENOMEM},
		{"socket fails", func([]netlink.Message) ([]netlink.Message, error) { return nil, os.ErrClosed }, os.ErrClosed},
	} {
		s := openFake(t, &fakeKernel{links: test.fn})
		err := s.dumpLinks(t.Context(), newCollection())
		require.ErrorIs(t, err, test.want, test.name)
		assert.ErrorContains(t, err, "rtnl: dump links: ", test.name)
	}
}

func TestTruncatedPartOfADumpMakesAnother(t *testing.T) {
	dumps := 0
	k := &fakeKernel{links: func([]netlink.Message) ([]netlink.Message, error) {
		dumps++
		msgs, _ := dumpOf(newLink(1, "a"), newLink(2, "b"))
		if dumps == 1 {
			return msgs, errTruncated
		}
		return msgs, nil
	}}
	assert.Len(t, dumped(t, k), 2)
	assert.Equal(t, 2, dumps)
}

func TestDumpIgnoresOtherAndMalformedMessages(t *testing.T) {
	stray := newLink(9, "stray")
	s := openFake(t, &fakeKernel{links: always(newLink(1, "a"), newLink(2, ""), linkMessage(unix.RTM_NEWADDR, 0, 3))})
	sock, err := s.dial(unix.NETLINK_ROUTE)
	require.NoError(t, err)
	defer func() { _ = sock.Close() }()
	stray.Header.Sequence = 4711
	sock.(*fakeSocket).deliver([]netlink.Message{stray})
	n := 0
	_, err = exchange(sock, linkDump(), func(netlink.Header, []byte) { n++ })
	require.NoError(t, err)
	assert.Equal(t, 3, n, "all but the stray one")

	c := newCollection()
	require.NoError(t, s.dumpLinks(t.Context(), c))
	assert.Equal(t, "1=a/0", show(c.changes()))
	assert.Equal(t, uint64(1), s.stats.Malformed.Load())
}

func TestDumpEndsWithItsContext(t *testing.T) {
	s := openFake(t, &fakeKernel{links: func([]netlink.Message) ([]netlink.Message, error) { return nil, nil }})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Error(t, s.dumpLinks(ctx, newCollection()))
}

func TestCollectionIsBroughtUpToDate(t *testing.T) {
	link := func(index uint32, name string) *netdev.Link { return &netdev.Link{Index: index, Name: name} }
	c := newCollection()
	for i, name := range []string{"a", "b", "c"} {
		c.set(link(uint32(i+1), name))
	}
	c.apply([]netdev.Change{
		{Op: netdev.Gone, Index: 1},
		{Op: netdev.Gone, Index: 2},
		{Op: netdev.Set, Index: 2, Link: link(2, "a")},
		{Op: netdev.Set, Index: 4, Link: link(4, "d")},
		{Op: netdev.Gone, Index: 99},
		{Op: netdev.Touched, Index: 3},
	})
	assert.Equal(t, "2=a/0 3=c/0 4=d/0 ~3", show(c.changes()))
	assert.Equal(t, []uint32{2, 3, 4}, c.indexes())
}

// The recorded zoo, again and again under other numbers and names.
func BenchmarkDump1000(b *testing.B) {
	var parts [][]byte
	zoo := recordedData(b, "zoo.nlmsg", unix.RTM_NEWLINK)
	var part []netlink.Message
	for i := range 1000 {
		data := append([]byte(nil), zoo[i%len(zoo)]...)
		binary.NativeEndian.PutUint32(data[4:], uint32(i+1))
		part = append(part, netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWLINK, Flags: netlink.Multi, Sequence: 1}, Data: data})
		if len(part) == 27 || i == 999 {
			parts, part = append(parts, datagram(part...)), nil
		}
	}
	parts = append(parts, datagram(netlink.Message{Header: netlink.Header{Type: netlink.Done, Sequence: 1}, Data: make([]byte, 4)}))
	s, err := Open(Options{dial: func(int) (socket, error) { return &replay{parts: parts}, nil }})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		c := newCollection()
		if err := s.dumpLinks(b.Context(), c); err != nil || len(c.changes()) != 1000 {
			b.Fatal(err, len(c.links))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/link")
}

// replay answers any request with recorded datagrams.
type replay struct {
	parts [][]byte
	next  int
}

func (r *replay) Close() error                         { return nil }
func (r *replay) join(uint32) error                    { return nil }
func (r *replay) send(netlink.Message) (uint32, error) { return 1, nil }
func (r *replay) setReadBuffer(n int) (int, error)     { return n, nil }

func (r *replay) receive() ([]byte, error) {
	if r.next == len(r.parts) {
		return nil, os.ErrClosed
	}
	r.next++
	return r.parts[r.next-1], nil
}

func dumped(t *testing.T, k *fakeKernel) []netdev.Change {
	t.Helper()
	c := newCollection()
	require.NoError(t, openFake(t, k).dumpLinks(t.Context(), c))
	return c.changes()
}
