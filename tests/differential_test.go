package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

func TestEveryDeviceKindIsShownAsBySysfs(t *testing.T) {
	ns := testns.New(t)
	zoo := testns.Zoo(t, ns)
	t.Run("home", func(t *testing.T) { testTreesAreEqual(t, ns) })
	t.Run("abroad", func(t *testing.T) { testTreesAreEqual(t, zoo.Abroad) })
}

func TestAnEmptyNamespaceIsShownAsBySysfs(t *testing.T) {
	testTreesAreEqual(t, testns.New(t))
}

func TestANamespaceOfAnotherOwnerIsShownAsBySysfs(t *testing.T) {
	ns := testns.NewOwned(t, 100000, 200000)
	testns.Zoo(t, ns)
	testTreesAreEqual(t, ns)
}

func TestThisMachinesDevicesAreShownAsBySysfs(t *testing.T) {
	physical, err := filepath.Glob("/sys/class/net/*/device")
	require.NoError(t, err)
	if len(physical) == 0 {
		t.Skip("no device with a parent on this machine")
	}
	testTreesAreEqual(t, testns.Host(t))
}

// testTreesAreEqual looks at everything three times: what the daemon answers
// first, what the kernel has cached by then, and in small pieces.
func testTreesAreEqual(t *testing.T, ns *testns.NS) {
	t.Helper()
	sysfs, mnt := ns.Sysfs(), serve(t, ns)
	assertEqual(t, sysfs, mnt)
	assertEqual(t, sysfs, mnt)
	seen := walkMount(mnt, nil)
	assertNone(t, inconsistencies(seen))
	assertNone(t, splitReads(mnt, seen))
	assertSameErrnos(t, sysfs, mnt, sampleFiles(seen))
}

// splitReads reads every file a byte and seven bytes at a time.
func splitReads(mnt string, seen tree) []difference {
	var ds []difference
	for p, e := range seen {
		if !e.isFile() || e.unread || e.readErr != nil || moving.MatchString("/"+p) {
			continue
		}
		for _, size := range []int{1, 7} {
			if filepath.Base(p) == "brforward" {
				continue // Whole records only.
			}
			got, err := readBy(filepath.Join(mnt, p), size)
			if err != nil || got != e.content {
				ds = append(ds, difference{p, "content in pieces", e.content, got + " " + errno(err)})
			}
		}
	}
	return ds
}

// sampleFiles picks one path of each kind of node, by the last name.
func sampleFiles(seen tree) []string {
	taken := map[string]bool{}
	var sample []string
	for p, e := range seen {
		// The same file of two devices is one kind, and so is each device of class/net.
		kind := device.ReplaceAllString(p, "${1}net/*")
		// What is made beside the root is made outside of the mount.
		// Most links lead out of what the mount shows, and their targets with them.
		if p == "." || taken[kind] || e.isLink() && filepath.Dir(p) != "class/net" {
			continue
		}
		taken[kind] = true
		sample = append(sample, p)
	}
	return sample
}

// assertSameErrnos does to each path what a read-only sysfs refuses or answers
// oddly, and compares the errors. One line tells of all paths that differ alike.
func assertSameErrnos(t *testing.T, sysfs, mnt string, paths []string) {
	t.Helper()
	for _, op := range operations {
		alike := map[string][]string{}
		for _, p := range paths {
			theirs, ours := errno(op.do(filepath.Join(sysfs, p))), errno(op.do(filepath.Join(mnt, p)))
			if theirs != ours {
				what := fmt.Sprintf("%s: sysfs %s, mount %s", op.name, theirs, ours)
				alike[what] = append(alike[what], p)
			}
		}
		for what, where := range alike {
			t.Errorf("%s: %d paths, such as %s", what, len(where), where[0])
		}
	}
}

// withOpen runs f on a path opened for reading. An open that fails counts as
// its result.
func withOpen(flags int, f func(fd int) error) func(string) error {
	return func(p string) error {
		fd, err := unix.Open(p, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return f(fd)
	}
}

func nothing(int) error { return nil }

func readOne(fd int) error {
	_, err := unix.Read(fd, make([]byte, 1))
	return err
}

var operations = []struct {
	name string
	do   func(path string) error
}{
	{"open for write", withOpen(unix.O_WRONLY, nothing)},
	{"open for read and write", withOpen(unix.O_RDWR, nothing)},
	{"open and truncate", withOpen(unix.O_WRONLY|unix.O_TRUNC, nothing)},
	{"open as directory", withOpen(unix.O_RDONLY|unix.O_DIRECTORY, nothing)},
	{"read without following", withOpen(unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, readOne)},
	{"open exclusively", withOpen(unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL, nothing)},
	{"create", func(p string) error { return unix.Mknod(p+".new", unix.S_IFREG|0o644, 0) }},
	{"missing", func(p string) error { return unix.Access(p+"/missing", unix.F_OK) }},
	{"long name", func(p string) error { return unix.Access(p+"/"+strings.Repeat("n", 256), unix.F_OK) }},
	{"access to write", func(p string) error { return unix.Access(p, unix.W_OK) }},
	{"access to run", func(p string) error { return unix.Access(p, unix.X_OK) }},
	{"mkdir", func(p string) error { return unix.Mkdir(p+".new", 0o755) }},
	{"rmdir", unix.Rmdir},
	{"unlink", unix.Unlink},
	{"rename", func(p string) error { return unix.Rename(p, p+".new") }},
	{"symlink", func(p string) error { return unix.Symlink("x", p+".new") }},
	{"hard link", func(p string) error { return unix.Link(p, p+".new") }},
	{"chmod", func(p string) error { return unix.Chmod(p, 0o600) }},
	{"chown", func(p string) error { return unix.Lchown(p, 1, 1) }},
	{"truncate", func(p string) error { return unix.Truncate(p, 0) }},
	{"readlink", func(p string) error { _, err := unix.Readlink(p, make([]byte, 64)); return err }},
	{"read behind the end", withOpen(unix.O_RDONLY, func(fd int) error {
		if readOne(fd) != nil {
			return nil // What can't be read has no end.
		}
		n, err := unix.Pread(fd, make([]byte, 16), 1<<20)
		if n > 0 {
			return os.ErrInvalid
		}
		return err
	})},
}
