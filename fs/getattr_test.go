package fs

import (
	"path"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/nlinkcount"
	"github.com/sysfsd/sysfsd/synth"
	"github.com/sysfsd/sysfsd/tree"
)

// below has a file of each kind in a bridge's directory.
var below = []string{
	"mtu", "dev_id", "statistics/rx_bytes", "bridge/bridge_id", "brforward", "queues/tx-0/xps_rxqs",
}

func TestOfWhatIsGoneOnlyOpenFilesHaveAttributes(t *testing.T) {
	w := newWorld(t, 150)
	b := w.bridge()
	links := []uint64{w.node("class/net/" + b.Link.Name), w.node(b.Path() + "/subsystem")}
	var open []opened
	for _, at := range below {
		open = append(open, w.openPath(b.Path()+"/"+at))
	}
	w.del(b.Link.Name)
	for i, o := range open {
		out, status := w.getattr(o.node)
		assert.Equal(t, fuse.OK, status, below[i])
		assert.Equal(t, tree.Node(o.node).Ino(), out.Ino, below[i])
		assert.Equal(t, uint32(syscall.S_IFREG|0o444), out.Mode, below[i])
		assert.Equal(t, uint32(1), out.Nlink, below[i])
		o.close()
		_, status = w.getattr(o.node)
		assert.Equal(t, fuse.ENOENT, status, below[i])
	}
	for _, link := range links {
		_, status := w.getattr(link)
		assert.Equal(t, fuse.ENOENT, status)
	}
}

func TestADirectoryThatIsGoneStillIsOne(t *testing.T) {
	w := newWorld(t, 150)
	b := w.bridge()
	var nodes []uint64
	for _, at := range []string{"", "/statistics", "/queues/tx-0", "/brif"} {
		nodes = append(nodes, w.node(b.Path()+at))
	}
	w.del(b.Link.Name)
	for _, node := range nodes {
		out, status := w.getattr(node)
		assert.Equal(t, fuse.OK, status)
		assert.Equal(t, uint32(syscall.S_IFDIR|0o755), out.Mode)
		assert.Equal(t, uint32(2), out.Nlink)
		assert.Equal(t, tree.Node(node).Ino(), out.Ino)
		_, status = w.lookup(node, "mtu")
		assert.Equal(t, fuse.ENOENT, status)
	}
}

func TestARelationThatIsGoneIsNotThere(t *testing.T) {
	w := newWorld(t, 300)
	b := w.crowd(3)
	port := w.device(func(d *tree.Device) bool { return d.Master == b.Serial && d.Link.Kind != "veth" })
	var nodes []uint64
	for _, at := range []string{
		b.Path() + "/lower_" + port.Link.Name, b.Path() + "/brif/" + port.Link.Name,
		port.Path() + "/upper_" + b.Link.Name, port.Path() + "/master",
	} {
		nodes = append(nodes, w.node(at))
	}
	w.set(port.Link.Name, func(l *netdev.Link) { l.Master = 0 })
	for _, node := range nodes {
		_, status := w.getattr(node)
		assert.Equal(t, fuse.ENOENT, status)
		_, status = w.readlink(node)
		assert.Equal(t, fuse.ENOENT, status)
	}
	for _, name := range []string{"master", "upper_" + b.Link.Name} {
		_, status := w.lookup(w.node(port.Path()), name)
		assert.Equal(t, fuse.ENOENT, status, name)
	}
}

func TestSizesAreTheLengthOfWhatIsHeldAndAPageWhereAReadFails(t *testing.T) {
	w := newWorld(t, 60)
	d := w.device(func(d *tree.Device) bool { return d.Link.Kind == "ifb" && d.Link.Up() })
	size := func(file string) uint64 { return w.entry(d.Path() + "/" + file).Size }
	w.set(d.Link.Name, func(l *netdev.Link) { l.MTU, l.Alias = 1500, "some alias" })
	assert.Equal(t, uint64(5), size("mtu"))
	assert.Equal(t, uint64(11), size("ifalias"))
	assert.Equal(t, uint64(len("0x0\n")), size("dev_id"))
	assert.Equal(t, uint64(2), size("carrier"))
	assert.Equal(t, uint64(sysfsSize), size("flags"), "live")
	assert.Equal(t, uint64(sysfsSize), size("statistics/rx_bytes"), "live")
	assert.Equal(t, uint64(sysfsSize), size("speed"), "an ifb has none")

	w.set(d.Link.Name, func(l *netdev.Link) { l.MTU, l.Alias = 99, "" })
	assert.Equal(t, uint64(3), size("mtu"))
	assert.Zero(t, size("ifalias"))
	w.set(d.Link.Name, func(l *netdev.Link) { l.Flags &^= syscall.IFF_UP })
	assert.Equal(t, uint64(sysfsSize), size("carrier"), "EINVAL")
	assert.Equal(t, uint64(sysfsSize), size("ifalias"), "live while down")
}

func TestOwnersAreThoseOfTheFilesBehind(t *testing.T) {
	w := worldOver(t, owned{sysfsOf(nil)})
	w.tree.Apply(netdev.Batch{Full: true, Changes: []netdev.Change{setLink(linkD0())}})
	for _, at := range []string{d0, d0 + "/mtu", d0 + "/flags", d0 + "/statistics/rx_bytes", "class/net/d0", d0 + "/subsystem"} {
		assert.Equal(t, fuse.Owner{Uid: 1000, Gid: 100}, w.entry(at).Owner, at)
	}
}

// owned files belong to somebody.
type owned struct{ *memory }

func (o owned) Stat(d netdev.Dir, path string) (netdev.Stat, error) {
	st, err := o.memory.Stat(d, path)
	st.UID, st.GID = 1000, 100
	return st, err
}

func TestTheLinkCountOfABigDirectoryIsExactOrZeroForever(t *testing.T) {
	pop, err := synth.New(synth.Config{Devices: 65_533, Seed: 1, Kinds: []synth.Share{{Name: "dummy", Weight: 1}}})
	require.NoError(t, err)
	for _, c := range []struct {
		width                  nlinkcount.Width
		before, after, further uint32
	}{
		{nlinkcount.Width16, 65_535, 0, 0},
		{nlinkcount.Width32, 65_535, 65_536, 65_535},
	} {
		w := worldOver(t, pop, func(o *tree.Options) { o.Width = c.width })
		w.pop = pop
		w.follow()
		nlink := func() uint32 { return w.entry("devices/virtual/net").Nlink }
		assert.Equal(t, c.before, nlink())
		r, err := pop.Add(1)
		require.NoError(t, err)
		w.apply()
		assert.Equal(t, c.after, nlink())
		pop.Del(r)
		w.apply()
		assert.Equal(t, c.further, nlink())
		assert.Equal(t, uint32(2), w.entry("class/net").Nlink, "it has links only")
	}
}

func TestADirectorysTimeMovesWithItsMembersAndADevicesStays(t *testing.T) {
	w := newWorld(t, 30)
	before, lo := w.entry("class/net"), w.entry("devices/virtual/net/lo/mtu")
	w.set("lo", func(l *netdev.Link) { l.MTU = 1000 })
	assert.Equal(t, before.Attr, w.entry("class/net").Attr)
	_, err := w.pop.Add(1)
	require.NoError(t, err)
	w.apply()
	assert.NotEqual(t, before.Attr, w.entry("class/net").Attr)
	after := w.entry("devices/virtual/net/lo/mtu")
	assert.Equal(t, []any{lo.Mtime, lo.Mtimensec}, []any{after.Mtime, after.Mtimensec})
}

func TestAnotherTypeUnderALiveNameIsAnotherNode(t *testing.T) {
	files := sysfsOf(map[string]string{"driver/thing": "text\n"})
	w := newD0(t, files)
	file := w.node(d0 + "/driver/thing")
	files.remove(d0 + "/driver/thing")
	files.put(d0+"/driver/thing/below", "text\n")
	dir := w.node(d0 + "/driver/thing")
	assert.NotEqual(t, file, dir)
	_, status := w.getattr(file)
	assert.Equal(t, fuse.ENOENT, status)
	assert.Equal(t, "text\n", w.textAt(d0+"/driver/thing/below"))
}

func TestAFileOfABusDeviceComesAndGoes(t *testing.T) {
	w := newWorld(t, 150)
	bus := path.Dir(w.device(hardware).Home.Path)
	node := w.node(bus + "/revision")
	w.files.breakAt(bus+"/revision", syscall.ENOENT)
	_, status := w.getattr(node)
	assert.Equal(t, fuse.ENOENT, status)
	assert.NotContains(t, namesIn(w.list(w.node(bus))), "revision")
	w.files.breakAt(bus+"/revision", nil)
	assert.Equal(t, node, w.node(bus+"/revision"))
}
