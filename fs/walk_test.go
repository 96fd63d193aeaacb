package fs

import (
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

// The tests of this file walk to every node of a population. What it has to be
// is asked of the population itself.

func TestEveryListedNameIsFoundAndEveryRequestSaysTheSame(t *testing.T) {
	w := newWorld(t, 100)
	seen := map[uint64]string{}
	for at, n := range w.walk() {
		assert.Equal(t, n.entry.Ino, n.found.Ino, at)
		assert.Equal(t, n.entry.Mode, n.found.Mode&syscall.S_IFMT, at)
		got, status := w.getattr(n.found.NodeId)
		assert.Equal(t, fuse.OK, status, at)
		assert.Equal(t, n.found.Attr, got.Attr, at)
		assert.Empty(t, seen[n.entry.Ino], "%s has its inode number too", at)
		seen[n.entry.Ino] = at
	}
	assert.Greater(t, len(seen), 100*80)
}

func TestEveryDirectoryHasTheNamesAndTheLinkCountOfTheTreeBehind(t *testing.T) {
	w := newWorld(t, 100)
	for at, n := range w.walk() {
		if n.entry.Mode != syscall.S_IFDIR {
			continue
		}
		want, err := w.pop.List(netdev.Dir{}, at)
		require.NoError(t, err, at)
		entries := w.list(n.found.NodeId)
		subdirs := uint32(0)
		for _, e := range entries[2:] {
			if e.Mode == syscall.S_IFDIR {
				subdirs++
			}
		}
		assert.ElementsMatch(t, direntNames(want), namesIn(entries[2:]), at)
		assert.Equal(t, 2+subdirs, n.found.Nlink, at)
	}
}

func TestEveryDirectoryBeginsWithItselfAndItsParent(t *testing.T) {
	w := newWorld(t, 100)
	all := w.walk()
	ino := func(at string) uint64 {
		if at == "." {
			return tree.Root.Ino()
		}
		return all[at].entry.Ino
	}
	for at, n := range all {
		if n.entry.Mode == syscall.S_IFDIR {
			entries := w.list(n.found.NodeId)
			require.GreaterOrEqual(t, len(entries), 2, at)
			assert.Equal(t, []string{".", ".."}, namesIn(entries[:2]), at)
			assert.Equal(t, n.entry.Ino, entries[0].Ino, at)
			assert.Equal(t, ino(path.Dir(at)), entries[1].Ino, at)
		}
	}
	root := w.list(uint64(tree.Root))
	assert.Equal(t, []uint64{1, 1}, []uint64{root[0].Ino, root[1].Ino})
}

func TestEveryLinkLeadsWhereTheTreeBehindSaysAndStaysInside(t *testing.T) {
	w := newWorld(t, 100)
	all := w.walk()
	for at, n := range all {
		text, status := w.readlink(n.found.NodeId)
		if n.entry.Mode != syscall.S_IFLNK {
			assert.NotEqual(t, fuse.OK, status, at)
			continue
		}
		require.Equal(t, fuse.OK, status, at)
		want, err := w.pop.Readlink(netdev.Dir{}, at)
		require.NoError(t, err, at)
		assert.Equal(t, want, text, at)
		to := path.Join(path.Dir(at), text)
		if strings.HasPrefix(to, "bus/pci") {
			continue // Of a bus device no more than a closed list is shown.
		}
		_, inside := all[to]
		assert.True(t, inside, "%s leads to %s", at, to)
	}
}

func TestEveryFileReadsAsTheTreeBehindDoes(t *testing.T) {
	w := newWorld(t, 100)
	failed := 0
	for at, n := range w.walk() {
		if n.entry.Mode != syscall.S_IFREG {
			continue
		}
		buf := make([]byte, pageSize)
		size, err := w.pop.Read(netdev.Dir{}, at, buf, 0)
		text, status := w.cat(n.found.NodeId)
		assert.Equal(t, fuse.ToStatus(err), status, at)
		assert.Equal(t, string(buf[:size]), text, at)
		if err != nil {
			failed++
		}
	}
	assert.Positive(t, failed)
	assert.Zero(t, w.handles(), "handles that are left")
	assert.Empty(t, w.log.lines())
}

func TestModesOwnersAndSizesAreThoseOfTheTreeBehindButKnownContentsHaveTheirLength(t *testing.T) {
	w := newWorld(t, 100)
	for at, n := range w.walk() {
		want, err := w.pop.Stat(netdev.Dir{}, at)
		require.NoError(t, err, at)
		got := n.found.Attr
		assert.Equal(t, want.Mode, got.Mode, at)
		assert.Equal(t, fuse.Owner{Uid: want.UID, Gid: want.GID}, got.Owner, at)
		assert.Equal(t, want.Nlink, got.Nlink, at)
		size := uint64(want.Size)
		if text, status := w.cat(n.found.NodeId); n.held(w) && status == fuse.OK {
			size = uint64(len(text))
		}
		assert.Equal(t, size, got.Size, at)
	}
}

// visited is a node that a walk came to.
type visited struct {
	entry fuse.DirEntry
	found fuse.EntryOut
}

// held reports a file whose content is in memory once it was read.
func (n visited) held(w *world) bool {
	s := w.at(n.found.NodeId)
	if s.device == nil || n.entry.Mode != syscall.S_IFREG {
		return false
	}
	c := w.tree.PathOf(s.node.Serial(), s.node.Slot()).Row.ClassOf(s.device.Link)
	return c.InMemory() || c == attr.Kept
}

// walk visits every name below the root.
func (w *world) walk() map[string]visited {
	w.Helper()
	all := make(map[string]visited)
	w.walkBelow(uint64(tree.Root), "", all)
	return all
}

func (w *world) walkBelow(dir uint64, at string, all map[string]visited) {
	w.Helper()
	for _, e := range w.list(dir)[2:] {
		below := join(at, e.Name)
		out, status := w.lookup(dir, e.Name)
		require.Equal(w, fuse.OK, status, below)
		_, twice := all[below]
		require.False(w, twice, "%s is listed twice", below)
		all[below] = visited{e, out}
		if e.Mode == syscall.S_IFDIR {
			w.walkBelow(out.NodeId, below, all)
		}
	}
}

func direntNames(list []netdev.Dirent) []string {
	names := make([]string, 0, len(list))
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}

// FuzzLookup holds Lookup against the listing: a name is found if and only if it
// is listed.
func FuzzLookup(f *testing.F) {
	w := newWorld(f, 150)
	tap := newD0(f, macvtap())
	places := []struct {
		world
		dir string
	}{
		{*w, ""},
		{*w, "class/net"},
		{*w, w.bridge().Path()},
		{*w, w.bridge().Path() + "/brif"},
		{*w, w.bridge().Path() + "/statistics"},
		{*w, w.bridge().Path() + "/queues"},
		{*w, path.Dir(w.device(hardware).Home.Path)},
		{*tap, d0},
		{*tap, d0 + "/macvtap"},
	}
	for i := range places {
		for _, name := range []string{"mtu", "tap*", "upper_*", "rx-*", "rx-0", "rx-00", "lower_", "master", "lo", "net", "uevent"} {
			f.Add(i, name)
		}
	}
	f.Fuzz(func(t *testing.T, i int, name string) {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			t.Skip("the kernel doesn't look that up")
		}
		at := places[uint(i)%uint(len(places))]
		at.TB = t
		dir := at.node(at.dir)
		names := namesIn(at.list(dir))
		_, status := at.lookup(dir, name)
		if slices.Contains(names, name) {
			assert.Equal(t, fuse.OK, status)
		} else {
			assert.Equal(t, fuse.ENOENT, status)
		}
	})
}

// macvtap is the one kind with a name that depends on the device.
func macvtap() *memory {
	return sysfsOf(map[string]string{"tap7": arrow + "macvtap/tap7", "macvtap/tap7/dev": "240:1\n"})
}
