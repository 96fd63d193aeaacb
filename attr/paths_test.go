package attr

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestPathsOfTheTablesFitIntoSmallInodeNumbers(t *testing.T) {
	p := NewPaths()
	for _, path := range []string{"mtu", "statistics", "queues", "power", "brport", "bridge", "subsystem", "owner"} {
		assert.Less(t, p.Known(path), Slot(256), path)
	}
	for _, queue := range []string{"rx-0", "tx-0"} {
		s, ok := p.Child(p.Known("queues"), queue)
		require.True(t, ok)
		assert.Less(t, s, Slot(256), queue)
	}
}

func TestEachPathHasOneSlot(t *testing.T) {
	p := NewPaths()
	seen := map[string]bool{}
	for s, path := range (*p.paths.Load())[slotFirst:] {
		assert.False(t, seen[path.Full], "%s has slot %d and another", path.Full, s)
		seen[path.Full] = true
	}
}

func TestQueuesAreNumberedAsTheyCome(t *testing.T) {
	p := NewPaths()
	queues := p.Known("queues")
	tx, ok := p.Child(queues, "tx-300")
	require.True(t, ok)
	again, _ := p.Child(queues, "tx-300")
	assert.Equal(t, tx, again)
	xps, ok := p.Child(tx, "xps_cpus")
	require.True(t, ok)
	assert.Equal(t, "queues/tx-300/xps_cpus", p.Get(xps).Full)
	assert.Equal(t, Waits, p.Get(xps).Row.Class)
	bql, ok := p.Child(tx, "byte_queue_limits")
	require.True(t, ok)
	_, ok = p.Child(bql, "inflight")
	assert.True(t, ok)
}

func TestUnknownNamesHaveNoSharedSlot(t *testing.T) {
	p := NewPaths()
	queues := p.Known("queues")
	for _, name := range []string{"tx-", "tx-x", "tx-007", "tx-*", "rx-1234567", "zx-1", ""} {
		_, ok := p.Child(queues, name)
		assert.False(t, ok, name)
	}
	for _, name := range []string{"upper_*", "tap*", "rx-0", "nothing"} {
		_, ok := p.Child(SlotDir, name)
		assert.False(t, ok, name)
	}
}

func TestWhatADriverAddsIsNumberedOnce(t *testing.T) {
	p := NewPaths()
	l := &netdev.Link{Index: 14}
	_, ok := p.FindTop("cdc_ncm", l)
	require.False(t, ok, "asking numbers nothing")
	s, ok := p.Top("cdc_ncm", l)
	require.True(t, ok)
	got, ok := p.FindTop("cdc_ncm", l)
	assert.True(t, ok)
	assert.Equal(t, s, got)
	assert.Equal(t, Path{Name: "cdc_ncm", Full: "cdc_ncm", Parent: SlotDir}, p.Get(s))
}

func TestTapOfAnIfindexIsOnePathForAll(t *testing.T) {
	p := NewPaths()
	a, b := &netdev.Link{Index: 14}, &netdev.Link{Index: 15}
	sa, ok := p.Top("tap14", a)
	require.True(t, ok)
	sb, _ := p.Top("tap15", b)
	assert.Equal(t, sa, sb)
	_, ok = p.FindTop("tap15", a)
	assert.False(t, ok, "that is another's")
	assert.Equal(t, "tap14", NameOf(p.Get(sa).Name, a))
}

func TestPathsEndBeforeThePrivateOnes(t *testing.T) {
	p := NewPaths()
	l := &netdev.Link{}
	n := 0
	for ; n < int(FirstPrivate); n++ {
		if _, ok := p.Top(fmt.Sprint("file", n), l); !ok {
			break
		}
	}
	assert.Len(t, *p.paths.Load(), int(FirstPrivate))
	_, ok := p.Top("one more", l)
	assert.False(t, ok)
}

func TestPathsMayBeReadWhileTheyGrow(t *testing.T) {
	p := NewPaths()
	queues := p.Known("queues")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 200 {
				s, ok := p.Child(queues, fmt.Sprint("rx-", i))
				if assert.True(t, ok) {
					assert.Equal(t, fmt.Sprint("queues/rx-", i), p.Get(s).Full)
				}
			}
		})
	}
	wg.Wait()
}
