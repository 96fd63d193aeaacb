package rtnl

import "sync"

// A dump asks about a device in a tenth of the time that a single question takes
// (2 and 20 us on the machine this was written on), so it is made where more than
// every dumpShare-th device was asked for. Below dumpLeast single questions are
// over soon enough.
const (
	dumpShare = 8
	dumpLeast = 1000
)

// asker holds the questions for link modes that wait for their turn.
type asker struct {
	// wake holds a token while there may be a question.
	wake chan struct{}

	mu sync.Mutex
	// +checklocks:mu
	queued []uint32
	// waiting has what is in queued. A question leaves it when it is put to the
	// kernel: who asks after that wants an answer from after that.
	// +checklocks:mu
	waiting map[uint32]struct{}
	// known are the devices of the last Full batch. The slice is immutable.
	// +checklocks:mu
	known []uint32
	// +checklocks:mu
	dumpNext bool
	// held says that a dump will be asked for soon, which will answer all that is
	// queued: until then nothing is asked.
	// +checklocks:mu
	held bool
	// singly says that a dump failed on what is queued.
	// +checklocks:mu
	singly bool
}

// question is put singly for one device, or as a dump for many.
type question struct {
	index uint32 // 0: many
	many  []uint32
}

func newAsker() *asker {
	return &asker{wake: make(chan struct{}, 1), waiting: make(map[uint32]struct{}), held: true}
}

// ask queues questions and returns how many were new.
func (a *asker) ask(indexes []uint32) int {
	a.mu.Lock()
	n := len(a.queued)
	for _, index := range indexes {
		if _, ok := a.waiting[index]; !ok && index != 0 {
			a.waiting[index] = struct{}{}
			a.queued = append(a.queued, index)
		}
	}
	n = len(a.queued) - n
	a.mu.Unlock()
	a.signal()
	return n
}

// askSingly queues what a dump left unanswered. Another dump would as well.
func (a *asker) askSingly(indexes []uint32) {
	a.mu.Lock()
	a.singly = true
	a.mu.Unlock()
	a.ask(indexes)
}

// hold keeps all questions back until dump is called.
func (a *asker) hold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = true
}

// dump asks for all devices.
func (a *asker) dump(known []uint32) {
	a.mu.Lock()
	a.known, a.dumpNext, a.held = known, true, false
	a.mu.Unlock()
	a.signal()
}

// dumpAgain asks for all devices that were last dumped, and for new ones.
func (a *asker) dumpAgain() {
	a.mu.Lock()
	a.dumpNext = true
	a.mu.Unlock()
	a.signal()
}

// next takes the next question. One for all devices goes first and answers those
// that are queued for single ones.
func (a *asker) next() (q question, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held {
		return question{}, false
	}
	switch n := len(a.queued); {
	case a.dumpNext:
		q.many = append(append([]uint32(nil), a.known...), a.queued...)
		a.dumpNext = false
		a.emptyLocked()
		return q, true
	case !a.singly && n >= dumpLeast && n >= len(a.known)/dumpShare:
		q.many = a.queued
		a.emptyLocked()
		return q, true
	case n == 0:
		a.singly = false
		return question{}, false
	}
	q.index = a.queued[0]
	if a.queued = a.queued[1:]; len(a.queued) == 0 {
		a.queued = nil
	}
	delete(a.waiting, q.index)
	return q, true
}

// emptyLocked leaves the old queue to the question it became.
//
// +checklocks:a.mu
func (a *asker) emptyLocked() {
	a.queued, a.waiting = nil, make(map[uint32]struct{})
}

func (a *asker) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}
