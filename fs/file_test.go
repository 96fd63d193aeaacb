package fs

import (
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/synth"
	"github.com/sysfsd/sysfsd/tree"
)

func TestAReaderOfSingleBytesSeesOneSnapshotAcrossAChange(t *testing.T) {
	w := newWorld(t, 30)
	d := w.device(ofKind("dummy"))
	w.set(d.Link.Name, func(l *netdev.Link) { l.MTU = 999 })
	o := w.openPath(d.Path() + "/mtu")
	var got strings.Builder
	for off := uint64(0); ; off++ {
		b, status := o.read(off, 1, nil)
		require.Equal(t, fuse.OK, status)
		if b == "" {
			break
		}
		got.WriteString(b)
		w.set(d.Link.Name, func(l *netdev.Link) { l.MTU = 10_000 + uint32(off) })
	}
	assert.Equal(t, "999\n", got.String())
	text, _ := o.start()
	assert.Equal(t, "10003\n", text, "a read at 0 makes the text anew")
}

func TestAReadAtZeroMakesTheTextAnewAlsoWhereItIsShorter(t *testing.T) {
	w := newWorld(t, 30)
	d := w.device(ofKind("dummy"))
	o := w.openPath(d.Path() + "/mtu")
	for _, mtu := range []uint32{10_000, 99, 1500} {
		w.set(d.Link.Name, func(l *netdev.Link) { l.MTU = mtu })
		text, status := o.start()
		assert.Equal(t, fuse.OK, status)
		want, err := w.pop.Read(d.Dir(), "mtu", make([]byte, 10), 0)
		require.NoError(t, err)
		assert.Len(t, text, want)
	}
}

func TestReadsPastTheEndAreEmpty(t *testing.T) {
	w := newWorld(t, 30)
	d := w.device(ofKind("dummy"))
	for _, file := range []string{"mtu", "dev_id", "flags", "statistics/rx_bytes"} {
		o := w.openPath(d.Path() + "/" + file)
		text, _ := o.start()
		for _, off := range []uint64{uint64(len(text)), 4096, 1 << 62} {
			got, status := o.read(off, 100, nil)
			assert.Equal(t, fuse.OK, status, file)
			assert.Empty(t, got, file)
		}
	}
}

func TestTheFirstReadMayBeAnywhere(t *testing.T) {
	w := newWorld(t, 30)
	o := w.openPath("devices/virtual/net/lo/mtu")
	text, status := o.read(3, 100, nil)
	assert.Equal(t, fuse.OK, status)
	assert.Equal(t, "36\n", text)
}

func TestReadersOfOneHandleEachGetOneValue(t *testing.T) {
	w := newWorld(t, 30)
	d := w.device(ofKind("dummy"))
	w.set(d.Link.Name, func(l *netdev.Link) { l.MTU = 999 })
	o := w.openPath(d.Path() + "/mtu")
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !closed(over) {
				whole, _ := o.start()
				assert.Contains(t, []string{"999\n", "10000\n"}, whole)
				end, _ := o.read(2, 100, nil)
				assert.Contains(t, []string{"9\n", "000\n"}, end)
			}
		})
	}
	for i := range 200 {
		w.set(d.Link.Name, func(l *netdev.Link) { l.MTU = []uint32{10_000, 999}[i%2] })
	}
	close(over)
	readers.Wait()
}

func TestAnOpenFileKeepsWhatItHadWhenItsDeviceIsGone(t *testing.T) {
	w := newWorld(t, 150)
	b := w.bridge()
	files := []string{"mtu", "dev_id", "flags", "statistics/rx_bytes", "bridge/bridge_id", "queues/tx-0/xps_rxqs", "uevent"}
	open, had := map[string]opened{}, map[string]string{}
	for _, file := range files {
		open[file] = w.openPath(b.Path() + "/" + file)
		had[file], _ = open[file].start()
		require.NotEmpty(t, had[file], file)
	}
	w.del(b.Link.Name)
	for _, file := range files {
		for _, off := range []int{0, 1} {
			text, status := open[file].read(uint64(off), pageSize, nil)
			assert.Equal(t, fuse.OK, status, file)
			assert.Equal(t, had[file][off:], text, file)
		}
	}
}

func TestAnOpenFileThatWasNeverReadIsNotThereWhenItsDeviceIsGone(t *testing.T) {
	w := newWorld(t, 150)
	b := w.bridge()
	var open []opened
	for _, file := range []string{"mtu", "dev_id", "flags", "statistics/rx_bytes", "bridge/bridge_id", "queues/tx-0/xps_rxqs", "brforward"} {
		open = append(open, w.openPath(b.Path()+"/"+file))
	}
	w.del(b.Link.Name)
	for _, o := range open {
		for _, off := range []uint64{0, 16} {
			_, status := o.read(off, 100, nil)
			assert.Equal(t, fuse.ENOENT, status)
		}
	}
}

func TestNothingThatIsGoneCanBeOpened(t *testing.T) {
	w := newWorld(t, 150)
	b := w.bridge()
	var nodes []uint64
	for _, file := range []string{"mtu", "dev_id", "statistics/rx_bytes", "brforward", "bridge/bridge_id", "bridge/flush"} {
		nodes = append(nodes, w.node(b.Path()+"/"+file))
	}
	w.del(b.Link.Name)
	for _, node := range nodes {
		_, status := w.openNode(node)
		assert.Equal(t, fuse.ENOENT, status)
	}
}

func TestADeviceThatIsGoneIsNeverAnythingButNotThere(t *testing.T) {
	for _, err := range []error{syscall.ENODEV, syscall.ESTALE, syscall.ENOTDIR, syscall.ENOENT} {
		w := newWorld(t, 30)
		const file = "devices/virtual/net/lo/flags"
		o := w.openPath(file)
		w.files.breakAt(file, err)
		_, status := o.start()
		assert.Equal(t, fuse.ENOENT, status, err)
	}
}

func TestWriteOnlyFilesCannotBeOpened(t *testing.T) {
	w := newWorld(t, 150)
	_, status := w.openNode(w.node(w.bridge().Path() + "/bridge/flush"))
	assert.Equal(t, fuse.EACCES, status)
}

func TestFilesCannotBeOpenedForWriting(t *testing.T) {
	w := newWorld(t, 30)
	node := w.node("devices/virtual/net/lo/mtu")
	for _, flags := range []uint32{syscall.O_WRONLY, syscall.O_RDWR, syscall.O_WRONLY | syscall.O_TRUNC} {
		in := &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: node}, Flags: flags}
		assert.Equal(t, fuse.EROFS, w.Open(nil, in, &fuse.OpenOut{}))
	}
}

func TestFilesAreOpenedWithDirectIO(t *testing.T) {
	w := newWorld(t, 30)
	var out fuse.OpenOut
	in := &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: w.node("devices/virtual/net/lo/mtu")}}
	require.Equal(t, fuse.OK, w.Open(nil, in, &out))
	assert.Equal(t, uint32(fuse.FOPEN_DIRECT_IO), out.OpenFlags)
}

func TestAHandleIsGoodUntilItsRelease(t *testing.T) {
	w := newWorld(t, 30)
	o := w.openPath("devices/virtual/net/lo/mtu")
	other := w.openPath("devices/virtual/net/lo/mtu")
	assert.NotEqual(t, o.fh, other.fh)
	o.close()
	_, status := o.start()
	assert.Equal(t, fuse.EBADF, status)
	text, _ := other.start()
	assert.Equal(t, "65536\n", text)
	other.close()
	assert.Zero(t, w.handles())
}

func TestABinaryFileIsPassedOnWithItsOffsets(t *testing.T) {
	w := newWorld(t, 300)
	b := w.crowd(5)
	want := make([]byte, pageSize)
	n, err := w.pop.Read(b.Dir(), "brforward", want, 0)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 5*16)
	o := w.openPath(b.Path() + "/brforward")
	for off := 0; off < n; off += 16 {
		record, status := o.read(uint64(off), 31, nil)
		assert.Equal(t, fuse.OK, status)
		assert.Equal(t, string(want[off:off+16]), record)
	}
	_, status := o.read(8, 100, nil)
	assert.Equal(t, fuse.EINVAL, status)
	text, status := o.read(uint64(n), 100, nil)
	assert.Equal(t, fuse.OK, status)
	assert.Empty(t, text)
	assert.Zero(t, w.entry(b.Path()+"/brforward").Size)
}

func TestABinaryFileHasNoSnapshot(t *testing.T) {
	w := newWorld(t, 300)
	b := w.crowd(5)
	o := w.openPath(b.Path() + "/brforward")
	before, _ := o.start()
	port := w.device(func(d *tree.Device) bool { return d.Master == b.Serial && d.Link.Kind != "veth" })
	w.set(port.Link.Name, func(l *netdev.Link) { l.Master = 0 })
	after, _ := o.read(16, pageSize, nil)
	assert.Len(t, after, len(before)-2*16)
}

func TestABinaryFileThatNobodyKnowsCanBeInterrupted(t *testing.T) {
	files := sysfsOf(map[string]string{"eeprom": "\x00\x01\x02\x03"}, "eeprom")
	w := newD0(t, files)
	o := w.openPath(d0 + "/eeprom")
	text, status := o.read(1, 2, nil)
	require.Equal(t, fuse.OK, status)
	require.Equal(t, "\x01\x02", text)

	until := make(chan struct{})
	defer close(until)
	w.files.blockAt(d0+"/eeprom", until)
	cancel, got := make(chan struct{}), make(chan fuse.Status, 1)
	go func() {
		_, status := o.read(0, 4, cancel)
		got <- status
	}()
	require.Eventually(t, func() bool { return w.files.waiting() == 1 }, patience, tick)
	close(cancel)
	select {
	case status := <-got:
		assert.Equal(t, fuse.EINTR, status)
	case <-time.After(patience):
		assert.Fail(t, "the read goes on")
	}
}

func TestAnErrorThatIsNoErrnoIsLoggedOnce(t *testing.T) {
	const file = "devices/virtual/net/lo/flags"
	for _, filled := range []bool{false, true} {
		w := newWorld(t, 30)
		o := w.openPath(file)
		if filled {
			_, status := o.start()
			require.Equal(t, fuse.OK, status)
		}
		w.files.breakAt(file, errors.New("no errno"))
		_, status := o.start()
		assert.Equal(t, fuse.EIO, status)
		assert.Len(t, w.log.lines(), 1)
	}
}

func TestAReadThatFailsLeavesTheTextAlone(t *testing.T) {
	const file = "devices/virtual/net/lo/flags"
	w := newWorld(t, 30)
	o := w.openPath(file)
	had, _ := o.start()
	w.files.breakAt(file, syscall.EINVAL)
	_, status := o.start()
	assert.Equal(t, fuse.EINVAL, status)
	w.files.breakAt(file, nil)
	rest, status := o.read(1, 100, nil)
	assert.Equal(t, fuse.OK, status)
	assert.Equal(t, had[1:], rest)
}

func TestReadersAndTheWriterDoNotDisturbEachOther(t *testing.T) {
	w := newWorld(t, 100)
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !closed(over) {
				w.visitLoosely(uint64(tree.Root))
			}
		})
	}
	for i := range 60 {
		r, err := w.pop.Add(5)
		require.NoError(t, err)
		w.apply()
		require.NoError(t, w.pop.Rename(r.First, "renamed"))
		w.apply()
		w.set("lo", func(l *netdev.Link) { l.MTU = uint32(1000 * (i + 1)) })
		w.pop.Del(synth.Range{First: r.First, Last: r.Last})
		w.apply()
	}
	close(over)
	readers.Wait()
	assert.Zero(t, w.handles())
	assert.Empty(t, w.log.lines())
}

// visitLoosely does all that can be done below a directory while it changes.
func (w *world) visitLoosely(dir uint64) {
	for _, e := range w.list(dir)[2:] {
		out, status := w.lookup(dir, e.Name)
		if status != fuse.OK {
			assert.Equal(w, fuse.ENOENT, status, e.Name)
			continue
		}
		switch out.Mode & syscall.S_IFMT {
		case syscall.S_IFDIR:
			w.visitLoosely(out.NodeId)
		case syscall.S_IFLNK:
			_, status = w.readlink(out.NodeId)
			assert.Contains(w, []fuse.Status{fuse.OK, fuse.ENOENT}, status, e.Name)
		default:
			_, status = w.cat(out.NodeId)
			assert.Contains(w, ordinary, status, e.Name)
		}
	}
}

// ordinary are the answers that a read of a healthy tree may get; EIO is that of
// power/autosuspend_delay_ms.
var ordinary = []fuse.Status{
	fuse.OK, fuse.ENOENT, fuse.EINVAL, fuse.EACCES, fuse.EIO, fuse.Status(syscall.EOPNOTSUPP),
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// For what happens in another goroutine.
const (
	patience = 10 * time.Second
	tick     = time.Millisecond
)
