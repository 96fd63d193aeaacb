package tests

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// A program that compares inode numbers must be able to tell a device from its
// successor, and must not take a renamed one for new.
func TestInodeNumbersFollowTheDeviceNotTheName(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add i0 type ifb", "link add i1 type ifb")
	sysfs, mnt := ns.Sysfs(), serve(t, ns)
	files := []string{"", "mtu", "statistics", "statistics/rx_bytes", "queues/rx-0", "uevent"}
	numbers := func(name string) []uint64 {
		var all []uint64
		for _, f := range files {
			all = append(all, inode(t, filepath.Join(mnt, "devices/virtual/net", name, f)))
		}
		return append(all, inode(t, filepath.Join(mnt, "class/net", name)))
	}
	change := func(lines ...string) {
		watch := ns.Watch()
		ns.IP(lines...)
		waitSince(time.Now(), watch)
		assertInTime(t, sysfs, mnt, nil)
	}
	first := numbers("i0")

	change("link set i0 name renamed")
	assert.Equal(t, first, numbers("renamed"), "renamed")
	change("link set renamed mtu 1234")
	change("link set renamed name i0")
	assert.Equal(t, first, numbers("i0"), "renamed back")

	index := ns.Index("i0")
	assertAllNew := func(what string, old, now []uint64) {
		for i, n := range now {
			assert.NotContains(t, old, n, "%s: file %d has an old number", what, i)
		}
	}
	change("link del i0", "link add i0 type ifb")
	second := numbers("i0")
	assertAllNew("same name", first, second)

	change("link del i0", fmt.Sprintf("link add i0 index %d type ifb", index))
	third := numbers("i0")
	assertAllNew("same name and ifindex", append(first, second...), third)

	change("link del i0", fmt.Sprintf("link add i0 index %d type bridge", index))
	assertAllNew("another kind", append(append(first, second...), third...), numbers("i0"))

	before := numbers("i1")
	other := testns.New(t)
	watch := ns.Watch()
	ns.IP("link set i1 netns " + other.Path())
	waitSince(time.Now(), watch)
	require.NoDirExists(t, filepath.Join(mnt, "class/net/i1"))
	other.IP("link set i1 netns " + ns.Path())
	waitSince(time.Now(), watch)
	assertInTime(t, sysfs, mnt, nil)
	t.Logf("moved away and back: %d, then %d", before[0], numbers("i1")[0])
}
