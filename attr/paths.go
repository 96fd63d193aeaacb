package attr

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sysfsd/sysfsd/netdev"
)

// Slot numbers a path below a device's directory; all devices share it. Slots
// make node numbers arithmetic, so they are assigned once and never change.
type Slot uint16

// The slots with a meaning of their own.
const (
	SlotDir   Slot = 1 // the directory itself
	SlotClass Slot = 2 // the link to it in class/net
	SlotUpper Slot = 3 // upper_X of a relation
	SlotLower Slot = 4 // lower_X of a relation
	SlotPort  Slot = 5 // brif/X of a relation
	slotFirst Slot = 6

	// FirstPrivate is the first slot of paths that belong to one device and are
	// forgotten with it: names nobody knows beforehand may be without number.
	FirstPrivate Slot = 0x8000
)

// Path is what a shared slot stands for.
type Path struct {
	Name   string // its last component
	Full   string // relative to the device's directory
	Row    *Row   // of a known file, else nil
	Parent Slot
}

// Paths numbers the paths that many devices have: all that the tables know,
// queues as they come. It may be used from any goroutine; readers take no lock.
type Paths struct {
	slots sync.Map // childKey -> Slot
	paths atomic.Pointer[[]Path]
	mu    sync.Mutex // serializes additions
}

type childKey struct {
	name   string
	parent Slot
}

// NewPaths returns the numbers of all paths the tables know.
func NewPaths() *Paths {
	p := &Paths{}
	first := make([]Path, slotFirst)
	p.paths.Store(&first)
	for i := range Names {
		p.addAll(Names[i].Path)
	}
	for _, name := range slices.Concat(ParentFiles, ClassFiles) {
		p.addAll(name)
	}
	// The first queues come before the bonds: slots below 256 give the inode
	// numbers that fit into 32 bits, and every device has a queue.
	common := len(Rows) - len(bondRows)
	for i := range Rows[:common] {
		p.addAll(Rows[i].Path)
	}
	queues, _ := p.Child(SlotDir, "queues")
	p.Child(queues, "rx-0")
	p.Child(queues, "tx-0")
	for i := range bondRows {
		p.addAll(bondRows[i].Path)
	}
	return p
}

// addAll numbers a path and what leads to it, patterns too: a pattern's slot is
// never handed out, it only tells which children are known.
func (p *Paths) addAll(path string) Slot {
	at := SlotDir
	for name := range strings.SplitSeq(path, "/") {
		at = p.add(at, name)
	}
	return at
}

// Child returns the slot of a name below a slot, if it is one that many devices
// share. The name needn't exist anywhere.
func (p *Paths) Child(parent Slot, name string) (Slot, bool) {
	if s, ok := p.slots.Load(childKey{name, parent}); ok {
		return s.(Slot), !strings.Contains(name, "*")
	}
	pattern, ok := queuePattern(name)
	if !ok || !p.isQueues(parent) {
		return 0, false
	}
	return p.addQueue(parent, name, pattern), true
}

// Top returns the slot of a name that stands in the directory of l, numbering
// it if it is new: what a driver adds is the same for all devices it has. It
// is false when there is no number left.
func (p *Paths) Top(name string, l *netdev.Link) (Slot, bool) {
	key := childKey{PatternOf(name, l), SlotDir}
	if s, ok := p.slots.Load(key); ok {
		return s.(Slot), true
	}
	if len(*p.paths.Load()) >= int(FirstPrivate) {
		return 0, false
	}
	return p.add(SlotDir, key.name), true
}

// FindTop is Top for a name that a reader asks for: it numbers nothing.
func (p *Paths) FindTop(name string, l *netdev.Link) (Slot, bool) {
	s, ok := p.slots.Load(childKey{PatternOf(name, l), SlotDir})
	if !ok {
		return 0, false
	}
	return s.(Slot), true
}

// Get returns what a shared slot stands for.
func (p *Paths) Get(s Slot) Path {
	paths := *p.paths.Load()
	if int(s) >= len(paths) {
		return Path{}
	}
	return paths[s]
}

// addQueue numbers a queue's directory and the files below it that the pattern
// has, so that all of them are known from then on.
func (p *Paths) addQueue(parent Slot, name, pattern string) Slot {
	s := p.add(parent, name)
	model, ok := p.slots.Load(childKey{pattern, parent})
	if ok {
		p.copyBelow(model.(Slot), s)
	}
	return s
}

func (p *Paths) copyBelow(from, to Slot) {
	for s, path := range *p.paths.Load() {
		if path.Parent != from {
			continue
		}
		p.copyBelow(Slot(s), p.add(to, path.Name))
	}
}

// isQueues reports that a slot is that of the directory queues.
func (p *Paths) isQueues(s Slot) bool { return p.Get(s).Full == "queues" }

// queuePattern returns how the tables call a queue's directory.
func queuePattern(name string) (string, bool) {
	n, ok := strings.CutPrefix(name, "rx-")
	if !ok {
		n, ok = strings.CutPrefix(name, "tx-")
	}
	if !ok || n == "" || len(n) > 5 || strings.Trim(n, "0123456789") != "" || (n[0] == '0' && n != "0") {
		return "", false
	}
	return name[:3] + "*", true
}

// add numbers one name, once.
func (p *Paths) add(parent Slot, name string) Slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := childKey{name, parent}
	if s, ok := p.slots.Load(key); ok {
		return s.(Slot)
	}
	old := *p.paths.Load()
	s := Slot(len(old))
	full := name
	if parent != SlotDir {
		full = old[parent].Full + "/" + name
	}
	paths := append(old, Path{Name: name, Full: full, Row: rowOf(full), Parent: parent})
	p.paths.Store(&paths)
	p.slots.Store(key, s)
	return s
}

// rowOf finds the row of a path, whose queue number the table writes as '*'.
func rowOf(path string) *Row {
	parts := strings.Split(path, "/")
	if len(parts) > 1 && parts[0] == "queues" {
		if pattern, ok := queuePattern(parts[1]); ok {
			parts[1] = pattern
		}
	}
	return rowsByPath[strings.Join(parts, "/")]
}

var rowsByPath = func() map[string]*Row {
	m := make(map[string]*Row, len(Rows))
	for i := range Rows {
		m[Rows[i].Path] = &Rows[i]
	}
	return m
}()

// Known returns the slot of a path that the tables have.
//
// Preconditions: they have it, and it stands in the device's directory itself.
func (p *Paths) Known(name string) Slot {
	s, ok := p.Child(SlotDir, name)
	if !ok {
		panic("attr: Known of a path that no table has: " + name)
	}
	return s
}
