package tree

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestAFileThatIsOnItsWayOutIsNotBelieved(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "a")), set(link(2, "b"))))
	// The message that b left its bridge comes before its brport goes.
	files.set("b", append([]string{"brport/"}, plain...)...)
	run := []netdev.Serial{lookAt(t, tr).device("b").Serial}
	assert.Empty(t, tr.compare(run))
	files.set("b", plain...)
	assert.Empty(t, tr.compare(run))
	assert.NotContains(t, lookAt(t, tr).files(tr, "b"), "brport")
}

func TestWhatWasBelievedTooEarlyIsLookedAtAgain(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := make(chan struct{})
	src := &fakeSource{batches: make(chan netdev.Batch, 8)}
	ended := make(chan error, 1)
	go func() { ended <- tr.Run(ctx, src, func() { close(ready) }) }()
	src.batches <- full(set(link(1, "a")), set(link(2, "b")))
	<-ready
	has := func(name, file string) func() bool {
		return func() bool {
			for _, f := range lookAt(t, tr).files(tr, name) {
				if f == file {
					return true
				}
			}
			return false
		}
	}
	files.set("b", append([]string{"brport/"}, plain...)...)
	src.batches <- batch(netdev.Change{Op: netdev.Touched, Index: 2})
	require.Eventually(t, has("b", "brport"), 10*time.Second, time.Millisecond, "a file that stays is shown")
	files.set("b", plain...) // And goes, without another message.
	require.Eventually(t, func() bool { return !has("b", "brport")() }, 20*time.Second, time.Millisecond)
	assert.False(t, has("a", "brport")(), "one device doesn't speak for its kind")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestAKindIsCorrectedByThreeOfIt(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "a"))))
	for i, name := range []string{"b", "c", "d"} {
		files.set(name, append([]string{"extra"}, plain...)...)
		tr.Apply(batch(set(link(uint32(i)+2, name))))
		lookTwice(tr)
		assert.Contains(t, lookAt(t, tr).files(tr, name), "extra")
	}
	tr.Apply(batch(set(link(9, "e"))))
	assert.Contains(t, lookAt(t, tr).files(tr, "e"), "extra", "at once")
}

func TestALostReplacementIsSeenByAnyLook(t *testing.T) {
	files := &fakeFiles{indexes: map[string]uint32{"a": 2}}
	tr := newTree(t, files)
	tr.Apply(full(set(link(2, "a"))))
	old := lookAt(t, tr).device("a").Serial
	// Below the descriptor of the old device is nothing any more, but by its path
	// there is a device with its ifindex.
	files.mu.Lock()
	files.dead = true
	files.mu.Unlock()
	lookTwice(tr)
	assert.NotEqual(t, old, lookAt(t, tr).device("a").Serial)
	assert.Equal(t, []netdev.Serial{old}, files.forgotten)
	lookAt(t, tr).sound()
}

func TestADeviceThatIsGoneIsLeftToItsMessage(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	tr.Apply(full(set(link(2, "a"))))
	files.mu.Lock()
	files.dead = true
	files.mu.Unlock()
	old := lookAt(t, tr).device("a").Serial
	lookTwice(tr)
	assert.Equal(t, old, lookAt(t, tr).device("a").Serial)
}

func TestWhatChangedWhileItWasLookedAtIsLookedAtAgain(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "a")), set(link(2, "b"))))
	files.set("b", append([]string{"extra"}, plain...)...)
	run := tr.checks.take(10)
	tr.compare(run)
	found := tr.compare(run)
	require.Len(t, found, 1)
	tr.Apply(batch(netdev.Change{Op: netdev.SetModes, Index: 2, Modes: netdev.Modes{State: netdev.ModesKnown}}))
	tr.settleChecks(found)
	assert.NotContains(t, lookAt(t, tr).files(tr, "b"), "extra")
	lookTwice(tr)
	assert.Contains(t, lookAt(t, tr).files(tr, "b"), "extra")
}

// fakeSource yields what a test sends.
type fakeSource struct{ batches chan netdev.Batch }

func (s *fakeSource) Ask([]uint32) {}

func (s *fakeSource) Batches(ctx context.Context) iter.Seq2[netdev.Batch, error] {
	return func(yield func(netdev.Batch, error) bool) {
		for {
			select {
			case b := <-s.batches:
				if !yield(b, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
