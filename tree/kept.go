package tree

import (
	"sync"

	"github.com/sysfsd/sysfsd/attr"
)

// Answer is what a read of a file got: its text, or the error. It is immutable.
type Answer struct {
	Err  error
	Text string
}

// Kept returns what was kept of a Kept file, nil if it was not read since the
// device was last announced.
func (d *Device) Kept(r *attr.Row) *Answer { return d.kept[r.Keep].Load() }

// Keep keeps what was read of a Kept file while d was current. If d was replaced
// meanwhile nobody looks at it any more, so an old value can't stay.
func (t *Tree) Keep(d *Device, r *attr.Row, a Answer) { d.kept[r.Keep].Store(t.answers.intern(a)) }

// maxAnswers bounds the interner; beyond it each device has its own copy.
const maxAnswers = 1024

// interner shares the few texts that the kept files of all devices have.
type interner struct {
	mu sync.Mutex
	// +checklocks:mu
	m map[Answer]*Answer
}

func (i *interner) intern(a Answer) *Answer {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p, ok := i.m[a]; ok {
		return p
	}
	if i.m == nil {
		i.m = make(map[Answer]*Answer)
	}
	if len(i.m) < maxAnswers {
		i.m[a] = &a
	}
	return &a
}
