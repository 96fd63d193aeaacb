package fs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/hashpos"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/synth"
	"github.com/sysfsd/sysfsd/tree"
)

// tiny and tinyPlus hold one entry with a name of up to 40 bytes, and no two.
const (
	tiny     = 24 + 40
	tinyPlus = tiny + 128
)

func TestReaddirResumesAtEveryPosition(t *testing.T) {
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 150, hash)
			for _, dir := range w.everyKindOfDirectory() {
				node := w.node(dir)
				all := w.list(node)
				for i, e := range all {
					assert.Equal(t, all[i+1:], append([]fuse.DirEntry{}, w.listFrom(node, e.Off, roomy)...), "%s past %s", dir, e.Name)
				}
			}
		})
	}
}

func TestReaddirInTinyPiecesGivesWhatOneCallGives(t *testing.T) {
	w := newWorld(t, 150)
	for _, dir := range w.everyKindOfDirectory() {
		node := w.node(dir)
		assert.Equal(t, w.list(node), w.scan(node, func() {}), dir)
	}
}

func TestPositionsGoUpAndFitWhereLongHas32Bits(t *testing.T) {
	w := newWorld(t, 150)
	for _, dir := range w.everyKindOfDirectory() {
		last := uint64(hashpos.Start)
		for _, e := range w.list(w.node(dir)) {
			assert.Greater(t, e.Off, last, "%s/%s", dir, e.Name)
			assert.Less(t, e.Off, uint64(1<<31-1), "%s/%s", dir, e.Name)
			last = e.Off
		}
	}
}

func TestReaddirplusGivesTheSameNamesAtTheSamePositions(t *testing.T) {
	w := newWorld(t, 150)
	for _, dir := range w.everyKindOfDirectory() {
		node := w.node(dir)
		want := w.list(node)
		got, _ := w.listPlusFrom(node, 0, roomy)
		assert.Equal(t, want, got, dir)
		assert.Equal(t, want, w.scanPlus(node), dir)
	}
}

func TestReaddirplusAnswersANameAsLookupDoesOrNotAtAll(t *testing.T) {
	w := newWorld(t, 150)
	for _, dir := range w.everyKindOfDirectory() {
		node := w.node(dir)
		for range 3 { // Who asks for attributes may get them with the next listing.
			entries, outs := w.listPlusFrom(node, 0, roomy)
			for i, out := range outs[2:] {
				want, status := w.lookup(node, entries[2+i].Name)
				require.Equal(t, fuse.OK, status)
				if out.NodeId != 0 {
					assert.Equal(t, want, out, "%s/%s", dir, entries[2+i].Name)
				}
			}
			assert.Equal(t, make([]fuse.EntryOut, 2), outs[:2], "the dots of %s", dir)
		}
	}
}

func TestAScanOfDevicesSeesWhoStaysOnce(t *testing.T) {
	for name, hash := range hashes {
		for _, dir := range []string{"class/net", "devices/virtual/net"} {
			t.Run(name+"/"+dir, func(t *testing.T) {
				w := newWorld(t, 150, hash)
				node := w.node(dir)
				w.seesWhoStaysOnce(node, w.churnDevices())
			})
		}
	}
}

// churnDevices returns what makes two devices, and one of these go that it made
// before, and renames another.
func (w *world) churnDevices() func() {
	round := 0
	var made []uint32
	return func() {
		round++
		r, err := w.pop.Add(2)
		require.NoError(w, err)
		w.apply()
		for index := r.First; index <= r.Last; index++ {
			made = append(made, index)
		}
		if round%2 == 0 {
			w.pop.Del(synth.Range{First: made[0], Last: made[0]})
			w.apply()
			made = slices.DeleteFunc(made, func(i uint32) bool { return w.pop.Link(i) == nil })
		}
		if len(made) > 0 {
			require.NoError(w, w.pop.Rename(made[len(made)-1], fmt.Sprintf("churn%d", round)))
			w.apply()
		}
	}
}

func TestAScanOfRelationsSeesWhichStayOnce(t *testing.T) {
	for _, below := range []string{"", "/brif"} {
		t.Run("bridge"+below, func(t *testing.T) {
			w := newWorld(t, 300)
			b := w.crowd(12)
			ports, others := w.dummies(b)
			require.Greater(t, len(others), 3)
			w.seesWhoStaysOnce(w.node(b.Path()+below), func() {
				port, other := ports[0], others[0]
				w.set(port, func(l *netdev.Link) { l.Master = 0 })
				w.set(other, func(l *netdev.Link) { l.Master = b.Link.Index })
				ports, others = append(ports[1:], other), append(others[1:], port)
			})
		})
	}
}

// dummies returns half of the ports of a bridge that were made such, and some
// devices that could be.
func (w *world) dummies(b *tree.Device) (ports, others []string) {
	for d := range w.tree.Snapshot().Devices() {
		switch {
		case d.Link.Kind != "dummy" && d.Link.Kind != "ifb":
		case d.Master == b.Serial && d.Serial%2 == 0:
			ports = append(ports, d.Link.Name)
		case d.Master == 0:
			others = append(others, d.Link.Name)
		}
	}
	return ports, others
}

func TestAScanOfALiveDirectorySeesWhatStaysOnce(t *testing.T) {
	files := sysfsOf(nil)
	for i := range 20 {
		files.put(fmt.Sprintf("%s/driver/file%d", d0, i), "0\n")
	}
	w := newD0(t, files)
	round := 0
	w.seesWhoStaysOnce(w.node(d0+"/driver"), func() {
		if round++; round > 30 {
			return // A name that is new stands behind all others: the scan would have no end.
		}
		files.remove(fmt.Sprintf("%s/driver/a%d", d0, round-3))
		files.put(fmt.Sprintf("%s/driver/a%d", d0, round), "0\n")
	})
}

func TestAScanOfABusDeviceSeesWhatStaysOnce(t *testing.T) {
	w := newWorld(t, 150)
	bus := path.Dir(w.device(hardware).Home.Path)
	var broken error
	w.seesWhoStaysOnce(w.node(bus), func() {
		if broken = nil; w.files.failure(bus+"/revision") == nil {
			broken = syscall.ENOENT
		}
		w.files.breakAt(bus+"/revision", broken)
	})
}

// seesWhoStaysOnce scans a directory in tiny pieces with a change before each.
func (w *world) seesWhoStaysOnce(node uint64, change func()) {
	w.Helper()
	alive := w.inos(node)
	count := make(map[string]int)
	for _, e := range w.scan(node, func() {
		change()
		// Who was away for a moment, or has another name, need not be seen.
		now := w.inos(node)
		for name, ino := range alive {
			if now[name] != ino {
				delete(alive, name)
			}
		}
	}) {
		count[e.Name]++
	}
	require.Greater(w, len(alive), 5)
	for name := range alive {
		assert.Equal(w, 1, count[name], name)
	}
}

// inos returns the inode numbers in a directory by name.
func (w *world) inos(node uint64) map[string]uint64 {
	w.Helper()
	all := make(map[string]uint64)
	for _, e := range w.list(node) {
		all[e.Name] = e.Ino
	}
	return all
}

func TestADirectoryThatIsGoneHasOnlyItsDots(t *testing.T) {
	w := newWorld(t, 150)
	b := w.bridge()
	dirs := []string{"", "/statistics", "/queues", "/queues/tx-0", "/power", "/brif", "/bridge"}
	nodes := make([]uint64, 0, len(dirs))
	for _, dir := range dirs {
		nodes = append(nodes, w.node(b.Path()+dir))
	}
	w.del(b.Link.Name)
	for i, node := range nodes {
		assert.Equal(t, []string{".", ".."}, namesIn(w.list(node)), dirs[i])
		plus, _ := w.listPlusFrom(node, 0, roomy)
		assert.Equal(t, []string{".", ".."}, namesIn(plus), dirs[i])
		assert.Empty(t, w.listFrom(node, 20, roomy), dirs[i])
	}
}

func TestADirectoryOfABusDeviceThatIsGoneHasOnlyItsDots(t *testing.T) {
	w := newWorld(t, 150)
	d := w.device(hardware)
	bus, net := w.node(path.Dir(d.Home.Path)), w.node(d.Home.Path)
	w.del(d.Link.Name)
	assert.Equal(t, []string{".", ".."}, namesIn(w.list(bus)))
	assert.Equal(t, []string{".", ".."}, namesIn(w.list(net)))
	_, status := w.lookup(bus, "uevent")
	assert.Equal(t, fuse.ENOENT, status)
}

func TestAListingThatFailsTellsItsError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want fuse.Status
	}{
		{syscall.ENOENT, fuse.OK},
		{syscall.ENODEV, fuse.OK},
		{syscall.EACCES, fuse.EACCES},
		{errors.New("no errno"), fuse.EIO},
	} {
		w := newWorld(t, 20)
		w.files.breakAt("devices/virtual/net/lo/power", c.err)
		var status fuse.Status
		in := &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: w.powerOfLo()}}
		status = w.ReadDir(nil, in, fuse.NewDirEntryList(make([]byte, roomy), 0))
		assert.Equal(t, c.want, status, c.err)
	}
}

// powerOfLo returns the node of a directory that can't be asked for its
// attributes any more.
func (w *world) powerOfLo() uint64 {
	lo := w.at(w.node("devices/virtual/net/lo"))
	return uint64(tree.NodeOf(lo.node.Serial(), w.tree.Paths.Known("power"), tree.TypeDir))
}

func TestDirectoriesAreOpenedWithoutState(t *testing.T) {
	w := newWorld(t, 20)
	var out fuse.OpenOut
	in := &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: uint64(tree.Root)}}
	assert.Equal(t, fuse.OK, w.OpenDir(nil, in, &out))
	assert.Zero(t, out)
	w.ReleaseDir(&fuse.ReleaseIn{})
}

// hashes are an ordinary order of a directory and one where all names collide.
var hashes = map[string]func(*tree.Options){
	"keyed":   func(*tree.Options) {},
	"collide": func(o *tree.Options) { o.Hash = func(string) uint64 { return 7 } },
}

// everyKindOfDirectory returns one directory of each kind that is listed in its
// own way.
func (w *world) everyKindOfDirectory() []string {
	w.Helper()
	b := w.crowd(5)
	var port string
	for e := range b.Ports().After(0) {
		port = e.Name
	}
	card := w.device(hardware)
	dirs := []string{
		"", "class", "class/net", "devices", "devices/virtual/net",
		path.Dir(card.Home.Path), card.Home.Path, card.Path(), card.Path() + "/queues",
	}
	for _, below := range []string{"", "/brif", "/bridge", "/statistics", "/queues", "/queues/tx-0", "/power"} {
		dirs = append(dirs, b.Path()+below)
	}
	return append(dirs, "devices/virtual/net/"+port, "devices/virtual/net/"+port+"/brport")
}

// scan lists a directory in tiny pieces and does something before each.
func (w *world) scan(node uint64, between func()) []fuse.DirEntry {
	w.Helper()
	var all []fuse.DirEntry
	for off := uint64(0); ; {
		between()
		entries := w.listFrom(node, off, tiny)
		if len(entries) == 0 {
			return all
		}
		all = append(all, entries...)
		off = entries[len(entries)-1].Off
		require.Less(w, len(all), 10_000, "the scan has no end")
	}
}

func (w *world) scanPlus(node uint64) []fuse.DirEntry {
	w.Helper()
	var all []fuse.DirEntry
	for off := uint64(0); ; {
		entries, _ := w.listPlusFrom(node, off, tinyPlus)
		if len(entries) == 0 {
			return all
		}
		all = append(all, entries...)
		off = entries[len(entries)-1].Off
	}
}

func TestPositionsOfFixedEntriesStayBelowThoseOfAnIndex(t *testing.T) {
	last := fixed{node: tree.NodeOf(1, ^attr.Slot(0), tree.TypeFile)}
	assert.Less(t, last.pos(), hashpos.First)
	assert.Greater(t, fixed{node: tree.NodeOf(1, 1, tree.TypeFile)}.pos(), hashpos.DotDot)
}
