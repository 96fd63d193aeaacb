package tree

import (
	"sync"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// privates numbers the paths that belong to one object: names below directories
// that nobody knows, which may be without number, such as tap12 in macvtap/. They
// go with their object.
type privates struct {
	mu sync.RWMutex
	// +checklocks:mu
	of map[netdev.Serial]*private
}

type private struct {
	slots map[privateKey]attr.Slot
	paths []attr.Path
}

type privateKey struct {
	name   string
	parent attr.Slot
}

// Child returns the slot of a name below a directory of an object, numbering it
// if it is new; false if there is no number left. The caller has seen that the
// name exists.
func (t *Tree) Child(s netdev.Serial, parent attr.Slot, name string) (attr.Slot, bool) {
	if parent < attr.FirstPrivate {
		if slot, ok := t.Paths.Child(parent, name); ok {
			return slot, true
		}
	}
	alive := func() bool {
		snap := t.Snapshot()
		_, isDevice := snap.Device(s)
		_, isPlace := snap.Place(s)
		return isDevice || isPlace
	}
	return t.private.child(s, parent, name, t.PathOf(s, parent).Full, alive)
}

// PathOf returns what a slot of an object stands for; its zero value if nothing.
func (t *Tree) PathOf(s netdev.Serial, slot attr.Slot) attr.Path {
	if slot < attr.FirstPrivate {
		return t.Paths.Get(slot)
	}
	t.private.mu.RLock()
	defer t.private.mu.RUnlock()
	p, ok := t.private.of[s]
	if i := int(slot - attr.FirstPrivate); ok && i < len(p.paths) {
		return p.paths[i]
	}
	return attr.Path{}
}

// child numbers nothing for an object that is gone: it was dropped after that was
// published, and would never be again.
func (p *privates) child(s netdev.Serial, parent attr.Slot, name, dir string, alive func() bool) (attr.Slot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = make(map[netdev.Serial]*private)
	}
	own, ok := p.of[s]
	if !ok {
		if !alive() {
			return 0, false
		}
		own = &private{slots: make(map[privateKey]attr.Slot)}
		p.of[s] = own
	}
	key := privateKey{name, parent}
	if slot, ok := own.slots[key]; ok {
		return slot, true
	}
	if len(own.paths) > int(^attr.Slot(0)-attr.FirstPrivate) {
		return 0, false
	}
	full := name
	if dir != "" {
		full = dir + "/" + name
	}
	slot := attr.FirstPrivate + attr.Slot(len(own.paths))
	own.slots[key] = slot
	own.paths = append(own.paths, attr.Path{Name: name, Full: full, Parent: parent})
	return slot, true
}

func (p *privates) drop(dead []netdev.Serial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range dead {
		delete(p.of, s)
	}
}
