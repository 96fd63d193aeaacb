package rtnl

import (
	"slices"
	"sync"

	"github.com/sysfsd/sysfsd/netdev"
)

// dead marks a change in the queue that a later one made void.
const dead netdev.Op = 0xff

// queue holds changes between the goroutines that hear of them and the iterator
// that yields them. Nothing is ever refused, but changes of one device are
// coalesced, so that a slow consumer costs memory for each device that changed
// and not for each change:
//
//   - a Set replaces a pending Set of the same device in place, unless the name
//     or a relation differs: between devices those have to stay in order;
//   - a Gone takes the place of the earliest pending change of its device, whose
//     name is then free before another device takes it, and voids the others;
//   - a Touched is void where anything else of its device is pending.
//
// SetModes are never coalesced: each is the answer to a question.
type queue struct {
	// wake holds a token while there may be something to take.
	wake chan struct{}

	mu sync.Mutex
	// +checklocks:mu
	changes []netdev.Change
	// prev leads from a change to the one before it of the same device; -1: none.
	// +checklocks:mu
	prev []int32
	// last has the latest pending change of a device, SetModes apart.
	// +checklocks:mu
	last map[uint32]int32
	// +checklocks:mu
	lost bool
	// +checklocks:mu
	modesEnd bool
}

// taken is all that was in the queue at one moment.
type taken struct {
	changes []netdev.Change
	// modesEnd says that changes has the last ones of a dump of link modes.
	modesEnd bool
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), last: make(map[uint32]int32)}
}

// put queues changes.
func (q *queue) put(changes ...netdev.Change) {
	q.mu.Lock()
	for i := range changes {
		q.putLocked(&changes[i])
	}
	q.mu.Unlock()
	q.signal()
}

// putModes queues the last answers of a dump of link modes.
func (q *queue) putModes(changes []netdev.Change) {
	q.mu.Lock()
	for i := range changes {
		q.putLocked(&changes[i])
	}
	q.modesEnd = true
	q.mu.Unlock()
	q.signal()
}

// lose notes that announcements were lost.
func (q *queue) lose() {
	q.mu.Lock()
	q.lost = true
	q.mu.Unlock()
	q.signal()
}

// hasLost reports whether announcements were lost since forgetLoss.
func (q *queue) hasLost() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

func (q *queue) forgetLoss() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost = false
}

// discard drops what a dump that begins after the call will show. Answers to
// questions stay.
func (q *queue) discard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changes = slices.DeleteFunc(q.changes, func(c netdev.Change) bool { return c.Op != netdev.SetModes })
	q.prev = q.prev[:len(q.changes)]
	q.forgetLastLocked()
}

// take empties the queue.
func (q *queue) take() taken {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := taken{
		changes:  slices.DeleteFunc(q.changes, func(c netdev.Change) bool { return c.Op == dead }),
		modesEnd: q.modesEnd,
	}
	// The changes are the consumer's now.
	q.changes, q.prev, q.modesEnd = nil, q.prev[:0], false
	q.forgetLastLocked()
	return t
}

// forgetLastLocked empties last. A map that once was large stays so, and costs
// that much each time it is cleared.
//
// +checklocks:q.mu
func (q *queue) forgetLastLocked() {
	if len(q.last) > 1024 {
		q.last = make(map[uint32]int32)
		return
	}
	clear(q.last)
}

// +checklocks:q.mu
func (q *queue) putLocked(c *netdev.Change) {
	if c.Op == netdev.SetModes {
		q.appendLocked(c, -1)
		return
	}
	last, pending := q.last[c.Index]
	if !pending {
		q.last[c.Index] = q.appendLocked(c, -1)
		return
	}
	switch c.Op {
	case netdev.Touched:
	case netdev.Gone:
		q.last[c.Index] = q.voidLocked(last)
	default:
		if sameOrder(&q.changes[last], c) {
			q.changes[last].Link = c.Link
			return
		}
		q.last[c.Index] = q.appendLocked(c, last)
	}
}

// appendLocked returns the position of the change it appended.
//
// +checklocks:q.mu
func (q *queue) appendLocked(c *netdev.Change, prev int32) int32 {
	q.changes, q.prev = append(q.changes, *c), append(q.prev, prev)
	return int32(len(q.changes) - 1)
}

// voidLocked makes the earliest of a device's pending changes a Gone, voids the
// others, and returns its position.
//
// +checklocks:q.mu
func (q *queue) voidLocked(last int32) int32 {
	for q.prev[last] >= 0 {
		q.changes[last] = netdev.Change{Op: dead}
		last = q.prev[last]
	}
	q.changes[last] = netdev.Change{Op: netdev.Gone, Index: q.changes[last].Index}
	return last
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// sameOrder reports that next may take the place of the pending change, ahead of
// all changes of other devices between the two.
func sameOrder(pending, next *netdev.Change) bool {
	a, b := pending.Link, next.Link
	return pending.Op == netdev.Set && a.Name == b.Name && a.Master == b.Master && a.Lower == b.Lower
}
