package rtnl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
)

// patience is how long a test waits for what takes milliseconds.
const patience = 10 * time.Second

// mirror is a consumer: it keeps what the batches say and checks that they make
// sense.
type mirror struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{}
	// gate is held by a test that stalls the consumer.
	gate sync.Mutex

	mu      sync.Mutex
	links   map[uint32]*netdev.Link
	modes   map[uint32]netdev.Modes
	touched map[uint32]int
	gone    map[uint32]int
	batches []netdev.Batch
	err     error
	faults  []string
}

// follow starts a consumer of s. It ends with the test.
func follow(t *testing.T, s *Source) *mirror {
	t.Helper()
	return start(t, s, func([]uint32) {})
}

// followAsking is follow with a consumer that asks again for the link modes of
// all its devices whenever something changed, because any of them may be above.
func followAsking(t *testing.T, s *Source) *mirror {
	t.Helper()
	return start(t, s, s.Ask)
}

func start(t *testing.T, s *Source, ask func([]uint32)) *mirror {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m := &mirror{
		t: t, cancel: cancel, done: make(chan struct{}), links: map[uint32]*netdev.Link{},
		modes: map[uint32]netdev.Modes{}, touched: map[uint32]int{}, gone: map[uint32]int{},
	}
	go func() {
		defer close(m.done)
		for b, err := range s.Batches(ctx) {
			m.gate.Lock()
			if m.apply(b, err) {
				ask(slices.Collect(maps.Keys(m.links)))
			}
			m.gate.Unlock()
		}
	}()
	t.Cleanup(func() {
		m.stop()
		require.Empty(t, m.faults)
	})
	return m
}

func (m *mirror) stop() {
	m.cancel()
	<-m.done
}

// apply reports whether anything but link modes changed.
func (m *mirror) apply(b netdev.Batch, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.err = err
		return false
	}
	if len(m.batches) == 0 != (b.Full && !b.Recheck) {
		m.faults = append(m.faults, fmt.Sprintf("batch %d: full %v, recheck %v", len(m.batches), b.Full, b.Recheck))
	}
	m.batches = append(m.batches, b)
	if b.Full {
		m.links = map[uint32]*netdev.Link{}
	}
	names := map[string]uint32{}
	for _, l := range m.links {
		names[l.Name] = l.Index
	}
	for _, c := range b.Changes {
		m.change(c, names)
	}
	return slices.ContainsFunc(b.Changes, func(c netdev.Change) bool { return c.Op != netdev.SetModes })
}

// change applies one change. The names are unique after each, not only after all.
func (m *mirror) change(c netdev.Change, names map[string]uint32) {
	old := m.links[c.Index]
	switch c.Op {
	case netdev.Set:
		if other, ok := names[c.Link.Name]; ok && other != c.Index {
			m.faults = append(m.faults, fmt.Sprintf("%s is %d and %d", c.Link.Name, other, c.Index))
		}
		if old != nil && names[old.Name] == c.Index {
			delete(names, old.Name)
		}
		names[c.Link.Name] = c.Index
		m.links[c.Index] = c.Link
	case netdev.Gone:
		if old != nil {
			delete(names, old.Name)
			delete(m.modes, c.Index)
		}
		delete(m.links, c.Index)
		m.gone[c.Index]++
	case netdev.SetModes:
		if old != nil {
			m.modes[c.Index] = c.Modes
		}
	case netdev.Touched:
		m.touched[c.Index]++
	default:
		m.faults = append(m.faults, fmt.Sprintf("op %d", c.Op))
	}
}

// eventually waits until f, called with the mirror locked, is true.
func (m *mirror) eventually(f func() bool, what string, args ...any) {
	m.t.Helper()
	require.Eventuallyf(m.t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return f()
	}, patience, time.Millisecond, what, args...)
}

// has waits for exactly these devices.
func (m *mirror) has(want map[uint32]string) {
	m.t.Helper()
	m.eventually(func() bool {
		got := map[uint32]string{}
		for i, l := range m.links {
			got[i] = l.Name
		}
		return maps.Equal(got, want)
	}, "devices %v", want)
}

// named returns a device, nil if there is none. Preconditions: locked.
func (m *mirror) named(name string) *netdev.Link {
	for _, l := range m.links {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// fulls returns the Full batches so far. Preconditions: locked.
func (m *mirror) fulls() (all []netdev.Batch) {
	for _, b := range m.batches {
		if b.Full {
			all = append(all, b)
		}
	}
	return all
}

// count returns the number of batches so far.
func (m *mirror) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.batches)
}
