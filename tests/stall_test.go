package tests

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

const (
	// readGoal is the design's bound for the worst read while others tear down.
	readGoal = 10 * time.Millisecond
	// stallAttempts: on a machine shared with others one run proves a good
	// bound, not a bad one.
	stallAttempts = 6
)

func TestReadersDoNotWaitForTheTeardownOfOthers(t *testing.T) {
	if reference() {
		t.Skip("sysfs itself does make readers wait")
	}
	ns := testns.New(t)
	ns.IP("link add v0 type veth peer name v1", "link set v0 up", "link set v1 up")
	sysfs, mnt := ns.Sysfs(), serve(t, ns)
	assertEqual(t, sysfs, mnt)
	count := scale(2000, 20_000)
	for attempt := 1; ; attempt++ {
		w := worstDuringTeardown(t, count, sysfs, mnt)
		t.Logf("%d devices torn down in %v; worst read: mount %v, its statfs %v, sysfs %v",
			count, w.teardown, w.mount, w.null, w.sysfs)
		if w.mount < readGoal || w.mount < 2*w.null {
			return
		}
		if attempt == stallAttempts {
			assert.Fail(t, "readers waited", "%v, more than %v and twice statfs's %v", w.mount, readGoal, w.null)
			return
		}
	}
}

// requests is how many a read through the mount may take, from the lookups of
// its path to the close.
const requests = 5

// worst are the longest times of one run.
type worst struct{ teardown, mount, null, sysfs time.Duration }

// worstDuringTeardown deletes devices of another namespace and reads meanwhile
// what the kernel answers under the lock that this takes. It does so twice: who
// waits for that lock in the kernel spins, and takes a processor from the rest.
func worstDuringTeardown(t *testing.T, count int, sysfs, mnt string) worst {
	t.Helper()
	var w worst
	tearDown(t, count, func(name string) { longest(&w.sysfs, func() { mustRead(sysfs, name) }) })
	w.teardown = tearDown(t, count, func(name string) {
		// In turn, on one thread: what the scheduler does to one it does to the other.
		longest(&w.mount, func() { mustRead(mnt, name) })
		longest(&w.null, func() {
			for range requests {
				_ = unix.Statfs(mnt, &unix.Statfs_t{})
			}
		})
	})
	return w
}

// tearDown makes devices in a namespace of their own and deletes them all at
// once, while read is called with each of the files in turn.
func tearDown(t *testing.T, count int, read func(name string)) time.Duration {
	t.Helper()
	other := newCrowd(t, count)
	over := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() { repeat(over, read) })
	begin := time.Now()
	other.Run("ip", "link", "del", "group", "7")
	took := time.Since(begin)
	close(over)
	reader.Wait()
	assert.NotContains(t, other.Run("ip", "-o", "link"), "veth", "what was not torn down kept nobody waiting")
	return took
}

// newCrowd is a namespace with that many veths. One of each pair is in group 7,
// so that deleting the group deletes them all at once.
func newCrowd(t *testing.T, count int) *testns.NS {
	t.Helper()
	ns := testns.New(t)
	var lines []string
	for i := range count / 2 {
		lines = append(lines, fmt.Sprintf("link add v%d group 7 type veth peer name w%d", i, i))
	}
	ns.IP(lines...)
	return ns
}

// repeat calls f with each of the files that the kernel answers under RTNL.
func repeat(over <-chan struct{}, f func(name string)) {
	for {
		for _, name := range []string{"carrier", "speed", "duplex"} {
			f(name)
		}
		select {
		case <-over:
			return
		case <-time.After(100 * time.Microsecond): // A reader, not a load.
		}
	}
}

// mustRead reads a file of a veth that is up, of which none fails.
func mustRead(root, name string) {
	if _, err := readWhole(filepath.Join(root, "class/net/v0", name)); err != nil {
		panic(err)
	}
}

// longest makes most the time of f, if that is more.
func longest(most *time.Duration, f func()) {
	begin := time.Now()
	f()
	*most = max(*most, time.Since(begin))
}
