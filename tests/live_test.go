package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/internal/testns"
)

const (
	// promise is how long after the kernel's announcement, or after a change
	// that it does not announce, the mount may be behind.
	promise = 50 * time.Millisecond
	// linkWatch is the same for what link-watch announces, counted from the
	// event: the kernel itself may say nothing for a second.
	linkWatch = 1200 * time.Millisecond
	// slowness lets a daemon under the race detector be that much slower.
	slowness = 4
)

// delayed are the files that follow link-watch.
var delayed = regexp.MustCompile(
	`/(carrier|operstate|dormant|testing|speed|duplex|carrier_changes|carrier_up_count|carrier_down_count)$`)

// live is a namespace with a few devices in which one thing changes.
//
//	a0 - a1   veth pair; mv0 (macvlan) and vx0 (vxlan) lie on a0
//	br0       bridge with the ports p0 (peer q0) and t1 (tap)
//	br1       bridge without ports
//	mq0 - mq1 veth pair, 4 queues allocated, 2 in use each way
//	x0 - x1   veth pair
//	t0        tap
//	i0, i1    ifb
type live struct {
	*testing.T
	ns, other *testns.NS
	state     string // "up" or "down", of every device.
	writable  string // The real sysfs, to write to.
	tap       *os.File
}

var liveDevices = strings.Fields("lo a0 a1 mv0 vx0 br0 br1 p0 q0 mq0 mq1 x0 x1 t0 t1 i0 i1")

func newLive(t *testing.T, state string) *live {
	t.Helper()
	l := &live{T: t, ns: testns.New(t), other: testns.New(t), state: state}
	l.writable = l.ns.WritableSysfs()
	l.ns.IP(
		"link add a0 type veth peer name a1",
		"link add p0 type veth peer name q0",
		"link add x0 type veth peer name x1",
		"link add mq0 numrxqueues 4 numtxqueues 4 type veth peer name mq1 numrxqueues 4 numtxqueues 4",
		"link add mv0 link a0 type macvlan mode bridge",
		"link add vx0 type vxlan id 10 dev a0 dstport 4789",
		"tuntap add t0 mode tap", "tuntap add t1 mode tap",
		"link add br0 type bridge", "link add br1 type bridge",
		"link set p0 master br0", "link set t1 master br0",
		"link add i0 type ifb", "link add i1 type ifb",
	)
	l.ns.Run("ethtool", "-L", "mq0", "rx", "2", "tx", "2")
	l.ns.Run("ethtool", "-L", "mq1", "rx", "2", "tx", "2")
	if state == "up" {
		var lines []string
		for _, name := range liveDevices {
			lines = append(lines, "link set "+name+" up")
		}
		l.ns.IP(lines...)
	}
	return l
}

// ip runs lines of ip -batch where the devices are.
func (l *live) ip(lines ...string) { l.Helper(); l.ns.IP(lines...) }

// write changes a device by a file of the real sysfs.
func (l *live) write(file, value string) {
	l.Helper()
	require.NoError(l, os.WriteFile(filepath.Join(l.writable, "class/net", file), []byte(value), 0))
}

// swap gives two devices each other's name.
func (l *live) swap(a, b string) {
	l.Helper()
	// One process each: ip remembers names for the length of a batch.
	l.ip("link set " + a + " name swapping")
	l.ip("link set " + b + " name " + a)
	l.ip("link set swapping name " + b)
}

// toggle turns the state of a device around.
func (l *live) toggle(name string) {
	l.Helper()
	l.ip("link set " + name + " " + map[string]string{"up": "down", "down": "up"}[l.state])
}

// liveCase is one change, after which the whole tree must be right.
type liveCase struct {
	name    string
	prepare func(l *live) // Before the daemon starts.
	change  func(l *live)
	// watched changes reach carrier and operstate through link-watch.
	watched bool
	// late says in which state docs/differences.md lets the tree be behind for as
	// long as link-watch may be.
	late string
	// noop says in which state ("up", "down" or "both") the change changes no
	// file. In others one that changes nothing is a fault of the test.
	noop string
}

func TestEveryChangeIsSeenInTime(t *testing.T) {
	// Cases overlap only where they wait for link-watch: 50 ms mean little on a
	// machine that is busy with the other cases.
	var quiet sync.Mutex
	for _, c := range liveCases {
		for _, state := range []string{"up", "down"} {
			t.Run(c.name+"/"+state, func(t *testing.T) {
				t.Parallel()
				quiet.Lock()
				defer quiet.Unlock()
				c.test(t, state, &quiet)
			})
		}
	}
}

// +checklocksignore
//
// test goes through one case. Preconditions: quiet is locked.
func (c *liveCase) test(t *testing.T, state string, quiet sync.Locker) {
	l := newLive(t, state)
	if c.prepare != nil {
		c.prepare(l)
	}
	sysfs := l.ns.Sysfs()
	readCarriers(sysfs)
	mnt := serve(t, l.ns)
	before := assertEqual(t, sysfs, mnt) // Also fills all caches with what is about to be old.
	if t.Failed() {
		return
	}
	watch := l.ns.Watch()

	c.change(l)
	changed := time.Now()
	waitSince(changed, watch)
	var after tree
	if !c.watched {
		after = assertInTime(t, sysfs, mnt, nil)
	} else {
		if c.late != state {
			assertInTime(t, sysfs, mnt, delayed.MatchString)
		}
		quiet.Unlock()
		time.Sleep(time.Until(changed.Add(slow(linkWatch))))
		quiet.Lock()
		after = assertInTime(t, sysfs, mnt, nil)
	}
	effect := withoutMoving(diff(before, after))
	if c.noop == state || c.noop == "both" {
		assertNone(t, effect)
	} else {
		assert.NotEmpty(t, effect, "the change changed nothing")
	}
}

// readCarriers makes link-watch announce what it has put off so far, so that it
// does not come in the middle of a test.
func readCarriers(sysfs string) {
	files, _ := filepath.Glob(filepath.Join(sysfs, "class/net/*/carrier"))
	for _, file := range files {
		_, _ = readWhole(file)
	}
}

// waitSince waits until the promised time after a change, and after the last
// announcement that came of it.
func waitSince(changed time.Time, watch *testns.Watch) {
	for {
		last := changed
		if at := watch.Last(); at.After(changed) {
			last = at
		}
		left := time.Until(last.Add(slow(promise)))
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}

// assertInTime compares once, and returns the real tree. A difference is looked
// at until it goes away, to say whether it was late or would have stayed.
func assertInTime(t *testing.T, sysfs, mnt string, skip func(string) bool) tree {
	t.Helper()
	ds, theirs := compare(sysfs, mnt, skip)
	if len(ds) == 0 {
		return theirs
	}
	t.Error(report(ds))
	for begin := time.Now(); time.Since(begin) < settleTime; time.Sleep(10 * time.Millisecond) {
		if ds, _ := compare(sysfs, mnt, skip); len(ds) == 0 {
			t.Logf("right %v later", time.Since(begin).Round(time.Millisecond))
			return theirs
		}
	}
	t.Log("and it stays wrong")
	return theirs
}

// withoutMoving leaves what a change has done.
func withoutMoving(ds []difference) []difference {
	var rest []difference
	for _, d := range ds {
		if !moving.MatchString(d.path) {
			rest = append(rest, d)
		}
	}
	return rest
}

func slow(d time.Duration) time.Duration {
	if os.Getenv("SYSFSD_RACE") == "1" {
		return slowness * d
	}
	return d
}
