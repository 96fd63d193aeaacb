package rtnl

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestOpenSaysThatNetlinkIsNotAvailable(t *testing.T) {
	_, err := Open(Options{dial: (&fakeKernel{refuse: unix.EAFNOSUPPORT}).dial})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorIs(t, err, unix.EAFNOSUPPORT)
	assert.Equal(t, "rtnl: netlink is not available: address family not supported by protocol", err.Error())
}

func TestFirstBatchIsTheDumpWithWhatWasAnnouncedMeanwhile(t *testing.T) {
	k := &fakeKernel{}
	k.links = func([]netlink.Message) ([]netlink.Message, error) {
		k.announce(unix.RTNLGRP_LINK,
			newLink(1, "a", u32(unix.IFLA_MTU, 9000)), delLink(2), newLink(4, "d"),
			linkMessage(unix.RTM_DELLINK, unix.AF_BRIDGE, 3))
		return dumpOf(newLink(1, "a"), newLink(2, "b"), newLink(3, "c"))
	}
	m := follow(t, openFake(t, k))
	m.has(map[uint32]string{1: "a", 3: "c", 4: "d"})
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Equal(t, uint32(9000), m.links[1].MTU)
	assert.Equal(t, "1=a/9000 3=c/0 4=d/0 ~3", show(m.batches[0].Changes))
}

func TestChangesFollow(t *testing.T) {
	k := &fakeKernel{links: always(newLink(1, "a"), newLink(2, "br"))}
	m := follow(t, openFake(t, k))
	m.has(map[uint32]string{1: "a", 2: "br"})
	k.announce(unix.RTNLGRP_LINK, newLink(3, "c"))
	m.has(map[uint32]string{1: "a", 2: "br", 3: "c"})
	k.announce(unix.RTNLGRP_LINK, linkMessage(unix.RTM_DELLINK, unix.AF_BRIDGE, 1))
	m.eventually(func() bool { return m.touched[1] == 1 && m.links[1] != nil }, "the port lives")
	k.announce(unix.RTNLGRP_LINK, newLink(1, "x"), newLink(2, "a"), newLink(1, "br"), delLink(3))
	m.has(map[uint32]string{1: "br", 2: "a"})
	k.announce(unix.RTNLGRP_LINK, delLink(1), newLink(1, "again"))
	m.has(map[uint32]string{1: "again", 2: "a"})
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Equal(t, 1, m.gone[1], "it was another device")
}

func TestQueuedChangesAreOneBatch(t *testing.T) {
	k := &fakeKernel{links: always(newLink(1, "a"))}
	s := openFake(t, k)
	m := follow(t, s)
	m.has(map[uint32]string{1: "a"})
	m.gate.Lock()
	// The first is what the consumer stalls on, or the last of what it has yet to take.
	for mtu := range uint32(50) {
		k.announce(unix.RTNLGRP_LINK, newLink(1, "a", u32(unix.IFLA_MTU, mtu)), newLink(2+mtu, "n"+string(rune('A'+mtu))))
	}
	require.Eventually(t, func() bool { return s.stats.NewLink.Load() == 100 }, patience, time.Millisecond)
	m.gate.Unlock()
	m.eventually(func() bool { return len(m.links) == 51 && m.links[1].MTU == 49 }, "all changes")
	assert.LessOrEqual(t, m.count(), 4)
}

func TestOverflowMakesOneDumpMore(t *testing.T) {
	k := &fakeKernel{}
	var dumps atomic.Int32
	k.links = func([]netlink.Message) ([]netlink.Message, error) {
		if dumps.Add(1) == 1 {
			return dumpOf(newLink(1, "a"), newLink(2, "b"))
		}
		k.announce(unix.RTNLGRP_LINK, newLink(4, "d"))
		return dumpOf(newLink(1, "a", u32(unix.IFLA_MTU, 2)), newLink(3, "c"))
	}
	var log syncBuffer
	s, err := Open(Options{dial: k.dial, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	m := follow(t, s)
	m.has(map[uint32]string{1: "a", 2: "b"})

	m.gate.Lock()
	// Older than what is lost, and not to be believed any more.
	k.announce(unix.RTNLGRP_LINK, newLink(1, "a", u32(unix.IFLA_MTU, 1)))
	for range 5 {
		k.fail(unix.RTNLGRP_LINK, unix.ENOBUFS)
	}
	require.Eventually(t, func() bool { return s.stats.Overflows.Load() == 5 }, patience, time.Millisecond)
	m.gate.Unlock()

	m.has(map[uint32]string{1: "a", 3: "c", 4: "d"})
	m.mu.Lock()
	assert.Equal(t, uint32(2), m.links[1].MTU)
	assert.Len(t, m.fulls(), 2)
	m.mu.Unlock()
	assert.Equal(t, int32(2), dumps.Load())
	assert.Equal(t, uint64(1), s.stats.Resyncs.Load())
	assert.Equal(t, 1, strings.Count(log.String(), "overflowed"), log.String())

	k.announce(unix.RTNLGRP_LINK, newLink(5, "e"))
	m.has(map[uint32]string{1: "a", 3: "c", 4: "d", 5: "e"})
}

func TestOverflowDuringTheDumpMakesAnother(t *testing.T) {
	k := &fakeKernel{}
	var dumps atomic.Int32
	k.links = func([]netlink.Message) ([]netlink.Message, error) {
		if dumps.Add(1) == 1 {
			k.fail(unix.RTNLGRP_LINK, unix.ENOBUFS)
			return dumpOf(newLink(1, "a"))
		}
		return dumpOf(newLink(2, "b"))
	}
	m := follow(t, openFake(t, k))
	m.has(map[uint32]string{2: "b"})
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Len(t, m.fulls(), 2)
}

func TestTruncatedAnnouncementIsALoss(t *testing.T) {
	k := &fakeKernel{links: always(newLink(1, "a"))}
	m := follow(t, openFake(t, k))
	m.has(map[uint32]string{1: "a"})
	k.fail(unix.RTNLGRP_LINK, errTruncated)
	m.eventually(func() bool { return len(m.fulls()) == 2 }, "another dump")
}

func TestMarkersThatAreDroppedAreRepeated(t *testing.T) {
	k := &fakeKernel{links: always(newLink(1, "a")), deaf: 2}
	s := openFake(t, k)
	m := follow(t, s)
	m.has(map[uint32]string{1: "a"})
	assert.Zero(t, s.stats.Resyncs.Load())
}

func TestDeadSocketIsReopened(t *testing.T) {
	k := &fakeKernel{links: always(newLink(1, "a")), family: ethtoolFamily}
	s := openFake(t, k)
	m := follow(t, s)
	m.has(map[uint32]string{1: "a"})
	for i, group := range []uint32{unix.RTNLGRP_LINK, fakeMonitor} {
		k.fail(group, unix.ENOMEM)
		m.eventually(func() bool { return len(m.fulls()) == i+2 }, "a dump after socket %d died", i)
	}
	assert.Equal(t, 3, k.subscriptions())
	k.announce(unix.RTNLGRP_LINK, newLink(2, "b"))
	m.has(map[uint32]string{1: "a", 2: "b"})
}

func TestHopelessSourceEndsWithItsError(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for all tries")
	}
	k := &fakeKernel{links: always(newLink(1, "a"))}
	m := follow(t, openFake(t, k))
	m.has(map[uint32]string{1: "a"})
	k.mu.Lock()
	k.refuse = unix.EMFILE
	k.mu.Unlock()
	k.fail(unix.RTNLGRP_LINK, unix.ENOMEM)
	<-m.done
	require.ErrorIs(t, m.err, unix.EMFILE)
	assert.ErrorContains(t, m.err, "rtnl: ")
}

func TestBatchesEnd(t *testing.T) {
	k := &fakeKernel{links: always(newLink(1, "a"))}
	s := openFake(t, k)

	t.Run("when the consumer stops", func(t *testing.T) {
		for b, err := range s.Batches(t.Context()) {
			require.NoError(t, err)
			require.True(t, b.Full && !b.Recheck)
			break
		}
	})
	t.Run("with the context, and began with a recheck", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for b, err := range s.Batches(ctx) {
			require.NoError(t, err)
			require.Equal(t, b.Full, b.Recheck)
			cancel()
		}
	})
	t.Run("at once for a second caller", func(t *testing.T) {
		for _, err := range s.Batches(t.Context()) {
			require.NoError(t, err)
			for _, err := range s.Batches(t.Context()) {
				require.ErrorIs(t, err, ErrBusy)
			}
			break
		}
	})
	t.Run("with the source", func(t *testing.T) {
		for _, err := range s.Batches(t.Context()) {
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}
		for _, err := range s.Batches(t.Context()) {
			require.ErrorIs(t, err, ErrClosed)
		}
	})
	t.Run("while the dump waits", func(t *testing.T) {
		k := &fakeKernel{links: func([]netlink.Message) ([]netlink.Message, error) { return nil, nil }}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		for _, err := range openFake(t, k).Batches(ctx) {
			t.Fatal("a batch without a dump", err)
		}
	})
}

func TestMonitorAnnouncesLinkModes(t *testing.T) {
	k := &fakeKernel{links: always(newLink(1, "a"), newLink(2, "b")), family: ethtoolFamily}
	s := openFake(t, k)
	m := follow(t, s)
	m.has(map[uint32]string{1: "a", 2: "b"})
	k.announce(fakeMonitor,
		modesMessage(unix.ETHTOOL_MSG_FEATURES_NTF, 1, 0, 0),
		modesMessage(unix.ETHTOOL_MSG_LINKMODES_NTF, 2, 100, 0),
		netlink.Message{Header: netlink.Header{Type: fakeEthtool}, Data: []byte{unix.ETHTOOL_MSG_LINKMODES_NTF}},
		netlink.Message{Header: netlink.Header{Type: fakeEthtool}, Data: []byte{unix.ETHTOOL_MSG_LINKMODES_NTF, 1, 0, 0, 9}})
	m.eventually(func() bool { return m.touched[2] == 1 }, "touched")
	m.stop()
	assert.Zero(t, m.touched[1])
}

func TestNothingIsWrongWithErrorsThatAreNone(t *testing.T) {
	require.NoError(t, refused(0))
	require.ErrorIs(t, refused(unix.EPERM), unix.EPERM)
	require.True(t, lossy(errors.Join(unix.ENOBUFS)))
}

var _ netdev.Source = (*Source)(nil)

// syncBuffer is a log that a test reads while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
