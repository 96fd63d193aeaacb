package sysfs

import (
	"container/list"
	"sync"

	"github.com/sysfsd/sysfsd/netdev"
)

// held keeps descriptors of device directories, by the devices' serials. Beyond
// its bound, that of the device not asked for longest is given up; whoever uses
// it still has it.
//
// Invariants: dirs and order have the same entries, at most bound of them. A
// descriptor here has one user more than those outside.
type held struct {
	mu sync.Mutex
	// +checklocks:mu
	bound int
	// +checklocks:mu
	dirs map[netdev.Serial]*list.Element
	// order has *heldDir, the last one used first.
	// +checklocks:mu
	order *list.List
}

// heldDir is one device's directory.
type heldDir struct {
	dir    *desc // nil: the device is gone, and no other is to be taken for it
	serial netdev.Serial
}

func newHeld(bound int) *held {
	return &held{bound: bound, dirs: make(map[netdev.Serial]*list.Element), order: list.New()}
}

// get returns a device's directory with the caller as a user, nil for a device
// known to be gone.
func (h *held) get(s netdev.Serial) (dir *desc, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.dirs[s]
	if !ok {
		return nil, false
	}
	h.order.MoveToFront(e)
	dir = entry(e).dir
	dir.acquire()
	return dir, true
}

// put holds a device's directory from now on, unless another goroutine was
// faster, and returns the one held, as get does.
//
// Preconditions: the caller is dir's only user.
func (h *held) put(s netdev.Serial, dir *desc) *desc {
	h.mu.Lock()
	if e, ok := h.dirs[s]; ok {
		first := entry(e).dir
		first.acquire()
		h.mu.Unlock()
		dir.release()
		return first
	}
	if h.bound == 0 {
		h.mu.Unlock()
		return dir
	}
	dir.acquire()
	h.dirs[s] = h.order.PushFront(&heldDir{dir: dir, serial: s})
	var last *desc
	if h.order.Len() > h.bound {
		last = h.dropLocked(h.order.Back())
	}
	h.mu.Unlock()
	last.release()
	return dir
}

// gone gives a directory up because its device is gone. The serial is kept in
// mind: a device that has the same ifindex and name now is another one.
func (h *held) gone(s netdev.Serial, dir *desc) {
	h.mu.Lock()
	e, ok := h.dirs[s]
	ok = ok && entry(e).dir == dir
	if ok {
		entry(e).dir = nil
	}
	h.mu.Unlock()
	if ok {
		dir.release()
	}
}

// forget drops all that is known of a device.
func (h *held) forget(s netdev.Serial) {
	h.mu.Lock()
	var dir *desc
	if e, ok := h.dirs[s]; ok {
		dir = h.dropLocked(e)
	}
	h.mu.Unlock()
	dir.release()
}

// shrink gives up the half that was used longest ago, and reports whether there
// was something to give up.
func (h *held) shrink() bool {
	h.mu.Lock()
	dropped := h.dropOldestLocked((h.order.Len() + 1) / 2)
	h.mu.Unlock()
	for _, dir := range dropped {
		dir.release()
	}
	return len(dropped) > 0
}

// close gives up all, and holds nothing any more.
func (h *held) close() {
	h.mu.Lock()
	h.bound = 0
	dropped := h.dropOldestLocked(h.order.Len())
	h.mu.Unlock()
	for _, dir := range dropped {
		dir.release()
	}
}

// +checklocks:h.mu
func (h *held) dropOldestLocked(n int) []*desc {
	dropped := make([]*desc, 0, n)
	for range n {
		dropped = append(dropped, h.dropLocked(h.order.Back()))
	}
	return dropped
}

// dropLocked takes an entry out and returns what the caller is to release.
//
// +checklocks:h.mu
func (h *held) dropLocked(e *list.Element) *desc {
	d := entry(e)
	h.order.Remove(e)
	delete(h.dirs, d.serial)
	return d.dir
}

func entry(e *list.Element) *heldDir { return e.Value.(*heldDir) }
