package fs

import (
	"errors"
	"path"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/synth"
	"github.com/sysfsd/sysfsd/tree"
)

func TestNamesThatAreNotThereAreNotFoundAndNotCached(t *testing.T) {
	w := newWorld(t, 150)
	b := w.bridge()
	for _, dir := range append(w.everyKindOfDirectory(), b.Path()) {
		for _, name := range []string{"none", "", "upper_", "lower_none", "upper_*", "rx-*", "rx-00", "tx-99999999999", "tap*", "a\xff"} {
			out, status := w.lookup(w.node(dir), name)
			assert.Equal(t, fuse.ENOENT, status, "%s/%s", dir, name)
			assert.Zero(t, out, "%s/%s", dir, name)
		}
	}
}

func TestNothingIsFoundBelowAFile(t *testing.T) {
	w := newWorld(t, 30)
	_, status := w.lookup(w.node("devices/virtual/net/lo/mtu"), "mtu")
	assert.Equal(t, fuse.ENOENT, status)
}

func TestALookupThatFailsTellsItsError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want fuse.Status
	}{
		{syscall.ENODEV, fuse.ENOENT},
		{syscall.EACCES, fuse.EACCES},
		{errors.New("no errno"), fuse.EIO},
	} {
		w := newWorld(t, 30)
		dir := w.node("devices/virtual/net/lo/power")
		w.files.breakAt("devices/virtual/net/lo/power/control", c.err)
		_, status := w.lookup(dir, "control")
		assert.Equal(t, c.want, status, c.err)
	}
}

func TestADeviceThatIsGoneIsNotFound(t *testing.T) {
	w := newWorld(t, 150)
	d := w.device(hardware)
	bus := path.Dir(d.Home.Path)
	dirs := []uint64{w.node("class/net"), w.node(d.Home.Path)}
	own, parent := w.node(d.Path()), w.node(path.Dir(bus))
	w.del(d.Link.Name)
	for _, dir := range dirs {
		_, status := w.lookup(dir, d.Link.Name)
		assert.Equal(t, fuse.ENOENT, status)
	}
	for _, name := range []string{"mtu", "statistics", "queues", "subsystem", "device"} {
		_, status := w.lookup(own, name)
		assert.Equal(t, fuse.ENOENT, status)
	}
	_, status := w.lookup(parent, path.Base(bus))
	assert.Equal(t, fuse.ENOENT, status)
}

func TestADeviceThatIsMadeAgainHasOtherNodes(t *testing.T) {
	w := newWorld(t, 30)
	d := w.device(ofKind("dummy"))
	other := *d.Link
	old := w.nodesOf(d)
	w.tree.Apply(netdev.Batch{Changes: []netdev.Change{{Op: netdev.Gone, Index: d.Link.Index}, setLink(&other)}})
	for i, node := range w.nodesOf(d) {
		assert.NotEqual(t, old[i], node)
		assert.NotEqual(t, tree.Node(old[i]).Ino(), tree.Node(node).Ino())
		_, status := w.getattr(old[i])
		if tree.Node(old[i]).Type() != tree.TypeDir {
			assert.Equal(t, fuse.ENOENT, status)
		}
	}
}

func TestADeviceKeepsItsNodesWhenItIsRenamed(t *testing.T) {
	w := newWorld(t, 30)
	d := w.device(ofKind("dummy"))
	old := w.nodesOf(d)
	o := w.openPath(d.Path() + "/ifindex")
	was, _ := o.start()
	require.NoError(t, w.pop.Rename(d.Link.Index, "other"))
	w.apply()
	d = w.device(func(d *tree.Device) bool { return d.Link.Name == "other" })
	assert.Equal(t, old, w.nodesOf(d))
	text, status := o.start()
	assert.Equal(t, fuse.OK, status)
	assert.Equal(t, was, text)
}

// nodesOf returns nodes of all kinds of a device.
func (w *world) nodesOf(d *tree.Device) []uint64 {
	w.Helper()
	var nodes []uint64
	for _, at := range []string{"", "/mtu", "/statistics", "/statistics/rx_bytes", "/queues/rx-0/rps_cpus", "/subsystem"} {
		nodes = append(nodes, w.node(d.Path()+at))
	}
	return append(nodes, w.node("class/net/"+d.Link.Name))
}

func TestTwoDevicesSwapTheirNames(t *testing.T) {
	w := newWorld(t, 60)
	a := w.device(ofKind("dummy"))
	b := w.device(ofKind("bridge"))
	for e := range b.Ports().After(0) {
		b = w.device(func(d *tree.Device) bool { return d.Link.Name == e.Name }) // A port: relations follow too.
	}
	nodeA, nodeB := w.node("class/net/"+a.Link.Name), w.node("class/net/"+b.Link.Name)
	w.tree.Apply(netdev.Batch{Changes: []netdev.Change{renamedTo(a, b.Link.Name), renamedTo(b, a.Link.Name)}})

	assert.Equal(t, nodeB, w.node("class/net/"+a.Link.Name))
	assert.Equal(t, nodeA, w.node("class/net/"+b.Link.Name))
	link, _ := w.readlink(nodeA)
	assert.Equal(t, "../../devices/virtual/net/"+b.Link.Name, link)
	index := func(d *tree.Device) string { return w.textAt("devices/virtual/net/" + d.Link.Name + "/uevent") }
	assert.Contains(t, index(a), "INTERFACE="+a.Link.Name+"\nIFINDEX="+w.textAt(a.Path()+"/ifindex"))
	assert.NotContains(t, index(a), "IFINDEX="+decimal(a.Link.Index)+"\n")
	if b.Master != 0 {
		m, _ := w.tree.Snapshot().Device(b.Master)
		port, status := w.readlink(w.node(m.Path() + "/lower_" + a.Link.Name))
		assert.Equal(t, fuse.OK, status)
		assert.Equal(t, "../"+a.Link.Name, port)
	}
}

func TestNamesOfAMacvtapFollowItsIfindex(t *testing.T) {
	w := newD0(t, macvtap())
	link, status := w.readlink(w.node(d0 + "/tap7"))
	assert.Equal(t, fuse.OK, status)
	assert.Equal(t, "macvtap/tap7", link)
	assert.Equal(t, "240:1\n", w.textAt(d0+"/macvtap/tap7/dev"))
	for _, name := range []string{"tap*", "tap8", "tap07", "tap"} {
		_, status := w.lookup(w.node(d0), name)
		assert.Equal(t, fuse.ENOENT, status, name)
	}
}

func TestNumbersOfAnObjectAreNeverUsedAgain(t *testing.T) {
	w := newWorld(t, 30)
	seen := map[uint64]bool{}
	for range 20 {
		r, err := w.pop.Add(3)
		require.NoError(t, err)
		w.apply()
		for _, e := range w.list(w.node("class/net"))[2:] {
			if index, _ := w.pop.Lookup(e.Name); index >= r.First {
				assert.False(t, seen[e.Ino], e.Name)
				seen[e.Ino] = true
			}
		}
		w.pop.Del(synth.Range{First: r.First, Last: r.Last})
		w.apply()
	}
	assert.Len(t, seen, 60)
}
