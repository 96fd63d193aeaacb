package sysfs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

func TestRenamedDeviceIsFoundByItsIndex(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add dev before type veth peer name p", "link set dev before mtu 1234")
	for name, bound := range map[string]int{"held": 8, "not held": -1} {
		t.Run(name, func(t *testing.T) {
			f := openIn(t, ns, Options{HeldDirs: bound})
			d := dirOf(ns, 1, "before")
			requireReads(t, "1234\n", f, d, "mtu")
			ns.IP("link set dev before name after")
			defer ns.IP("link set dev after name before")
			requireReads(t, "1234\n", f, d, "mtu")
			requireReads(t, "1234\n", f, netdev.Dir{Serial: 2, Index: d.Index}, "mtu")
		})
	}
}

func TestPhysicalDeviceIsFoundByItsIndex(t *testing.T) {
	ns := testns.Host(t)
	f := openIn(t, ns, Options{HeldDirs: -1})
	names, err := f.deviceNames()
	require.NoError(t, err)
	for _, name := range names {
		d := netdev.Dir{Path: virtual + "/no such device", Serial: 1, Index: uint32(ns.Index(name))}
		got, err := read(f, d, "uevent")
		require.NoError(t, err)
		assert.Contains(t, got, "INTERFACE="+name+"\n")
	}
}

func TestSwappedNamesNeverCrossDevices(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add dev a type veth peer name pa", "link set dev a mtu 1111",
		"link add dev b type veth peer name pb", "link set dev b mtu 2222")
	devices := [2]netdev.Dir{dirOf(ns, 1, "a"), dirOf(ns, 2, "b")}
	want := [2]string{"1111\n", "2222\n"}

	for _, test := range []struct {
		name  string
		bound int
		reads int64
	}{{"held", 8, 50_000}, {"replaced", 1, 50_000}, {"not held", -1, 50_000}} {
		t.Run(test.name, func(t *testing.T) {
			f := openIn(t, ns, Options{HeldDirs: test.bound})
			swaps, stop := swapNames(t, ns, "a", "b")
			defer stop()
			var left, missing atomic.Int64
			left.Store(test.reads)
			var readers sync.WaitGroup
			for range 2 {
				readers.Go(func() {
					for left.Add(-1) >= 0 {
						i := rand.IntN(2)
						d := devices[i]
						d.Path = path.Join(virtual, [2]string{"a", "b"}[rand.IntN(2)])
						switch got, err := read(f, d, "mtu"); {
						case errors.Is(err, unix.ENOENT):
							missing.Add(1)
						case err != nil || got != want[i]:
							t.Errorf("device %d: %q, %v", i, got, err)
							return
						}
					}
				})
			}
			readers.Wait()
			t.Logf("%d swaps during %d reads, %d of them ENOENT", swaps.Load(), test.reads, missing.Load())
			assert.Positive(t, swaps.Load())
			assert.LessOrEqual(t, missing.Load(), test.reads/1000)
			if test.bound > 1 {
				assert.Zero(t, missing.Load(), "a held directory is found whatever its name")
			}
		})
	}
}

func TestRemovedDeviceIsENOENT(t *testing.T) {
	for name, bound := range map[string]int{"held": 8, "not held": -1} {
		t.Run(name, func(t *testing.T) {
			ns := testns.New(t)
			f := openIn(t, ns, Options{HeldDirs: bound})
			ns.IP("link add dev a index 77 type veth peer name b")
			d := dirOf(ns, 1, "a")
			requireReads(t, "1500\n", f, d, "mtu")
			ns.IP("link del dev a")
			requireGone(t, f, d)
			f.Forget(d.Serial)
			requireGone(t, f, d)
			assert.Zero(t, count(f.held))
		})
	}
}

func TestEachMethodNoticesThatAHeldDeviceIsGone(t *testing.T) {
	ns := testns.New(t)
	f := openIn(t, ns, Options{})
	for name, call := range map[string]func(netdev.Dir) error{
		"read":      func(d netdev.Dir) error { _, err := read(f, d, "mtu"); return err },
		"stat":      func(d netdev.Dir) error { _, err := f.Stat(d, "mtu"); return err },
		"stat self": func(d netdev.Dir) error { _, err := f.Stat(d, ""); return err },
		"list":      func(d netdev.Dir) error { _, err := f.List(d, "power"); return err },
		"list self": func(d netdev.Dir) error { _, err := f.List(d, ""); return err },
		"readlink":  func(d netdev.Dir) error { _, err := f.Readlink(d, "subsystem"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ns.IP("link add dev a type veth peer name b")
			d := dirOf(ns, netdev.Serial(len(name)), "a")
			defer f.Forget(d.Serial)
			requireReads(t, "1500\n", f, d, "mtu")
			held := len(sysfsDescriptors())
			ns.IP("link del dev a")
			require.Equal(t, unix.ENOENT, call(d))
			require.Len(t, sysfsDescriptors(), held-1)
		})
	}
}

func TestRecreatedDeviceIsAnotherOne(t *testing.T) {
	ns := testns.New(t)
	f := openIn(t, ns, Options{})
	const create = "link add dev a index 77 type veth peer name b"
	ns.IP(create)
	old := dirOf(ns, 1, "a")
	before, err := f.Stat(old, "")
	require.NoError(t, err)
	ns.IP("link del dev a", create, "link set dev a mtu 1234")
	renewed := dirOf(ns, 2, "a")
	require.Equal(t, old.Index, renewed.Index)

	requireGone(t, f, old)
	requireReads(t, "1234\n", f, renewed, "mtu")
	requireGone(t, f, old)
	after, err := f.Stat(renewed, "")
	require.NoError(t, err)
	assert.NotEqual(t, before.Ino, after.Ino)
}

func TestDyingDeviceNeverAnswersEINVAL(t *testing.T) {
	ns := testns.New(t)
	f := openIn(t, ns, Options{})
	const devices = 300
	dirs := make([]netdev.Dir, devices)
	var create []string
	for i := range dirs {
		create = append(create, fmt.Sprintf("link add d%d type ifb", i), fmt.Sprintf("link set d%d group 9", i))
	}
	ns.IP(create...)
	for i := range dirs {
		dirs[i] = dirOf(ns, netdev.Serial(i+1), fmt.Sprintf("d%d", i))
		requireReads(t, "1500\n", f, dirs[i], "mtu")
	}
	var gone atomic.Bool
	var readers sync.WaitGroup
	for _, file := range []string{"mtu", "statistics/rx_bytes"} {
		readers.Go(func() {
			for !gone.Load() {
				for _, d := range dirs {
					if got, err := read(f, d, file); err != nil && !errors.Is(err, unix.ENOENT) {
						t.Errorf("%s: %q, %v", file, got, err)
						return
					}
				}
			}
		})
	}
	readers.Go(func() {
		for !gone.Load() {
			for _, d := range dirs {
				if got, err := f.List(d, "statistics"); !errors.Is(err, unix.ENOENT) && (err != nil || len(got) < 24) {
					t.Errorf("half a listing: %q, %v", got, err)
					return
				}
			}
		}
	})
	ns.IP("link del group 9")
	gone.Store(true)
	readers.Wait()
	for _, d := range dirs {
		requireGone(t, f, d)
	}
}

func TestDeviceMovedAwayIsNotFound(t *testing.T) {
	ns, other := testns.New(t), testns.New(t)
	f := openIn(t, ns, Options{})
	ns.IP("link add dev a type veth peer name b")
	d := dirOf(ns, 1, "a")
	requireReads(t, "1500\n", f, d, "mtu")
	ns.IP("link set dev a netns " + other.Path())
	f.Forget(d.Serial)
	requireGone(t, f, d)
}

func TestHostileNames(t *testing.T) {
	ns := testns.New(t)
	f := openIn(t, ns, Options{HeldDirs: -1})
	names := newRenamer(t, ns)
	ns.IP("link add dev a type veth peer name b", "link set dev a mtu 1234")
	d := dirOf(ns, 1, "a")
	last := "a"
	for _, name := range []string{"...", "..a", "-n", "$(reboot)", "statistics", "\xff\xfe", "wé-ñ♥", "we+ird!n", "\x01\x7f", "fifteenbyteslng", "a"} {
		require.NoError(t, names.rename(last, name))
		last = name
		requireReads(t, "1234\n", f, d, "mtu")
		current := netdev.Dir{Path: virtual + "/" + name, Serial: 1, Index: d.Index}
		requireReads(t, "1234\n", f, current, "mtu")
		listed, err := f.List(netdev.Dir{Path: "class/net"}, "")
		require.NoError(t, err)
		assert.Contains(t, listed, netdev.Dirent{Name: name, Type: unix.DT_LNK})
		target, err := f.Readlink(netdev.Dir{Path: "class/net"}, name)
		require.NoError(t, err)
		assert.Equal(t, "../../"+virtual+"/"+name, target)
	}
}

func TestNameOfCallerIsUsedAndNotTrusted(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add dev a type veth peer name b", "link set dev a mtu 1234")
	var name atomic.Value
	f := openIn(t, ns, Options{HeldDirs: -1, Name: func(uint32) (string, error) { return name.Load().(string), nil }})
	d := dirOf(ns, 1, "a")
	d.Path = "elsewhere"
	for _, bad := range []string{"lo", "b", "", ".", "..", "../net/a", "a/../a", "a\x00", strings.Repeat("n", 5000)} {
		name.Store(bad)
		_, err := read(f, d, "mtu")
		assert.Error(t, err, bad)
	}
	name.Store("a")
	requireReads(t, "1234\n", f, d, "mtu")
}

func TestNamespaceIsNotKeptAlive(t *testing.T) {
	here := testns.New(t)
	there := testns.New(t)
	here.IP("link add dev a type veth peer name b netns " + there.Path())
	d := dirOf(there, 1, "b")
	f := openIn(t, there, Options{Name: func(uint32) (string, error) { return "b", nil }})
	requireReads(t, "1500\n", f, d, "mtu")

	there.Delete()
	eventually(t, func() bool {
		_, err := here.Try("ip", "link", "show", "dev", "a")
		return err != nil
	}, "the peer goes with the namespace")
	requireGone(t, f, d)
	d.Serial++
	requireGone(t, f, d)
}

func TestNamespaceIsLeftByClose(t *testing.T) {
	here := testns.New(t)
	there := testns.New(t)
	here.IP("link add dev a type veth peer name b netns " + there.Path())
	f := openIn(t, there, Options{})
	there.Delete()
	f.Close()
	eventually(t, func() bool {
		_, err := here.Try("ip", "link", "show", "dev", "a")
		return err != nil
	}, "the peer goes with the namespace")
}

func TestCallerStaysInItsNamespace(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add only-there type veth peer name p")
	openIn(t, ns, Options{})
	here := open(t, Options{Mode: Detached})
	names, err := here.deviceNames()
	require.NoError(t, err)
	assert.NotContains(t, names, "only-there")
	ns.Do(func() {
		f, err := Open(Options{Mode: Detached})
		require.NoError(t, err)
		defer f.Close()
		names, err := f.deviceNames()
		require.NoError(t, err)
		assert.Contains(t, names, "only-there")
	})
}

// swapNames swaps two devices' names until stop is called, an even number of times.
func swapNames(t *testing.T, ns *testns.NS, a, b string) (swaps *atomic.Int64, stop func()) {
	t.Helper()
	r := newRenamer(t, ns)
	swaps = new(atomic.Int64)
	var ending atomic.Bool
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for n := 0; !ending.Load() || n%2 != 0; n++ {
			for _, names := range [][2]string{{a, "t"}, {b, a}, {"t", b}} {
				if err := r.rename(names[0], names[1]); err != nil {
					t.Error(err)
					return
				}
			}
			swaps.Add(1)
			time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
		}
	})
	return swaps, func() {
		ending.Store(true)
		swapper.Wait()
	}
}
