package rtnl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

const (
	// modesChunk is how many answers of a dump are queued at once: a batch has a
	// cost of its own for the consumer.
	modesChunk = 4096
	// askPause and askPauseMax bound the pause after a question failed for a
	// reason that isn't the device's.
	askPause    = 50 * time.Millisecond
	askPauseMax = 5 * time.Second
)

// answer puts questions to the kernel, one after the other, until ctx ends. The
// kernel answers them under its RTNL mutex, which it may hold for seconds:
// nothing waits for this goroutine but the end of Batches.
func (s *Source) answer(ctx context.Context, q *queue) {
	w := &answerer{Source: s, queue: q}
	defer w.hangUp()
	pause := askPause
	for ctx.Err() == nil {
		question, ok := s.asker.next()
		if !ok {
			select {
			case <-ctx.Done():
			case <-s.asker.wake:
			}
			continue
		}
		if err := w.put(ctx, question); err != nil && ctx.Err() == nil {
			s.log.Debug("question for link modes failed, asking again", "err", err)
			_ = sleep(ctx, pause)
			pause = min(2*pause, askPauseMax)
			continue
		}
		pause = askPause
	}
}

// answerer is the state of that goroutine.
type answerer struct {
	*Source
	queue  *queue
	sock   socket // for single questions; nil: not open
	hangup func()
}

// put asks one question. What isn't answered because of an error is queued again.
func (w *answerer) put(ctx context.Context, q question) error {
	switch {
	case w.ethtool.id == 0 && q.index == 0:
		w.queue.putModes(noModes(q.many))
	case w.ethtool.id == 0:
		w.queue.put(noModes([]uint32{q.index})...)
	case q.index == 0:
		return w.askMany(ctx, q.many)
	default:
		return w.askOne(ctx, q.index)
	}
	return nil
}

func (w *answerer) askOne(ctx context.Context, index uint32) error {
	if err := w.dialUp(ctx); err != nil {
		w.asker.ask([]uint32{index})
		return err
	}
	modes := netdev.Modes{State: netdev.ModesNone}
	_, err := exchange(w.sock, w.ethtool.modesRequest(index), func(_ netlink.Header, data []byte) {
		_, modes = decodeModes(data)
	})
	switch refusal := refusal(0); {
	case errors.Is(err, unix.ENODEV):
		return nil // It is gone, and that will be announced.
	case err != nil && !errors.As(err, &refusal):
		w.hangUp()
		w.asker.ask([]uint32{index})
		return fmt.Errorf("rtnl: ask for link modes: %w", err)
	}
	w.stats.Answered.Add(1)
	w.queue.put(netdev.Change{Op: netdev.SetModes, Index: index, Modes: modes})
	return nil
}

// askMany asks for indexes by a dump. Those it doesn't answer for have no link
// modes: the dump leaves out what it would answer EOPNOTSUPP for. Any other error
// of one driver ends it, or something may have been hidden by a change: then the
// rest is asked for singly.
func (w *answerer) askMany(ctx context.Context, indexes []uint32) error {
	waiting := setOf(indexes)
	interrupted, err := w.dumpModes(ctx, waiting)
	rest := slices.Collect(maps.Keys(waiting))
	if interrupted || err != nil {
		w.asker.askSingly(rest)
		rest = nil
	}
	w.queue.putModes(noModes(rest))
	if refusal := refusal(0); err != nil && !errors.As(err, &refusal) {
		return fmt.Errorf("rtnl: dump link modes: %w", err)
	}
	return nil
}

// dumpModes queues the answers for devices in waiting, and removes them from it.
func (w *answerer) dumpModes(ctx context.Context, waiting map[uint32]struct{}) (interrupted bool, err error) {
	sock, err := w.dial(unix.NETLINK_GENERIC)
	if err != nil {
		return false, err
	}
	defer closeWith(ctx, sock)()
	w.stats.ModesDumps.Add(1)
	var answers []netdev.Change
	interrupted, err = exchange(sock, w.ethtool.modesRequest(0), func(_ netlink.Header, data []byte) {
		index, modes := decodeModes(data)
		if _, ok := waiting[index]; !ok {
			return
		}
		delete(waiting, index)
		answers = append(answers, netdev.Change{Op: netdev.SetModes, Index: index, Modes: modes})
		if len(answers) == modesChunk {
			w.queue.put(answers...)
			answers = answers[:0]
		}
	})
	w.queue.put(answers...)
	return interrupted, err
}

func (w *answerer) dialUp(ctx context.Context) error {
	if w.sock != nil {
		return nil
	}
	sock, err := w.dial(unix.NETLINK_GENERIC)
	if err != nil {
		return fmt.Errorf("rtnl: ask for link modes: %w", err)
	}
	w.sock, w.hangup = sock, closeWith(ctx, sock)
	return nil
}

func (w *answerer) hangUp() {
	if w.sock != nil {
		w.hangup()
		w.sock, w.hangup = nil, nil
	}
}

// noModes is the answer for devices that have none.
func noModes(indexes []uint32) []netdev.Change {
	none := make([]netdev.Change, len(indexes))
	for i, index := range indexes {
		none[i] = netdev.Change{Op: netdev.SetModes, Index: index, Modes: netdev.Modes{State: netdev.ModesNone}}
	}
	return none
}

// setOf drops what is in indexes twice.
func setOf(indexes []uint32) map[uint32]struct{} {
	set := make(map[uint32]struct{}, len(indexes))
	for _, index := range indexes {
		set[index] = struct{}{}
	}
	return set
}
