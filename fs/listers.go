package fs

import (
	"sync"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

// listers guess from what a process did after its last listing of a device's
// directory whether it will ask for the attributes of every entry of the next,
// as ls -l and find -L do. Such a one gets them with the listing, one round trip
// instead of forty; for all others they would cost an inode an entry for nothing.
type listers struct {
	mu sync.Mutex
	// +checklocks:mu
	last [listerSlots]lister
}

// lister is one process, in the place that its ID falls into: who has the same
// place is forgotten, which costs only speed.
type lister struct {
	pid     uint32
	dir     tree.Node
	entries int // of its last listing
	asked   int // for how many of them it asked since
	full    int // listings in a row that came with attributes
}

const (
	listerSlots = 256
	// retest is after how many full listings a light one tests whether the
	// attributes are still wanted: with them nothing is asked for.
	retest = 32
)

// lists notes that a process lists a directory from its beginning, and tells
// whether it wants attributes.
func (l *listers) lists(pid uint32, dir tree.Node, entries int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.last[pid%listerSlots]
	switch {
	case p.pid != pid:
		*p = lister{pid: pid}
	case p.full > 0 && p.full < retest:
		p.full++
	case p.entries > 0 && p.asked >= p.entries/2:
		p.full = 1
	default:
		p.full = 0
	}
	if p.full == retest {
		p.full = 0
	}
	p.dir, p.entries, p.asked = dir, entries, 0
	return p.full > 0
}

// asks notes that a process asks for the attributes of something of an object.
func (l *listers) asks(pid uint32, of netdev.Serial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := &l.last[pid%listerSlots]; p.pid == pid && p.dir.Serial() == of {
		p.asked++
	}
}

// continues tells whether a listing of that directory comes with attributes.
func (l *listers) continues(pid uint32, dir tree.Node) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.last[pid%listerSlots]
	return p.pid == pid && p.dir == dir && p.full > 0
}
