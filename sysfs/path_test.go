package sysfs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

func TestValid(t *testing.T) {
	for path, want := range map[string]bool{
		"": true, "mtu": true, "statistics/rx_bytes": true, "...": true, "..a/.b": true, "\xff": true,
		".": false, "..": false, "/": false, "/mtu": false, "mtu/": false, "a//b": false,
		"a/./b": false, "a/../b": false, "a/..": false, "a\x00": false,
	} {
		assert.Equal(t, want, valid(path), "%q", path)
	}
}

func TestJoin(t *testing.T) {
	assert.Equal(t, ".", join("", ""))
	assert.Equal(t, "a", join("a", ""))
	assert.Equal(t, "b", join("", "b"))
	assert.Equal(t, "a/b", join("a", "b"))
}

func TestLinksAreNotFollowed(t *testing.T) {
	ns := testns.New(t)
	f := openIn(t, ns, Options{})
	lo, class := dirOf(ns, 1, "lo"), netdev.Dir{Path: "class/net"}
	for _, test := range []struct {
		d    netdev.Dir
		path string
	}{
		{lo, "subsystem/lo"},
		{lo, "subsystem/lo/mtu"},
		{class, "lo/mtu"},
		{class, "lo/subsystem"},
		{netdev.Dir{Path: "class/net/lo"}, "mtu"},
	} {
		_, err := f.Stat(test.d, test.path)
		assert.Equal(t, unix.ELOOP, err, test.path)
		_, err = read(f, test.d, test.path)
		assert.Equal(t, unix.ELOOP, err, test.path)
		_, err = f.Readlink(test.d, test.path)
		assert.Equal(t, unix.ELOOP, err, test.path)
		_, err = f.List(test.d, test.path)
		assert.Equal(t, unix.ELOOP, err, test.path)
	}
	_, err := read(f, lo, "subsystem")
	assert.Equal(t, unix.ELOOP, err)
	_, err = f.List(class, "lo")
	assert.Contains(t, []error{unix.ELOOP, unix.ENOTDIR}, err)
	st, err := f.Stat(class, "lo")
	require.NoError(t, err)
	assert.EqualValues(t, unix.S_IFLNK|0o777, st.Mode)
}

func TestDeviceBehindALinkIsFoundByItsIndex(t *testing.T) {
	ns := testns.New(t)
	f := openIn(t, ns, Options{})
	d := dirOf(ns, 1, "lo")
	d.Path = "class/net/lo"
	requireReads(t, "65536\n", f, d, "mtu")
}

// FuzzPath looks where the kernel went: neither path leads out of its directory.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"", ".", "..", "/", "mtu", "/mtu", "../lo/mtu", "statistics/../mtu", "statistics//rx_bytes", "subsystem",
		"subsystem/lo", "device", "a\x00b", "mtu\x00", "queues/rx-0/../../../..", strings.Repeat("../", 20) + "proc",
		strings.Repeat("a/", 3000), "\xff", "...", "class/net", virtual + "/lo",
	} {
		f.Add(path, path)
	}
	files := openIn(f, testns.New(f), Options{})
	lo := netdev.Dir{Path: virtual + "/lo", Serial: 1, Index: 1}
	f.Fuzz(func(t *testing.T, dir, path string) {
		at, err := whereIs(files, lo, path)
		if err == nil {
			assert.Equal(t, strings.TrimSuffix("/"+lo.Path+"/"+path, "/"), at)
		}
		at, err = whereIs(files, netdev.Dir{Path: dir}, path)
		if err == nil {
			assert.Equal(t, "/"+strings.Trim(dir+"/"+path, "/"), at)
		}
		for _, d := range []netdev.Dir{lo, {Path: dir}} {
			_, _ = files.Stat(d, path)
			_, _ = files.List(d, path)
			_, _ = files.Readlink(d, path)
		}
		requireReads(t, "65536\n", files, lo, "mtu")
	})
}

// whereIs returns the path of what a path leads to, as the kernel has it.
func whereIs(f *Files, d netdev.Dir, path string) (string, error) {
	dir, below, err := f.locate(d, path)
	if err != nil {
		return "", err
	}
	defer dir.release()
	fd, err := f.openat(dir.fd, below, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
}
