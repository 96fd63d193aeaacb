package sysfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

func TestParseMode(t *testing.T) {
	for _, m := range modes {
		got, err := ParseMode(string(m))
		require.NoError(t, err)
		assert.Equal(t, m, got)
	}
	for _, bad := range []string{"", "Auto", "sysfs"} {
		_, err := ParseMode(bad)
		require.ErrorContains(t, err, "auto", bad)
	}
	_, err := Open(Options{Mode: "sysfs"})
	require.Error(t, err)
}

func TestHeldBound(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	assert.Equal(t, int(min(1024, limit.Cur/4)), heldBound(0))
	assert.Equal(t, 7, heldBound(7))
	assert.Zero(t, heldBound(-1))
}

func TestNoneHasNothing(t *testing.T) {
	var log bytes.Buffer
	f := open(t, Options{Mode: None, Logger: logTo(&log)})
	assert.Equal(t, None, f.Mode())
	requireGone(t, f, netdev.Dir{Path: virtual + "/lo", Serial: 1, Index: 1})
	requireGone(t, f, netdev.Dir{Path: virtual + "/lo"})
	f.Forget(1)
	assert.Empty(t, log.String())
}

func TestDetachedMountIsNowhere(t *testing.T) {
	inChild(t, func(t *testing.T) {
		before, err := os.ReadFile("/proc/self/mountinfo")
		require.NoError(t, err)
		var log bytes.Buffer
		f := open(t, Options{Logger: logTo(&log)})
		after, err := os.ReadFile("/proc/self/mountinfo")
		require.NoError(t, err)
		assert.Equal(t, string(before), string(after))
		assert.Equal(t, Detached, f.Mode())
		assert.Empty(t, log.String())

		// What covers /sys is not in the way, and other mounts can be written to still.
		require.NoError(t, unix.Mount("none", "/sys/class/net", "tmpfs", 0, ""))
		requireReads(t, "65536\n", f, netdev.Dir{Path: virtual + "/lo", Serial: 1, Index: 1}, "mtu")
		names, err := f.deviceNames()
		require.NoError(t, err)
		assert.Equal(t, []string{"lo"}, names)
		require.NoError(t, os.WriteFile("/sys/"+virtual+"/lo/mtu", []byte("1234\n"), 0))
		requireReads(t, "1234\n", f, netdev.Dir{Path: virtual + "/lo", Serial: 1, Index: 1}, "mtu")
		_, err = f.openat(f.root.fd, virtual+"/lo/mtu", unix.O_WRONLY)
		assert.Equal(t, unix.EROFS, err)
	})
}

func TestOrdinaryUserReadsHost(t *testing.T) {
	inChild(t, func(t *testing.T) {
		testns.Host(t).IP("link add dev a type veth peer name b", "link set dev a mtu 1234")
		d := dirOf(testns.Host(t), 1, "a")
		becomeOrdinary(t)
		var log bytes.Buffer
		f := open(t, Options{Logger: logTo(&log), Check: accept("a", "b", "lo")})
		assert.Equal(t, Host, f.Mode())
		requireOneLine(t, &log, "fsopen: operation not permitted")
		requireReads(t, "1234\n", f, d, "mtu")
		d.Path, d.Serial = "elsewhere", 2
		requireReads(t, "1234\n", f, d, "mtu")
		_, err := read(f, netdev.Dir{Path: "../etc"}, "passwd")
		assert.Equal(t, unix.ENOENT, err)

		_, err = Open(Options{Mode: Detached})
		require.ErrorIs(t, err, unix.EPERM)
		_, err = Open(Options{Mode: Host})
		require.ErrorIs(t, err, errUnchecked)
	})
}

func TestOrdinaryUserWithOtherDevicesHasNone(t *testing.T) {
	inChild(t, func(t *testing.T) {
		becomeOrdinary(t)
		var log bytes.Buffer
		calls := 0
		f := open(t, Options{Logger: logTo(&log), Check: func([]string) error {
			calls++
			return errors.New("eth0 is missing")
		}})
		assert.Equal(t, None, f.Mode())
		assert.Equal(t, 3, calls)
		requireOneLine(t, &log, "fsopen: operation not permitted", "eth0 is missing")
		requireGone(t, f, netdev.Dir{Path: virtual + "/lo", Serial: 1, Index: 1})
		_, err := Open(Options{Mode: Host, Check: accept("eth0")})
		require.ErrorContains(t, err, "has other devices")
	})
}

func TestHostIsCheckedAgainAsDevicesCome(t *testing.T) {
	inChild(t, func(t *testing.T) {
		calls := 0
		f := open(t, Options{Mode: Host, Check: func([]string) error {
			if calls++; calls < 3 {
				return errors.New("not yet")
			}
			return nil
		}})
		assert.Equal(t, Host, f.Mode())
	})
}

func TestHostIsNotWhateverIsOnSys(t *testing.T) {
	inChild(t, func(t *testing.T) {
		accepted := Options{Mode: Host, Check: accept("lo")}
		require.NoError(t, unix.Mount("none", "/sys/class/net", "tmpfs", 0, ""))
		_, err := Open(accepted)
		require.ErrorIs(t, err, unix.EXDEV)
		require.NoError(t, unix.Mount("none", "/sys", "tmpfs", 0, ""))
		_, err = Open(accepted)
		require.ErrorIs(t, err, errNotSysfs)
		require.NoError(t, unix.Mount("proc", "/sys", "proc", 0, ""))
		_, err = Open(accepted)
		require.ErrorIs(t, err, errNotSysfs)
		becomeOrdinary(t)
		var log bytes.Buffer
		accepted.Mode, accepted.Logger = Auto, logTo(&log)
		assert.Equal(t, None, open(t, accepted).Mode())
		requireOneLine(t, &log, "fsopen: operation not permitted", "not a sysfs")
	})
}

func TestHostNeverEntersWhatCoversIt(t *testing.T) {
	inChild(t, func(t *testing.T) {
		f := open(t, Options{Mode: Host, Check: accept("lo")})
		lo := netdev.Dir{Path: virtual + "/lo", Serial: 1, Index: 1}
		requireReads(t, "65536\n", f, lo, "mtu")
		require.NoError(t, unix.Mount("none", "/sys/class/net", "tmpfs", 0, ""))
		require.NoError(t, unix.Mount("none", "/sys/"+virtual, "tmpfs", 0, ""))
		require.NoError(t, unix.Mount("none", "/sys/class", "tmpfs", 0, ""))

		requireReads(t, "65536\n", f, lo, "mtu")
		lo.Serial = 2
		_, err := read(f, lo, "mtu")
		assert.Equal(t, unix.EXDEV, err)
		for _, path := range []string{"class", "class/net", virtual, virtual + "/lo"} {
			_, err = f.Stat(netdev.Dir{Path: path}, "")
			assert.Equal(t, unix.EXDEV, err, path)
			_, err = f.Stat(netdev.Dir{}, path)
			assert.Equal(t, unix.EXDEV, err, path)
			_, err = f.List(netdev.Dir{}, path)
			assert.Equal(t, unix.EXDEV, err, path)
		}
	})
}

func TestOpenOfNoNamespaceFails(t *testing.T) {
	testns.Host(t)
	file, err := os.Open("/dev/null")
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	_, err = Open(Options{NetNS: int(file.Fd())})
	require.ErrorIs(t, err, unix.EINVAL)
}

func TestMainThreadIsNeverLost(t *testing.T) {
	ns := testns.New(t)
	main := fmt.Sprintf("/proc/self/task/%d/ns/net", os.Getpid())
	before, err := os.Readlink(main)
	require.NoError(t, err)
	var entered string
	done := make(chan error, 1)
	onMain <- func() {
		err := onLostThread(ns.Fd(), func() (err error) {
			entered, err = os.Readlink("/proc/thread-self/ns/net")
			return err
		})
		done <- err
	}
	require.NoError(t, <-done)
	want, err := os.Readlink(ns.Path())
	require.NoError(t, err)
	assert.Equal(t, want, entered)
	after, err := os.Readlink(main)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

// accept returns a Check that wants just these names.
func accept(want ...string) func([]string) error {
	return func(names []string) error {
		slices.Sort(names)
		if !slices.Equal(want, names) {
			return fmt.Errorf("%q instead of %q", names, want)
		}
		return nil
	}
}

func requireOneLine(t *testing.T, log *bytes.Buffer, parts ...string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log)
	for _, part := range parts {
		require.Contains(t, log.String(), part)
	}
}
