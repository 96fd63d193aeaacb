package tree

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

func (l look) files(tr *Tree, name string) []string {
	l.Helper()
	d := l.device(name)
	var names []string
	for _, e := range d.Shape.Top {
		names = append(names, attr.NameOf(tr.Paths.Get(e.Slot).Name, d.Link))
	}
	return names
}

func TestAShapeIsLearnedOnceForAKind(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "a")), set(link(2, "b")), set(link(3, "c"))))
	assert.Equal(t, 2, files.lists, "one device's directory, and its statistics")
	l := lookAt(t, tr)
	assert.Same(t, l.device("a").Shape, l.device("c").Shape)
	assert.Equal(t, uint32(4), l.device("a").Nlink())
	assert.ElementsMatch(t, []string{"mtu", "uevent", "statistics", "queues", "subsystem"}, l.files(tr, "a"))
}

func TestADeviceUnlikeItsKindIsFoundOut(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "a")), set(link(2, "b"))))
	files.set("b", append([]string{"extra"}, plain...)...)
	tr.Apply(batch(set(link(2, "b"))))
	lookTwice(tr)
	l := lookAt(t, tr)
	assert.Contains(t, l.files(tr, "b"), "extra")
	assert.NotContains(t, l.files(tr, "a"), "extra")
}

func TestAPortHasFilesOfItsOwn(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "a")), set(link(2, "b")), set(link(9, "br", kind("bridge")))))
	files.set("a", append([]string{"brport/"}, plain...)...)
	tr.Apply(batch(set(link(1, "a", master(9), func(l *netdev.Link) { l.Slave = "bridge" }))))
	l := lookAt(t, tr)
	assert.Contains(t, l.files(tr, "a"), "brport", "at once, not when a check has found it")
	assert.NotContains(t, l.files(tr, "b"), "brport")
	files.set("a", plain...)
	tr.Apply(batch(set(link(1, "a"))))
	assert.NotContains(t, lookAt(t, tr).files(tr, "a"), "brport")
}

func TestModesChangedByHandStayWithTheirDevice(t *testing.T) {
	files := &fakeFiles{modes: map[string]uint32{virtualPath + "/a/mtu": 0o600}}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "a")), set(link(2, "b"))))
	mode := func(name string) uint32 {
		e, ok := attr.Find(lookAt(t, tr).device(name).Shape.Top, tr.Paths.Known("mtu"))
		require.True(t, ok)
		return e.Mode & 0o777
	}
	assert.EqualValues(t, 0o600, mode("a"))
	assert.EqualValues(t, 0o644, mode("b"))
}

func TestEqualShapesAreOne(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	for i := range 50 {
		files.set("a", append([]string{"extra"}, plain...)...)
		if i%2 == 0 {
			files.set("a", plain...)
		}
		tr.Apply(batch(set(link(1, "a"))))
		lookTwice(tr)
	}
	assert.LessOrEqual(t, len(tr.shapes.equal), 2)
}

// noFiles has nothing behind the tree, as where sysfs is out of reach.
type noFiles struct{ fakeFiles }

func (*noFiles) List(netdev.Dir, string) ([]netdev.Dirent, error) { return nil, syscall.ENOENT }

func TestWithoutFilesTheMirroredOnesAreShown(t *testing.T) {
	tr := newTree(t, &noFiles{})
	tr.Apply(full(set(link(1, "a"))))
	l := lookAt(t, tr)
	assert.Contains(t, l.files(tr, "a"), "mtu")
	assert.NotContains(t, l.files(tr, "a"), "phys_port_name")
	require.NotContains(t, l.files(tr, "a"), "flags")
}

func TestPrivatePathsGoWithTheirDevice(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	tr.Apply(full(set(link(1, "a"))))
	s := lookAt(t, tr).device("a").Serial
	dir := tr.Paths.Known("macvtap")
	slot, ok := tr.Child(s, dir, "tap1")
	require.True(t, ok)
	require.GreaterOrEqual(t, slot, attr.FirstPrivate)
	dev, _ := tr.Child(s, slot, "dev")
	assert.Equal(t, "macvtap/tap1/dev", tr.PathOf(s, dev).Full)
	again, _ := tr.Child(s, slot, "dev")
	assert.Equal(t, dev, again)
	tr.Apply(batch(goneAt(1)))
	assert.Empty(t, tr.PathOf(s, dev).Full)
	tr.private.mu.Lock()
	defer tr.private.mu.Unlock()
	assert.Empty(t, tr.private.of)
}
