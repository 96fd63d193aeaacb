package tree

import (
	"context"
	"sync"

	"github.com/sysfsd/sysfsd/netdev"
)

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
	for {
		select {
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
