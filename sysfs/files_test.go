package sysfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

func TestEveryFileIsAsInAMountOfSysfs(t *testing.T) {
	ns := testns.New(t)
	testns.Zoo(t, ns)
	reference := ns.Sysfs()
	f := openIn(t, ns, Options{HeldDirs: 4})

	devices, err := os.ReadDir(filepath.Join(reference, virtual))
	require.NoError(t, err)
	require.Greater(t, len(devices), 30)
	files := 0
	for i, device := range devices {
		d := dirOf(ns, netdev.Serial(i+1), device.Name())
		root := filepath.Join(reference, d.Path)
		require.NoError(t, filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
			require.NoError(t, err)
			below := strings.TrimPrefix(strings.TrimPrefix(at, root), "/")
			sameStat(t, f, d, below, at)
			switch {
			case e.IsDir():
				sameList(t, f, d, below, at)
			case e.Type() == fs.ModeSymlink:
				sameLink(t, f, d, below, at)
			default:
				sameContent(t, f, d, below, at)
			}
			files++
			return nil
		}))
	}
	assert.Greater(t, files, 2000)
}

func TestDirectoriesOfNoDeviceAreReadByPath(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add dev a type veth peer name b")
	reference := ns.Sysfs()
	f := openIn(t, ns, Options{})
	for _, path := range []string{"", "class", "class/net", "devices", virtual} {
		sameStat(t, f, netdev.Dir{Path: path}, "", filepath.Join(reference, path))
		sameList(t, f, netdev.Dir{Path: path}, "", filepath.Join(reference, path))
		sameList(t, f, netdev.Dir{}, path, filepath.Join(reference, path))
	}
	sameLink(t, f, netdev.Dir{Path: "class/net", Serial: 7}, "a", filepath.Join(reference, "class/net/a"))
	sameContent(t, f, netdev.Dir{Path: "devices"}, "virtual/net/a/mtu", filepath.Join(reference, virtual, "a/mtu"))
	assert.Zero(t, count(f.held))
}

func TestReadStartsAtItsOffset(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link set dev lo mtu 12345")
	f := openIn(t, ns, Options{})
	p := make([]byte, 3)
	for off, want := range []string{"123", "234", "345", "45\n", "5\n", "\n", "", ""} {
		n, err := f.Read(dirOf(ns, 1, "lo"), "mtu", p, int64(off))
		require.NoError(t, err)
		assert.Equal(t, want, string(p[:n]), "at %d", off)
	}
	n, err := f.Read(dirOf(ns, 1, "lo"), "mtu", nil, 0)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestReadOfBinaryFileStartsAtItsOffset(t *testing.T) {
	const record = 16
	ns := testns.New(t)
	ns.IP("link add dev br type bridge", "link set dev br up",
		"link add dev p type veth peer name q", "link set dev p master br", "link set dev p up", "link set dev q up")
	for _, mac := range []string{"02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"} {
		ns.Run("bridge", "fdb", "add", mac, "dev", "p", "master", "static")
	}
	reference := filepath.Join(ns.Sysfs(), virtual, "br/brforward")
	f := openIn(t, ns, Options{})
	d := dirOf(ns, 1, "br")
	p := make([]byte, 2*record+5)
	eventually(t, func() bool {
		before, err := os.ReadFile(reference)
		require.NoError(t, err)
		n, err := f.Read(d, "brforward", p, record)
		require.NoError(t, err)
		after, err := os.ReadFile(reference)
		require.NoError(t, err)
		// The bridge learns addresses meanwhile.
		return len(before) >= 3*record && bytes.Equal(before, after) && bytes.Equal(before[record:3*record], p[:n])
	}, "the records from the second on")
	_, err := f.Read(d, "brforward", p, 7)
	assert.Equal(t, unix.EINVAL, err)
}

func TestErrorsOfALivingDeviceAreItsOwn(t *testing.T) {
	ns := testns.New(t)
	f := openIn(t, ns, Options{})
	d := dirOf(ns, 1, "lo") // It is down.
	for path, want := range map[string]error{
		"carrier":                unix.EINVAL,
		"speed":                  unix.EINVAL,
		"nothing":                unix.ENOENT,
		"mtu/nothing":            unix.ENOTDIR,
		"statistics":             unix.EISDIR,
		"power/control":          nil,
		"queues/tx-0/xps_cpus":   unix.ENOENT,
		strings.Repeat("n", 256): unix.ENOENT,
	} {
		_, err := read(f, d, path)
		assert.Equal(t, want, err, path)
	}
	_, err := f.List(d, "mtu")
	assert.Equal(t, unix.ENOTDIR, err)
	_, err = f.Readlink(d, "mtu")
	assert.Equal(t, unix.EINVAL, err)
	_, err = f.Readlink(d, "")
	assert.Equal(t, unix.EINVAL, err)
	// None of it made the device a dead one.
	requireReads(t, "65536\n", f, d, "mtu")
}

func sameStat(t *testing.T, f *Files, d netdev.Dir, below, reference string) {
	t.Helper()
	var want unix.Stat_t
	require.NoError(t, unix.Lstat(reference, &want))
	got, err := f.Stat(d, below)
	require.NoError(t, err, "%s/%s", d.Path, below)
	if strings.HasPrefix(virtual, d.Path) && d.Index == 0 {
		got.Nlink = uint32(want.Nlink) // Counts the devices of other tests too.
	}
	assert.Equal(t, netdev.Stat{
		Ino: want.Ino, Size: want.Size, Mode: want.Mode, Nlink: uint32(want.Nlink), UID: want.Uid, GID: want.Gid,
	}, got, "%s/%s", d.Path, below)
}

func sameList(t *testing.T, f *Files, d netdev.Dir, below, reference string) {
	t.Helper()
	want, err := os.ReadDir(reference)
	require.NoError(t, err)
	got, err := f.List(d, below)
	require.NoError(t, err)
	slices.SortFunc(got, func(a, b netdev.Dirent) int { return strings.Compare(a.Name, b.Name) })
	require.Len(t, got, len(want), "%s/%s", d.Path, below)
	for i := range want {
		assert.Equal(t, want[i].Name(), got[i].Name)
		types := map[fs.FileMode]uint8{fs.ModeDir: unix.DT_DIR, fs.ModeSymlink: unix.DT_LNK, 0: unix.DT_REG}
		assert.Equal(t, types[want[i].Type()], got[i].Type, got[i].Name)
	}
}

func sameLink(t *testing.T, f *Files, d netdev.Dir, below, reference string) {
	t.Helper()
	want, err := os.Readlink(reference)
	require.NoError(t, err)
	got, err := f.Readlink(d, below)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// sameContent reads ours between two reads of the reference: timers go on.
func sameContent(t *testing.T, f *Files, d netdev.Dir, below, reference string) {
	t.Helper()
	const tries = 5
	for range tries {
		before, beforeErr := readReference(reference)
		got, gotErr := read(f, d, below)
		after, afterErr := readReference(reference)
		if before != after || beforeErr != afterErr {
			continue
		}
		assert.Equal(t, before, got, "%s/%s", d.Path, below)
		assert.Equal(t, beforeErr, errnoOf(gotErr), "%s/%s", d.Path, below)
		return
	}
	t.Errorf("%s doesn't stop changing", reference)
}

func readReference(path string) (string, syscall.Errno) {
	b, err := os.ReadFile(path)
	return string(b), errnoOf(err)
}

// errnoOf returns the errno in an error, 0 for none.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}
