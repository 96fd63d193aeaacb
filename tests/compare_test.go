package tests

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// difference is one fact about one path in which a mount is not as sysfs is.
type difference struct {
	path string
	what string
	real string
	ours string
}

// moving are files whose content changes on its own, by time or traffic. Two
// readings of them differ without anybody being wrong.
var moving = regexp.MustCompile(`/(statistics/[a-z_]+` +
	`|(bridge|brport)/[a-z_]+_timer` +
	`|brforward` +
	`|queues/tx-\d+/byte_queue_limits/(inflight|limit)` +
	`|power/runtime_[a-z_]*time)$`)

// compare reads the mount first and the real sysfs afterwards, because reading
// the latter makes the kernel announce what it had put off. It returns the
// differences, and the walk of the real one.
func compare(realRoot, mountRoot string, skip func(string) bool) ([]difference, tree) {
	ours := walkMount(mountRoot, skip)
	theirs := walkSysfs(realRoot, skip)
	return settled(diff(theirs, ours), realRoot, mountRoot), theirs
}

// settled takes out of ds what moved between the two walks and is right when
// looked at closely.
func settled(ds []difference, realRoot, mountRoot string) []difference {
	return slices.DeleteFunc(ds, func(d difference) bool {
		return d.what == "content" && moving.MatchString(d.path) && meets(realRoot, mountRoot, d.path)
	})
}

// meets reads a moving file between two readings of the real one: ours must be
// one of the two.
func meets(realRoot, mountRoot, p string) bool {
	read := func(root string) string {
		content, err := readWhole(filepath.Join(root, p))
		return errno(err) + " " + content
	}
	for range 20 {
		before, ours, after := read(realRoot), read(mountRoot), read(realRoot)
		if ours == before || ours == after {
			return true
		}
	}
	return false
}

// assertEqual fails the test with every difference, once the trees had time to
// settle: for tests of what is shown, not of when. It returns the real tree.
func assertEqual(tb testing.TB, realRoot, mountRoot string) tree {
	tb.Helper()
	for deadline := time.Now().Add(settleTime); ; {
		ds, theirs := compare(realRoot, mountRoot, nil)
		if len(ds) == 0 || time.Now().After(deadline) {
			assertNone(tb, ds)
			return theirs
		}
		// The wait between two looks; link-watch takes up to a second per round.
		time.Sleep(100 * time.Millisecond)
	}
}

// assertNone fails the test with every difference.
func assertNone(tb testing.TB, ds []difference) {
	tb.Helper()
	if len(ds) > 0 {
		tb.Error(report(ds))
	}
}

// settleTime is how long link-watch may go on after the last change of many.
const settleTime = 3 * time.Second

// diff compares two walks. What it does not compare is not promised: times,
// inode numbers, and the order of directories.
func diff(theirs, ours tree) []difference {
	var ds []difference
	paths := slices.Sorted(maps.Keys(theirs))
	for p := range ours {
		if theirs[p] == nil {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		switch r, m := theirs[p], ours[p]; {
		// What is below such a directory goes without saying.
		case m == nil && ours[path.Dir(p)] != nil:
			ds = append(ds, difference{p, "name", "there", "missing"})
		case r == nil && theirs[path.Dir(p)] != nil:
			ds = append(ds, difference{p, "name", "not there", "extra"})
		case m == nil || r == nil:
		default:
			ds = append(ds, diffEntry(p, r, m)...)
		}
	}
	return ds
}

func diffEntry(p string, r, m *entry) []difference {
	var ds []difference
	check := func(what, theirs, ours string) {
		if theirs != ours {
			ds = append(ds, difference{p, what, theirs, ours})
		}
	}
	check("lstat", errno(r.err), errno(m.err))
	if r.err != nil || m.err != nil {
		return ds
	}
	check("mode", fmt.Sprintf("%07o", r.mode), fmt.Sprintf("%07o", m.mode))
	check("owner", fmt.Sprint(r.uid, ":", r.gid), fmt.Sprint(m.uid, ":", m.gid))
	check("nlink", fmt.Sprint(r.nlink), fmt.Sprint(m.nlink))
	check("blocks", fmt.Sprint(r.blocks, "*", r.block), fmt.Sprint(m.blocks, "*", m.block))
	check("target", r.target, m.target)
	if r.unread || m.unread {
		return ds
	}
	check("errno", errno(r.readErr), errno(m.readErr))
	check("content", r.content, m.content)
	// The one size that may differ: the true length instead of a page.
	if m.size != r.size && (!m.isFile() || m.readErr != nil || m.size != int64(len(m.content))) {
		check("size", fmt.Sprint(r.size), fmt.Sprint(m.size))
	}
	return ds
}

// inconsistencies are faults that need no second tree to be seen.
func inconsistencies(ours tree) []difference {
	var ds []difference
	owner := map[uint64]string{}
	subdirs := map[string]uint64{}
	for p, e := range ours {
		if p == "." || e.err != nil {
			continue
		}
		if e.isDir() {
			subdirs[filepath.Dir(p)]++
		}
		if other := owner[e.ino]; other != "" {
			ds = append(ds, difference{p, "ino", "unique", fmt.Sprintf("%d, as %s", e.ino, other)})
		}
		owner[e.ino] = p
		if e.listed && e.direntIno != e.ino {
			ds = append(ds, difference{p, "d_ino", fmt.Sprint(e.ino), fmt.Sprint(e.direntIno)})
		}
		if want := uint8(e.mode >> 12); e.listed && e.direntType != want && e.direntType != unix.DT_UNKNOWN {
			ds = append(ds, difference{p, "d_type", fmt.Sprint(want), fmt.Sprint(e.direntType)})
		}
	}
	for p, e := range ours {
		if want := 2 + subdirs[p]; e.isDir() && e.nlink != 0 && e.nlink != want {
			ds = append(ds, difference{p, "nlink", fmt.Sprint(want), fmt.Sprint(e.nlink)})
		}
	}
	return ds
}

var device = regexp.MustCompile(`(^|/)net/[^/]+`)

// report lists all differences, one line for each kind of file and fact, with
// the first device's values and the names of the others.
func report(ds []difference) string {
	byKind := map[string][]difference{}
	for _, d := range ds {
		kind := device.ReplaceAllString(d.path, "${1}net/*") + ": " + d.what
		byKind[kind] = append(byKind[kind], d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d differences of %d kinds\n", len(ds), len(byKind))
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		group := byKind[kind]
		fmt.Fprintf(&b, "%s of %s: sysfs %q, mount %q", group[0].what, group[0].path, group[0].real, group[0].ours)
		if len(group) > 1 {
			fmt.Fprintf(&b, "; and %d more:", len(group)-1)
		}
		for _, d := range group[1:] {
			fmt.Fprintf(&b, " %s", strings.TrimPrefix(device.FindString(d.path), "/net/"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func errno(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return unix.ErrnoName(number)
	}
	if err == nil {
		return "ok"
	}
	return err.Error()
}
