package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestHelperArgumentsBecomeFlags(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"sysfsd /m", "mount --daemon -- /m"},
		{"sysfsd /m -o rw", "mount --daemon -- /m"},
		{"sysfsd /m -o devices=1000", "mount --daemon --devices=1000 -- /m"},
		{"/m /m -n -v -o ro -t sysfsd", "mount --daemon -- /m"},
		{"-nv -o allow_other sysfsd /m", "mount --daemon --allow-other -- /m"},
		{
			"sysfsd /m -o rw,noatime,x-systemd.automount,allow_other,names=veth%d:dummy%d=3,nlink_bits=32",
			"mount --daemon --allow-other --names=veth%d,dummy%d=3 --nlink-bits=32 -- /m",
		},
		{"sysfsd /m -o ,_netdev,,X-mount.mkdir=0755,x-gvfs-hide,comment=any,nofail,", "mount --daemon -- /m"},
		{"sysfsd /m -o kinds=veth=60:bridge=2 -o seed=7", "mount --daemon --kinds=veth=60,bridge=2 --seed=7 -- /m"},
		{"sysfsd /m -o netns=/run/netns/a:b", "mount --daemon --netns=/run/netns/a:b -- /m"},
		{"sysfsd /m -o hash-key=00", "mount --daemon --hash-key=00 -- /m"},
		{"sysfsd /m -o devices=5,discard,data=ordered -s", "mount --daemon --devices=5 -- /m"},
		{"sysfsd /m -f -o devices=5", ""},
	} {
		args, err := helperArgs(strings.Fields(c.from), isMountFlag)
		assert.NoError(t, err, c.from)
		assert.Equal(t, c.to, strings.Join(args, " "), c.from)
	}
}

func TestAMountPointThatLooksLikeAFlagIsNone(t *testing.T) {
	args, err := helperArgs([]string{"sysfsd", "/a b,c=d"}, isMountFlag)
	require.NoError(t, err)
	assert.Equal(t, []string{"mount", "--daemon", "--", "/a b,c=d"}, args)
}

func TestHelperMistakes(t *testing.T) {
	const usage = "usage: mount.sysfsd SPEC DIR [-o OPTIONS]"
	for _, c := range []struct{ from, says string }{
		{"", usage},
		{"sysfsd", usage},
		{"sysfsd /m /n", usage},
		{"sysfsd /m -o", "-o has no value"},
		{"sysfsd /m -o frob", "-o frob: unknown option"},
		{"sysfsd /m -o rw,frob_it=3", "-o frob_it: unknown option"},
		{"sysfsd /m -o remount", "-o remount: unknown option"},
		{"sysfsd /m -x", "-x is none of -s, -f, -n, -v, -o, -t"},
		{"sysfsd /m --help", "--help is none of -s, -f, -n, -v, -o, -t"},
		{"sysfsd /m -N /proc/1/ns/mnt", "-N is not supported: run mount(8) by nsenter --mount=NAMESPACE"},
	} {
		args, err := helperArgs(strings.Fields(c.from), isMountFlag)
		assert.EqualError(t, err, c.says, c.from)
		assert.Nil(t, args, c.from)
	}
}

func TestMountFindsUsByTheHelpersName(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	status, stdout, stderr := run(t, "/sbin/mount.sysfsd", "sysfsd", dir, "-o",
		"rw,noatime,x-systemd.automount,allow_other,devices=1000,names=cust%d:dummy%d,nlink_bits=32")
	require.Zero(t, status, stderr)
	assert.Empty(t, stdout)
	names, err := os.ReadDir(filepath.Join(dir, "class/net"))
	require.NoError(t, err)
	assert.Len(t, names, 1000)
	var st unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(dir, "class/net/dummy0"), &st))
	require.NoError(t, unix.Unmount(dir, 0))

	status, stdout, stderr = run(t, "/sbin/mount.sysfsd", "sysfsd", dir, "-o", "devices=0")
	assert.Equal(t, exitError, status)
	assert.Empty(t, stdout)
	assertOneLine(t, stderr)

	status, _, stderr = run(t, "/sbin/mount.sysfsd", "sysfsd", dir, "-f", "-o", "devices=5")
	assert.Zero(t, status, stderr)
	assert.Zero(t, countMounts(t, dir))
}
