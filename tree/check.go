package tree

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// checks are the devices whose real directory is to be compared with the tree:
// each one after each message about it, in the background.
type checks struct {
	wake chan struct{}
	mu   sync.Mutex
	// +checklocks:mu
	queued map[netdev.Serial]struct{}
	// +checklocks:mu
	queue []netdev.Serial
}

// finding is what the check of a device found to differ.
type finding struct {
	device *Device
	differ bool     // the files aren't those of its shape
	lowers []string // names of the devices below
}

func newChecks() *checks {
	return &checks{wake: make(chan struct{}, 1), queued: make(map[netdev.Serial]struct{})}
}

func (c *checks) add(serials ...netdev.Serial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range serials {
		if _, ok := c.queued[s]; !ok {
			c.queued[s] = struct{}{}
			c.queue = append(c.queue, s)
		}
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// retryDelay is for what can't be told before a message that is under way.
const retryDelay = 20 * time.Millisecond

func (c *checks) addLater(s netdev.Serial) { time.AfterFunc(retryDelay, func() { c.add(s) }) }

// take returns up to n devices of the queue.
func (c *checks) take(n int) []netdev.Serial {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(n, len(c.queue))
	taken := slices.Clone(c.queue[:n])
	c.queue = c.queue[n:]
	if len(c.queue) == 0 {
		c.queue = nil
	}
	for _, s := range taken {
		delete(c.queued, s)
	}
	return taken
}

func (t *Tree) queueChecks(changed []netdev.Serial) {
	if !t.options.Trusted && len(changed) > 0 {
		t.checks.add(changed...)
	}
}

// checkRun is how many devices are checked in one go. After a full one the
// checker pauses as long as it took: a dump makes work for seconds, and readers
// come first.
const checkRun = 128

// check compares queued devices with their real directories until ctx ends.
func (t *Tree) check(ctx context.Context, found chan<- []finding) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.checks.wake:
		}
		for run := t.checks.take(checkRun); len(run) > 0; run = t.checks.take(checkRun) {
			start := time.Now()
			if findings := t.compare(run); len(findings) > 0 {
				select {
				case found <- findings:
				case <-ctx.Done():
					return
				}
			}
			if len(run) == checkRun {
				pause(ctx, time.Since(start))
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (t *Tree) compare(run []netdev.Serial) []finding {
	var found []finding
	snap := t.Snapshot()
	for _, s := range run {
		if d, ok := snap.Device(s); ok {
			if f, ok := t.compareOne(d); !ok {
				found = append(found, f)
			}
		}
	}
	return found
}

// compareOne reports whether a device's real directory is as the tree says.
func (t *Tree) compareOne(d *Device) (finding, bool) {
	entries, err := t.options.Files.List(d.Dir(), "")
	if err != nil {
		return finding{}, true // Gone, or soon renamed: a message follows.
	}
	if st, err := t.options.Files.Stat(d.Dir(), ""); err == nil {
		d.ino.Store(st.Ino)
	}
	f := finding{device: d}
	slots := make([]attr.Slot, 0, len(entries))
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name, "lower_"); ok {
			f.lowers = append(f.lowers, name)
		} else if !isRelation(e.Name) {
			slot, _ := t.Paths.FindTop(e.Name, d.Link)
			slots = append(slots, slot)
		}
	}
	f.differ = !sameSlots(slots, d.Shape.Top)
	return f, !f.differ && sameLowers(d, f.lowers)
}

func sameSlots(slots []attr.Slot, top []attr.Static) bool {
	slices.Sort(slots)
	return slices.EqualFunc(slots, top, func(s attr.Slot, e attr.Static) bool { return s == e.Slot })
}

// sameLowers reports whether the tree has just these lower_X links.
func sameLowers(d *Device, lowers []string) bool {
	n := 0
	for e := range d.Names().After(0) {
		if name, ok := strings.CutPrefix(e.Name, "lower_"); ok {
			n++
			if !slices.Contains(lowers, name) {
				return false
			}
		}
	}
	return n == len(lowers)
}

// settleChecks takes over what checks found, where the device is still the one
// that was looked at; any other has been queued anew by what changed it.
func (t *Tree) settleChecks(findings []finding) {
	for _, f := range findings {
		if d, ok := t.next.Device(f.device.Serial); !ok || d != f.device {
			continue
		}
		if f.differ {
			t.reshape(f.device)
		}
		t.relower(f.device.Serial, f.lowers)
	}
	t.settlePlaces()
	t.publish()
}

// reshape learns a device's shape for itself.
func (t *Tree) reshape(d *Device) {
	s, err := t.learn(d)
	if err != nil {
		t.checks.addLater(d.Serial)
		return
	}
	t.shapes.byKey[keyOf(d.Link)] = s
	t.own(d).Shape = s
}

// relower makes the devices below what the real directory says, where they are
// not the ports of a master: those tell of it themselves.
func (t *Tree) relower(s netdev.Serial, names []string) {
	d, ok := t.next.Device(s)
	if !ok {
		return
	}
	lowers := []netdev.Serial{}
	for _, name := range names {
		e, ok := t.places.class.dir.Lookup(name)
		if !ok {
			t.checks.addLater(s) // A name that is on its way here.
			return
		}
		if lower := Node(e.Node).Serial(); t.masterOf(lower) != s {
			lowers = append(lowers, lower)
		}
	}
	t.edges.found[s] = lowers
	if l, ok := t.byIndex[d.Link.Lower]; ok && len(lowers) == 1 && l.Serial == lowers[0] {
		delete(t.edges.found, s) // IFLA_LINK says the same.
	}
	t.relate(d)
}
