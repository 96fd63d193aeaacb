package synth

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/sysfsd/sysfsd/netdev"
)

// queue is what waits for the reader of Batches. Its lock is a leaf.
type queue struct {
	wake chan struct{} // has an element while there may be something

	mu sync.Mutex
	// batches and asked wait; without a listener nothing does, for a listener
	// begins with everything.
	// +checklocks:mu
	batches []netdev.Batch
	// +checklocks:mu
	asked []uint32
	// +checklocks:mu
	listening bool
}

func (q *queue) listen(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batches, q.asked, q.listening = nil, nil, on
}

func (q *queue) put(b netdev.Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.listening {
		q.batches = append(q.batches, b)
		q.signal()
	}
}

func (q *queue) ask(indexes []uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.listening {
		q.asked = append(q.asked, indexes...)
		q.signal()
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it was woken already
	}
}

func (q *queue) take() (batches []netdev.Batch, asked []uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batches, asked = q.batches, q.asked
	q.batches, q.asked = nil, nil
	return batches, asked
}

// Batches implements netdev.Source. Link modes of all devices come with the
// first batch, and with every change that they may follow from.
func (p *Population) Batches(ctx context.Context) iter.Seq2[netdev.Batch, error] {
	return func(yield func(netdev.Batch, error) bool) {
		full := p.listen()
		defer p.queue.listen(false)
		if !yield(full, nil) {
			return
		}
		for {
			select {
			case <-ctx.Done():
				yield(netdev.Batch{}, context.Cause(ctx))
				return
			case <-p.queue.wake:
			}
			if !p.deliver(yield) {
				return
			}
		}
	}
}

// deliver yields what waits. Answers come after the batches: they are as new as
// the newest of them.
func (p *Population) deliver(yield func(netdev.Batch, error) bool) bool {
	batches, asked := p.queue.take()
	for _, b := range batches {
		if !yield(b, nil) {
			return false
		}
	}
	answers := p.answer(asked)
	return len(answers) == 0 || yield(netdev.Batch{Changes: answers}, nil)
}

// listen opens the queue and returns a batch of all that was before.
func (p *Population) listen() netdev.Batch {
	p.ctl.Lock()
	defer p.ctl.Unlock()
	p.queue.listen(true)
	changes := make([]netdev.Change, 0, 2*p.devices.live)
	for index, d := range p.devices.all(0, maxIndex) {
		changes = append(changes, netdev.Change{Op: netdev.Set, Index: index, Link: d.link})
	}
	for _, c := range changes {
		changes = append(changes, p.modesChange(c.Index))
	}
	return netdev.Batch{Changes: changes, Full: true}
}

// Ask implements netdev.Source.
func (p *Population) Ask(indexes []uint32) { p.queue.ask(indexes) }

// answer returns the link modes of the devices that were asked for.
func (p *Population) answer(asked []uint32) []netdev.Change {
	slices.Sort(asked)
	var changes []netdev.Change
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, index := range slices.Compact(asked) {
		if p.devices.get(index) != nil {
			changes = append(changes, p.modesChange(index))
		}
	}
	return changes
}

func (p *Population) modesChange(index uint32) netdev.Change {
	return netdev.Change{Op: netdev.SetModes, Index: index, Modes: p.modes(p.devices.get(index))}
}

// touched collects what a change did, by ifindex.
type touched struct {
	set, gone []uint32
	masters   []uint32 // bridges that lost a port
}

// announce queues a batch of what was touched: removals, then devices as they
// are now, then the link modes of these and of all above them, which follow
// without a word.
// Preconditions: ctl is held, mu is not.
func (p *Population) announce(t *touched) {
	slices.Sort(t.gone)
	slices.Sort(t.set)
	t.set = slices.Compact(t.set)
	changes := make([]netdev.Change, 0, len(t.gone)+2*len(t.set))
	for _, index := range t.gone {
		changes = append(changes, netdev.Change{Op: netdev.Gone, Index: index})
	}
	for _, index := range t.set {
		if d := p.devices.get(index); d != nil {
			changes = append(changes, netdev.Change{Op: netdev.Set, Index: index, Link: d.link})
		}
	}
	for _, index := range p.withUppers(t.set) {
		changes = append(changes, p.modesChange(index))
	}
	if len(changes) > 0 {
		p.queue.put(netdev.Batch{Changes: changes})
	}
}

// withUppers returns the devices that are there and all above them, sorted.
func (p *Population) withUppers(indexes []uint32) []uint32 {
	all := make([]uint32, 0, len(indexes))
	seen := make(map[uint32]bool)
	var add func(index uint32)
	add = func(index uint32) {
		_, listed := slices.BinarySearch(indexes, index)
		if listed || seen[index] {
			return
		}
		seen[index] = true
		all = append(all, index)
		p.eachUpper(p.devices.get(index), add)
	}
	for _, index := range indexes {
		if d := p.devices.get(index); d != nil {
			all = append(all, index)
			p.eachUpper(d, add)
		}
	}
	slices.Sort(all)
	return all
}

// eachUpper calls f for what is stacked on a device and for its master.
func (p *Population) eachUpper(d *device, f func(uint32)) {
	for index := range p.devices.stacked(d) {
		f(index)
	}
	if d.link.Master != 0 {
		f(d.link.Master)
	}
}
