package tests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

func TestComparisonFindsNothingInASecondMountOfSysfs(t *testing.T) {
	ns := testns.New(t)
	testns.Zoo(t, ns)
	sysfs, second := ns.Sysfs(), ns.Sysfs()
	walkSysfs(sysfs, nil) // Which makes link-watch do what it had put off.
	ours := walkSysfs(second, nil)
	assertNone(t, settled(diff(walkSysfs(sysfs, nil), ours), sysfs, second))
	assertNone(t, inconsistencies(ours))
}

// Each fault is put into a copy of a walk of real sysfs; just this fault must
// be found, under this name.
func TestComparisonFindsEveryFault(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add br0 type bridge", "link add veth0 type veth peer name veth1")
	sysfs := ns.Sysfs()
	const file, dir, link = "devices/virtual/net/veth0/mtu", "devices/virtual/net/veth0/queues", "class/net/br0"
	const failing = "devices/virtual/net/veth0/carrier" // EINVAL while down.

	for _, c := range []struct {
		what, path string
		fault      func(e *entry)
	}{
		{"mode", file, func(e *entry) { e.mode ^= 0o200 }},
		{"mode", dir, func(e *entry) { e.mode ^= 0o001 }},
		{"owner", file, func(e *entry) { e.uid++ }},
		{"owner", link, func(e *entry) { e.gid++ }},
		{"nlink", dir, func(e *entry) { e.nlink++ }},
		{"nlink", "devices/virtual/net", func(e *entry) { e.nlink-- }},
		{"size", file, func(e *entry) { e.size = 4 }},
		{"size", failing, func(e *entry) { e.size = 0 }},
		{"size", link, func(e *entry) { e.size = int64(len(e.target)) }},
		{"blocks", file, func(e *entry) { e.blocks = 8 }},
		{"target", link, func(e *entry) { e.target += "/" }},
		{"content", file, func(e *entry) { e.content = "1501\n" }},
		{"errno", failing, func(e *entry) { e.readErr = unix.EIO }},
		{"errno", file, func(e *entry) { e.readErr = unix.EINVAL }},
		{"lstat", file, func(e *entry) { e.err = unix.ENOENT }},
	} {
		t.Run(c.what+" of "+filepath.Base(c.path), func(t *testing.T) {
			theirs, ours := walkSysfs(sysfs, nil), walkSysfs(sysfs, nil)
			c.fault(ours[c.path])
			ds := diff(theirs, ours)
			require.Len(t, ds, 1, report(ds))
			assert.Equal(t, []string{c.path, c.what}, []string{ds[0].path, ds[0].what})
		})
	}
	t.Run("names", func(t *testing.T) {
		theirs, ours := walkSysfs(sysfs, nil), walkSysfs(sysfs, nil)
		delete(ours, file)
		ours[dir+"/more"] = &entry{}
		assert.ElementsMatch(t, []difference{
			{file, "name", "there", "missing"}, {dir + "/more", "name", "not there", "extra"},
		}, diff(theirs, ours))
	})
	t.Run("length as size", func(t *testing.T) {
		theirs, ours := walkSysfs(sysfs, nil), walkSysfs(sysfs, nil)
		ours[file].size = int64(len(ours[file].content))
		assertNone(t, diff(theirs, ours))
	})
}

// The walk itself is tested on a mount that really is wrong.
func TestComparisonFindsWhatIsMountedOverSysfs(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add veth0 type veth peer name veth1")
	sysfs, second := ns.Sysfs(), ns.Sysfs()
	wrong := filepath.Join(t.TempDir(), "wrong")
	require.NoError(t, os.WriteFile(wrong, []byte("1400\n"), 0o644))
	over := func(p string, flags uintptr, source, fstype string) {
		dir := filepath.Join(second, "devices/virtual/net", p)
		require.NoError(t, unix.Mount(source, dir, fstype, flags, ""))
		t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	}
	over("veth0/mtu", unix.MS_BIND, wrong, "")
	over("veth1/statistics", 0, "tmpfs", "tmpfs")

	found := map[string]bool{}
	for _, d := range diff(walkSysfs(sysfs, nil), walkSysfs(second, nil)) {
		found[d.what+" "+d.path] = true
	}
	assert.Contains(t, found, "content devices/virtual/net/veth0/mtu")
	assert.Contains(t, found, "name devices/virtual/net/veth1/statistics/rx_bytes")
	assert.Contains(t, found, "mode devices/virtual/net/veth1/statistics")
	for what := range found {
		assert.Regexp(t, `veth0/mtu|veth1/statistics`, what, "found in innocent files")
	}
}
