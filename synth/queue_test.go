package synth

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestFirstBatchHasAllDevicesAndTheirModes(t *testing.T) {
	p := newPopulation(t, Config{Devices: 1000})
	batches := start(t, p)
	first := <-batches
	assert.True(t, first.Full)
	assert.Len(t, first.Changes, 2000)
	m := newMirror()
	m.apply(first)
	assert.True(t, m.equal(p))
}

func TestEachControlIsOneBatch(t *testing.T) {
	p := newPopulation(t, Config{Devices: 1000, Seed: 2})
	batches := start(t, p)
	<-batches
	_, err := p.Add(700)
	require.NoError(t, err)
	b := <-batches
	assert.False(t, b.Full)
	assert.GreaterOrEqual(t, count(b, netdev.Set), 700)

	n := p.Del(Range{500, 1200})
	assert.Equal(t, n, count(<-batches, netdev.Gone))

	d := pick(t, p, kindVeth, all(up4, here))
	veth, peer := d.link, d.peer()
	require.NoError(t, p.Set(veth.Index, func(l *netdev.Link) { l.Flags &^= 1 }))
	b = <-batches
	m := newMirror()
	m.apply(b)
	assert.False(t, m.links[veth.Index].Up())
	assert.Zero(t, m.links[peer].Carrier, "the peer lost its carrier in the same batch")

	require.NoError(t, p.Rename(veth.Index, "other"))
	assert.Equal(t, 1, count(<-batches, netdev.Set))
}

func TestModesOfUppersComeWithTheirLower(t *testing.T) {
	p := newPopulation(t, Config{Devices: 3000, Seed: 4})
	lower := pick(t, p, kindPCI, func(d *device) bool { return d.above != 0 && running(d.link) })
	upper := lower.above
	batches := start(t, p)
	<-batches
	require.NoError(t, p.Set(lower.link.Index, func(l *netdev.Link) { l.Carrier = 0 }))
	m := newMirror()
	m.apply(<-batches)
	assert.EqualValues(t, speedUnknown, m.modes[lower.link.Index].Speed)
	assert.EqualValues(t, speedUnknown, m.modes[upper].Speed)
}

func TestAskTwiceIsAskOnce(t *testing.T) {
	p := newPopulation(t, Config{Devices: 10})
	p.Ask([]uint32{1}) // nobody listens
	next, stop := iter.Pull2(p.Batches(t.Context()))
	defer stop()
	_, err, _ := next()
	require.NoError(t, err)
	p.Ask([]uint32{3, 2, 3, 99})
	p.Ask([]uint32{2})
	b, err, _ := next()
	require.NoError(t, err)
	require.Len(t, b.Changes, 2)
	assert.EqualValues(t, 2, b.Changes[0].Index)
	assert.Equal(t, netdev.SetModes, b.Changes[1].Op)
}

func TestBatchesEndWithTheContext(t *testing.T) {
	p := newPopulation(t, Config{Devices: 10})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for _, err := range p.Batches(ctx) {
		cancel(why)
		last = err
	}
	assert.ErrorIs(t, last, why)
	_, err := p.Add(1)
	require.NoError(t, err)
	batches, _ := p.queue.take()
	assert.Empty(t, batches, "nothing is queued for nobody")
}

func TestBatchesBeginAnewEachTime(t *testing.T) {
	p := newPopulation(t, Config{Devices: 10})
	for range 2 {
		for b, err := range p.Batches(t.Context()) {
			require.NoError(t, err)
			assert.True(t, b.Full)
			break
		}
		_, err := p.Add(3)
		require.NoError(t, err)
	}
}

func TestMirrorFollowsChurn(t *testing.T) {
	p := newPopulation(t, Config{Devices: 500, Seed: 8})
	m := newMirror()
	stop := m.follow(t, p)
	defer stop()
	for i := range uint64(10) {
		churn(t, p, 40, i)
		require.Eventually(t, func() bool { return m.equal(p) }, 5*time.Second, time.Millisecond)
	}
}

// mirror is the simplest one: what the batches said.
type mirror struct {
	mu    sync.Mutex
	links map[uint32]*netdev.Link
	modes map[uint32]netdev.Modes
}

func newMirror() *mirror {
	return &mirror{links: map[uint32]*netdev.Link{}, modes: map[uint32]netdev.Modes{}}
}

func (m *mirror) apply(b netdev.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.Full {
		clear(m.links)
		clear(m.modes)
	}
	for _, c := range b.Changes {
		switch c.Op {
		case netdev.Set:
			m.links[c.Index] = c.Link
		case netdev.Gone:
			delete(m.links, c.Index)
			delete(m.modes, c.Index)
		case netdev.SetModes:
			m.modes[c.Index] = c.Modes
		case netdev.Touched:
		}
	}
}

// equal reports that the mirror shows what the population is.
func (m *mirror) equal(p *Population) bool {
	p.ctl.Lock()
	defer p.ctl.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.links) != p.devices.live || len(m.modes) != p.devices.live {
		return false
	}
	for index, d := range p.devices.all(0, maxIndex) {
		if m.links[index] != d.link || m.modes[index] != p.modes(d) {
			return false
		}
	}
	return true
}

func (m *mirror) follow(tb testing.TB, p *Population) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for b, err := range p.Batches(ctx) {
			if err == nil {
				m.apply(b)
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// start yields a population's batches into a channel until the test ends.
func start(tb testing.TB, p *Population) <-chan netdev.Batch {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan netdev.Batch, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(ch)
		for b, err := range p.Batches(ctx) {
			if err != nil {
				return
			}
			select {
			case ch <- b:
			case <-ctx.Done():
			}
		}
	})
	tb.Cleanup(func() { cancel(); wg.Wait() })
	return ch
}

func count(b netdev.Batch, op netdev.Op) int {
	n := 0
	for _, c := range b.Changes {
		if c.Op == op {
			n++
		}
	}
	return n
}
