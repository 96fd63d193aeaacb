package testns_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

func TestNamespaceIsNewAndOnlyItsOwnDevicesAreSeen(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add only-here type ifb")

	assert.ElementsMatch(t, []string{"lo", "only-here"}, names(t, ns.Sysfs()))
	assert.Contains(t, ns.Run("ip", "-o", "link"), "only-here")
	assert.NoDirExists(t, "/sys/class/net/only-here", "leaked into the test's own namespace")
}

func TestDoReturnsToTheNamespaceItCameFrom(t *testing.T) {
	ns := testns.New(t)
	before, err := os.Readlink("/proc/thread-self/ns/net")
	require.NoError(t, err)
	var inside string
	ns.Do(func() { inside, err = os.Readlink("/proc/thread-self/ns/net") })
	require.NoError(t, err)
	assert.NotEqual(t, before, inside)
	for range 100 {
		after, err := os.Readlink("/proc/thread-self/ns/net")
		require.NoError(t, err)
		assert.Equal(t, before, after)
	}
}

func TestNamespaceAndMountsEndWithTheTest(t *testing.T) {
	var dir, bound string
	t.Run("inner", func(t *testing.T) {
		ns := testns.NewNamed(t, "testns-ends")
		dir, bound = ns.Sysfs(), "/run/netns/testns-ends"
		assert.FileExists(t, bound)
		assert.Contains(t, ns.Run("ip", "netns", "list"), "testns-ends")
	})
	assert.NoFileExists(t, bound)
	assert.NoDirExists(t, dir)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	assert.NotContains(t, string(mounts), dir)
	assert.NotContains(t, string(mounts), bound)
}

func TestSysfsIsReadOnlyWhileTheWritableOneIsNot(t *testing.T) {
	ns := testns.New(t)
	readonly, writable := ns.Sysfs(), ns.WritableSysfs()
	alias := "class/net/lo/ifalias"
	require.ErrorIs(t, os.WriteFile(filepath.Join(readonly, alias), []byte("x"), 0), unix.EROFS)
	require.NoError(t, os.WriteFile(filepath.Join(writable, alias), []byte("x"), 0))
	assert.Equal(t, "x\n", read(t, readonly, alias))
}

func TestTapHasCarrierWhileOpen(t *testing.T) {
	ns := testns.New(t)
	ns.IP("tuntap add tap0 mode tap", "link set tap0 up")
	sysfs := ns.Sysfs()
	assert.Equal(t, "0\n", read(t, sysfs, "class/net/tap0/carrier"))
	file := ns.OpenTap("tap0")
	assert.Equal(t, "1\n", read(t, sysfs, "class/net/tap0/carrier"))
	require.NoError(t, file.Close())
	assert.Equal(t, "0\n", read(t, sysfs, "class/net/tap0/carrier"))
}

func TestOwnedNamespaceShowsItsOwner(t *testing.T) {
	ns := testns.NewOwned(t, 100000, 200000)
	ns.IP("link add theirs type ifb")
	var st unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(ns.Sysfs(), "class/net/theirs"), &st))
	assert.Equal(t, []uint32{100000, 200000}, []uint32{st.Uid, st.Gid})
}

func TestZooHasADeviceForEveryRole(t *testing.T) {
	ns := testns.New(t)
	zoo := testns.Zoo(t, ns)
	home, abroad := names(t, ns.Sysfs()), names(t, zoo.Abroad.Sysfs())

	v := reflect.ValueOf(zoo)
	for i := range v.NumField() {
		role := v.Type().Field(i)
		if role.Type.Kind() != reflect.String {
			continue
		}
		where := home
		if role.Name == "VethAbroadPeer" {
			where = abroad
		}
		assert.Contains(t, where, v.Field(i).String(), role.Name)
	}
	for _, kind := range []string{"veth", "bridge", "macvlan", "macvtap", "vxlan", "ifb", "tun"} {
		assert.Contains(t, ns.Run("ip", "-d", "-o", "link"), " "+kind+" ", "no device of this kind")
	}
	sysfs := ns.Sysfs()
	assert.Equal(t, "first line\nsecond line\n", read(t, sysfs, "class/net/"+zoo.Alias+"/ifalias"))
	assert.Equal(t, "1000000\n", read(t, sysfs, "class/net/"+zoo.BigIndex+"/ifindex"))
	assert.Equal(t, "1\n", read(t, sysfs, "class/net/"+zoo.ProtoDown+"/proto_down"))
	assert.Equal(t, "1000\n", read(t, sysfs, "class/net/"+zoo.TapOwned+"/owner"))
}

func TestWatchHearsChangesOfItsNamespace(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add ifb0 type ifb")
	watch, links := ns.Watch(), ns.Links()
	before, index := time.Now(), ns.Index("ifb0")
	require.NoError(t, links.SetMTU(index, 1234))

	require.Eventually(t, func() bool { return watch.Last().After(before) }, time.Second, time.Millisecond)
	heard, err := watch.Announced()
	require.NoError(t, err)
	assert.Equal(t, int32(index), heard[0].Index)
	assert.Equal(t, "1234\n", read(t, ns.Sysfs(), "class/net/ifb0/mtu"))
}

func names(t *testing.T, sysfs string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(sysfs, "class/net"))
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func read(t *testing.T, sysfs, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(sysfs, path))
	require.NoError(t, err)
	return string(content)
}
