package tree

import (
	"context"
	"path"
	"slices"
	"strconv"
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
	// suspects are what the last look found to differ; only the checker uses it.
	suspects map[netdev.Serial]*suspect
}

// suspect is a device that was found to differ from its real directory. A message
// comes before or after what it tells of: a port's brport is still there when its
// release is announced. So a difference has to be seen twice to be believed, and
// then it is looked at some more times, at growing distances.
type suspect struct {
	finding finding
	left    int // looks to come after it was believed
	wait    time.Duration
}

// finding is what the check of a device found to differ.
type finding struct {
	device *Device
	differ bool // the files aren't those of its shape
	slots  []attr.Slot
	lowers []uint32 // ifindexes of the devices below
	// replaced: another device has its ifindex and its name.
	replaced bool
}

func (f finding) equal(g finding) bool {
	return f.device == g.device && f.differ == g.differ && f.replaced == g.replaced && slices.Equal(f.slots, g.slots) && slices.Equal(f.lowers, g.lowers)
}

const (
	// confirmAfter is when a difference is looked at again.
	confirmAfter = 5 * time.Millisecond
	// believedLooks follow what was believed, each four times as late as the last:
	// at 20, 80, 320 and 1280 ms.
	believedLooks = 4
	lookGrowth    = 4
	// lateLook is when a device is looked at once more after a message: the names
	// that it tells of may come after it.
	lateLook = 30 * time.Millisecond
	// burst is how many devices a batch may have for late looks to be worth it.
	burst = 64
)

func newChecks() *checks {
	return &checks{
		wake: make(chan struct{}, 1), queued: make(map[netdev.Serial]struct{}),
		suspects: make(map[netdev.Serial]*suspect),
	}
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

func (c *checks) addAfter(d time.Duration, serials ...netdev.Serial) {
	time.AfterFunc(d, func() { c.add(serials...) })
}

// judge takes the result of a look, nil for no difference, and tells whether it is
// to be believed.
func (c *checks) judge(s netdev.Serial, f *finding) bool {
	old := c.suspects[s]
	switch {
	case old == nil && f == nil:
		return false
	case f == nil && old.left == 0:
		delete(c.suspects, s)
		return false
	case f == nil:
		old.left--
		old.wait *= lookGrowth
		c.addAfter(old.wait, s)
		return false
	case old == nil || !old.finding.equal(*f):
		c.suspects[s] = &suspect{finding: *f, wait: confirmAfter}
		c.addAfter(confirmAfter, s)
		return false
	}
	old.left, old.wait = believedLooks, confirmAfter*lookGrowth
	c.addAfter(old.wait, s)
	return true
}

// forget drops what was suspected of a device that is gone.
func (c *checks) forget(s netdev.Serial) { delete(c.suspects, s) }

// retryDelay is for what can't be told before a message that is under way.
const retryDelay = 20 * time.Millisecond

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
	if t.options.Trusted || len(changed) == 0 {
		return
	}
	t.checks.add(changed...)
	if len(changed) <= burst {
		t.checks.addAfter(lateLook, changed...)
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

// compare looks at devices and returns what is to be believed of them.
func (t *Tree) compare(run []netdev.Serial) []finding {
	var found []finding
	snap := t.Snapshot()
	for _, s := range run {
		d, ok := snap.Device(s)
		if !ok {
			t.checks.forget(s)
			continue
		}
		f := t.compareOne(d)
		if t.checks.judge(s, f) {
			found = append(found, *f)
		}
	}
	return found
}

// compareOne returns how a device's real directory differs from what the tree
// says, nil if it doesn't, or if it is gone: a message will tell.
func (t *Tree) compareOne(d *Device) *finding {
	entries, err := t.options.Files.List(d.Dir(), "")
	if err != nil {
		if t.indexAt(d.Path()) == d.Link.Index {
			return &finding{device: d, replaced: true}
		}
		return nil
	}
	if d.real.ino.Load() == 0 { // A device keeps its directory for life.
		if st, err := t.options.Files.Stat(d.Dir(), ""); err == nil {
			d.real.ino.Store(st.Ino)
		}
	}
	f := &finding{device: d, slots: make([]attr.Slot, 0, len(entries))}
	var lowers []string
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name, "lower_"); ok {
			lowers = append(lowers, name)
		} else if !isRelation(e.Name) {
			slot, _ := t.Paths.FindTop(e.Name, d.Link)
			f.slots = append(f.slots, slot)
		}
	}
	slices.Sort(f.slots)
	f.differ = !sameSlots(f.slots, d.Shape.Top)
	if !f.differ && sameLowers(d, lowers) {
		return nil
	}
	f.lowers = t.indexesOf(lowers)
	return f
}

// indexesOf returns the ifindexes of devices of the real tree. Its names may be
// ahead of the tree's.
func (t *Tree) indexesOf(names []string) []uint32 {
	indexes := make([]uint32, 0, len(names))
	for _, name := range names {
		target, err := t.options.Files.Readlink(netdev.Dir{Path: classPath}, name)
		if err != nil {
			continue
		}
		if index := t.indexAt(path.Join(classPath, target)); index != 0 {
			indexes = append(indexes, index)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// indexAt returns the ifindex of the device whose real directory is at a path, 0
// if there is none.
func (t *Tree) indexAt(at string) uint32 {
	buf := make([]byte, 32)
	n, err := t.options.Files.Read(netdev.Dir{Path: at}, "ifindex", buf, 0)
	if err != nil {
		return 0
	}
	index, _ := strconv.ParseUint(strings.TrimSpace(string(buf[:n])), 10, 32)
	return uint32(index)
}

func sameSlots(slots []attr.Slot, top []attr.Static) bool {
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
// that was looked at. Any other is looked at again.
func (t *Tree) settleChecks(findings []finding) {
	for _, f := range findings {
		d, ok := t.next.Device(f.device.Serial)
		switch {
		case !ok:
			continue
		case d != f.device:
			t.checks.add(d.Serial)
			continue
		case f.replaced:
			t.remove(d)
			t.checks.add(t.appear(&change{link: d.Link, modes: &d.Modes}).Serial)
			continue
		case f.differ:
			t.reshape(d)
		}
		t.relower(d.Serial, f.lowers)
	}
	t.settlePlaces()
	t.publish()
}

// reshape learns a device's shape for itself.
func (t *Tree) reshape(d *Device) {
	s, err := t.learn(d)
	if err != nil {
		t.checks.addAfter(retryDelay, d.Serial)
		return
	}
	t.shapes.vote(keyOf(d.Link), s)
	t.own(d).Shape = s
}

// relower makes the devices below what the real directory says, where they are
// not the ports of a master: those tell of it themselves.
func (t *Tree) relower(s netdev.Serial, indexes []uint32) {
	d, ok := t.next.Device(s)
	if !ok {
		return
	}
	lowers := []netdev.Serial{}
	for _, index := range indexes {
		lower, ok := t.byIndex[index]
		if !ok {
			t.checks.addAfter(retryDelay, s) // A device that is on its way here.
			return
		}
		if t.masterOf(lower.Serial) != s {
			lowers = append(lowers, lower.Serial)
		}
	}
	told := []netdev.Serial{}
	if l, ok := t.byIndex[d.Link.Lower]; ok && d.Link.Lower != 0 {
		told = append(told, l.Serial)
	}
	t.edges.found[s] = lowers
	if slices.Equal(told, lowers) {
		delete(t.edges.found, s) // IFLA_LINK says the same.
	}
	t.relate(d)
}
