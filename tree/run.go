package tree

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sysfsd/sysfsd/netdev"
)

// pollEvery is how old a polled value can be.
const pollEvery = time.Second

// polled returns the ifindexes of the devices whose speed and duplex depend on
// another namespace: those that stand on one there, and all above them.
func (t *Tree) polled() []uint32 { return t.askFor(slices.Collect(maps.Keys(t.edges.abroad))) }

// silentLooks is how many devices a second are looked at because their relations
// may change without a word; with more than that each has its turn less often.
const silentLooks = 256

// lookAtSilent has some of them compared with their real directories. Which is up
// to the map, so each comes in time.
func (t *Tree) lookAtSilent() {
	if t.options.Trusted {
		return
	}
	n := 0
	for s := range t.edges.silent {
		if n++; n > silentLooks {
			return
		}
		t.checks.add(s)
	}
}

// Run is the writer: it applies what the source says until ctx ends or the
// source fails. ready is called once the first full batch is published.
func (t *Tree) Run(ctx context.Context, src netdev.Source, ready func()) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	batches, failed := make(chan netdev.Batch), make(chan error, 1)
	found := make(chan []finding)
	wg.Go(func() { failed <- pump(ctx, src, batches) })
	wg.Go(func() { t.check(ctx, found) })
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
			src.Ask(t.polled())
			t.lookAtSilent()
		case b := <-batches:
			if ask := t.Apply(b); len(ask) > 0 {
				src.Ask(ask)
			}
			if b.Full && ready != nil {
				ready()
				ready = nil
			}
		case f := <-found:
			t.settleChecks(f)
		case err := <-failed:
			return err
		}
	}
}

// pump hands the batches of a source to the writer.
func pump(ctx context.Context, src netdev.Source, batches chan<- netdev.Batch) error {
	for b, err := range src.Batches(ctx) {
		if err != nil {
			return err
		}
		select {
		case batches <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}
