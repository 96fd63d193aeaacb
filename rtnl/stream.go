package rtnl

import (
	"context"
	"errors"
	"time"

	"github.com/sysfsd/sysfsd/netdev"
)

const (
	// settleMin and settleMax bound the pause before a dump that makes up for
	// lost announcements. It doubles while losses go on.
	settleMin = 10 * time.Millisecond
	settleMax = time.Second
	// quiet is the time without a loss after which the next is a new episode.
	quiet = 2 * time.Second
	// quietTries is how often the end of an overflow is waited for.
	quietTries = 10

	// reopenTries is how often in a row dead sockets are opened anew; the pause
	// before that begins at reopenPause and doubles.
	reopenTries = 8
	reopenPause = 10 * time.Millisecond
	// lasting is how long sockets must have lived for their death to be the first
	// in a row.
	lasting = 10 * time.Second
)

// errStopped says that the consumer wants no more.
var errStopped = errors.New("consumer stopped")

// stream is one call of Batches.
type stream struct {
	*Source
	queue *queue
	yield func(netdev.Batch, error) bool

	lossEnd  time.Time     // when the last loss had been made up for
	settling time.Duration // the last pause because of a loss
	losing   bool          // an episode of losses isn't over
}

// run follows one subscription after the other.
func (st *stream) run(ctx context.Context) error {
	failures := 0
	for {
		began := time.Now()
		err := st.follow(ctx)
		if ctx.Err() != nil || errors.Is(err, errStopped) {
			return nil
		}
		if time.Since(began) >= lasting {
			failures = 0
		}
		if failures == reopenTries {
			return err
		}
		st.log.Warn("netlink failed, opening it again", "err", err)
		st.stats.Reopens.Add(1)
		if sleep(ctx, reopenPause<<failures) != nil {
			return nil
		}
		failures++
	}
}

// follow subscribes, tells everything, and then what changes.
func (st *stream) follow(ctx context.Context) error {
	sub, err := st.subscribe(st.queue)
	if err != nil {
		return err
	}
	defer sub.close()
	for {
		if err := st.tellAll(ctx, sub); err != nil {
			return err
		}
		if err := st.tellChanges(ctx, sub); !errors.Is(err, errLost) {
			return err
		}
		st.stats.Resyncs.Add(1)
		if err := st.settle(ctx); err != nil {
			return err
		}
	}
}

// tellAll yields a Full batch, and has the link modes of all devices asked for.
func (st *stream) tellAll(ctx context.Context, sub *subscription) error {
	c, modesEnd, err := st.collect(ctx, sub)
	if err != nil {
		return err
	}
	all := netdev.Batch{Changes: c.changes(), Full: true, Recheck: st.told}
	st.told = true
	// What the consumer asks for on seeing the batch is in the dump that follows.
	st.asker.hold()
	if !st.yield(all, nil) {
		return errStopped
	}
	st.asker.dump(c.indexes())
	st.modesTold(modesEnd)
	if st.losing && !st.queue.hasLost() {
		st.losing, st.lossEnd = false, time.Now()
		st.log.Debug("all devices were dumped again, nothing is missing", "devices", len(c.links))
	}
	return nil
}

// collect dumps all devices and brings the result up to date with what was
// announced since the dump began. All that was announced before it ended has
// been heard then, so that the names in it belong to one moment.
func (st *stream) collect(ctx context.Context, sub *subscription) (c *collection, modesEnd bool, err error) {
	if err := st.hearAll(ctx, sub); err != nil {
		return nil, false, err
	}
	st.queue.discard()
	c = newCollection()
	if err := st.dumpLinks(ctx, c); err != nil {
		return nil, false, err
	}
	if err := sub.barrier(ctx); err != nil {
		return nil, false, err
	}
	t := st.queue.take()
	c.apply(t.changes)
	return c, t.modesEnd, nil
}

// hearAll waits until the socket delivers what is announced. After an overflow
// it doesn't until all that it had was read: a dump made before that would be
// followed by announcements older than itself, with newer ones missing. Where
// losses don't end it gives up; the loss is then still noted.
func (st *stream) hearAll(ctx context.Context, sub *subscription) error {
	for range quietTries {
		st.queue.forgetLoss()
		if err := sub.barrier(ctx); err != nil {
			return err
		}
		if !st.queue.hasLost() {
			return nil
		}
		if err := sleep(ctx, settleMin); err != nil {
			return err
		}
	}
	return nil
}

// tellChanges yields what is queued, as it comes, until something was lost.
func (st *stream) tellChanges(ctx context.Context, sub *subscription) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sub.dead:
			return sub.err
		case <-st.queue.wake:
		}
		if ctx.Err() != nil {
			return ctx.Err() // Whoever ended it wants nothing that came at the same moment.
		}
		if st.queue.hasLost() {
			return errLost
		}
		t := st.queue.take()
		if len(t.changes) > 0 {
			raise(&st.stats.LargestBatch, int64(len(t.changes)))
			if !st.yield(netdev.Batch{Changes: t.changes}, nil) {
				return errStopped
			}
		}
		st.modesTold(t.modesEnd)
	}
}

// settle lets a burst pass before all is dumped again, and logs the first loss
// of an episode.
func (st *stream) settle(ctx context.Context) error {
	if !st.losing && time.Since(st.lossEnd) > quiet {
		st.settling = 0
		st.log.Warn("the kernel's buffer overflowed, announcements were lost; dumping all devices again",
			"overflows", st.stats.Overflows.Load(), "buffer", st.stats.ReadBuffer.Load())
	}
	st.losing = true
	st.settling = min(max(2*st.settling, settleMin), settleMax)
	return sleep(ctx, st.settling)
}

// modesTold notes that the consumer has taken the end of a dump of link modes.
func (st *stream) modesTold(end bool) {
	if end {
		st.modesOnce.Do(func() { close(st.modesReady) })
	}
}
