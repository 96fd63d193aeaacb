package fs

import (
	"errors"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

func TestMirroredFilesAreReadFromMemory(t *testing.T) {
	w := newWorld(t, 60)
	d := w.device(func(d *tree.Device) bool { return d.Link.Kind == "veth" && d.Link.Up() })
	for _, file := range []string{"mtu", "address", "carrier", "speed", "duplex", "operstate", "uevent", "ifalias", "carrier_changes", "link_mode"} {
		before := w.files.readsOf(d.Path() + "/" + file)
		w.textAt(d.Path() + "/" + file)
		assert.Equal(t, before, w.files.readsOf(d.Path()+"/"+file), file)
	}
}

func TestAMirroredFileThatIsAnnouncedWhileUpIsReadLiveWhileDown(t *testing.T) {
	w := newWorld(t, 60)
	d := w.device(func(d *tree.Device) bool { return d.Link.Kind == "ifb" && d.Link.Up() })
	file := d.Path() + "/carrier_changes"
	w.textAt(file)
	require.Zero(t, w.files.readsOf(file))
	w.set(d.Link.Name, func(l *netdev.Link) { l.Flags &^= syscall.IFF_UP })
	w.textAt(file)
	w.textAt(file)
	assert.Equal(t, 2, w.files.readsOf(file))
}

func TestAKeptFileIsReadOnceUntilTheNextAnnouncement(t *testing.T) {
	w := newWorld(t, 30)
	d := w.device(ofKind("dummy"))
	for _, file := range []string{"addr_assign_type", "name_assign_type", "dev_id", "dev_port"} {
		at := d.Path() + "/" + file
		for range 3 {
			w.entry(at) // Its size is that of its content.
			w.textAt(at)
		}
		assert.Equal(t, 1, w.files.readsOf(at), file)
		w.set(d.Link.Name, func(l *netdev.Link) { l.MTU++ })
		w.textAt(at)
		assert.Equal(t, 2, w.files.readsOf(at), file)
		w.tree.Apply(netdev.Batch{Changes: []netdev.Change{{Op: netdev.Touched, Index: d.Link.Index}}})
		w.textAt(at)
		w.textAt(at)
		assert.Equal(t, 3, w.files.readsOf(at), file)
	}
}

func TestAKeptFilesOwnErrorIsKeptAndAnyOtherIsNot(t *testing.T) {
	for _, c := range []struct {
		err   error
		want  fuse.Status
		reads int
	}{
		{syscall.EINVAL, fuse.EINVAL, 1},
		{syscall.EMFILE, fuse.Status(syscall.EMFILE), 3},
		{syscall.ENODEV, fuse.ENOENT, 3},
		{errors.New("no errno"), fuse.EIO, 3},
	} {
		w := newWorld(t, 30)
		const at = "devices/virtual/net/lo/dev_port"
		o := w.openPath(at)
		w.tree.Apply(netdev.Batch{Changes: []netdev.Change{{Op: netdev.Touched, Index: 1}}})
		w.files.breakAt(at, c.err)
		before := w.files.readsOf(at)
		for range 3 {
			_, status := o.start()
			assert.Equal(t, c.want, status, c.err)
		}
		assert.Equal(t, c.reads, w.files.readsOf(at)-before, c.err)
	}
}

func TestALiveFileIsReadAtEachReadFromItsBeginning(t *testing.T) {
	w := newWorld(t, 30)
	const at = "devices/virtual/net/lo/statistics/rx_bytes"
	o := w.openPath(at)
	require.Zero(t, w.files.readsOf(at))
	for range 3 {
		_, status := o.start()
		assert.Equal(t, fuse.OK, status)
		_, status = o.read(1, 1, nil)
		assert.Equal(t, fuse.OK, status)
	}
	assert.Equal(t, 3, w.files.readsOf(at))
}

func TestQueueFilesOfADeviceWithOneQueueAreNotThereWithoutAsking(t *testing.T) {
	w := newWorld(t, 150)
	for _, many := range []bool{false, true} {
		d := w.device(func(d *tree.Device) bool { return d.Link.NumTxQueues > 1 == many })
		for _, name := range []string{"xps_cpus", "traffic_class"} {
			at := d.Path() + "/queues/tx-0/" + name
			text, status := w.cat(w.node(at))
			if many {
				assert.Equal(t, fuse.OK, status)
				assert.NotEmpty(t, text)
				assert.Equal(t, 1, w.files.readsOf(at))
				continue
			}
			assert.Equal(t, fuse.ENOENT, status)
			assert.Zero(t, w.files.readsOf(at))
		}
	}
}

func TestAFileThatNobodyKnowsIsServedToo(t *testing.T) {
	files := sysfsOf(map[string]string{"driver_thing": "text\n", "power/more/deep": "deep\n"})
	w := newD0(t, files)
	assert.Equal(t, "text\n", w.textAt(d0+"/driver_thing"))
	assert.Equal(t, "deep\n", w.textAt(d0+"/power/more/deep"))
	first, again := w.node(d0+"/power/more/deep"), w.node(d0+"/power/more/deep")
	assert.Equal(t, first, again)
	assert.Equal(t, tree.Node(w.node(d0+"/power/more")).Ino(), w.list(w.node(d0 + "/power/more"))[0].Ino)
	assert.Equal(t, tree.Node(w.node(d0+"/power")).Ino(), w.list(w.node(d0 + "/power/more"))[1].Ino)
}

func TestTheTextOfUeventFollowsARename(t *testing.T) {
	w := newWorld(t, 30)
	d := w.device(ofKind("bridge"))
	o := w.openPath(d.Path() + "/uevent")
	require.NoError(t, w.pop.Rename(d.Link.Index, "other"))
	w.apply()
	text, _ := o.start()
	assert.Contains(t, text, "DEVTYPE=bridge\nINTERFACE=other\n")
}
