package fs

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/hashpos"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/nlinkcount"
	"github.com/sysfsd/sysfsd/synth"
	"github.com/sysfsd/sysfsd/tree"
)

// everyKind is a mix in which even a small population has devices of all kinds.
var everyKind = []synth.Share{
	{Name: "veth", Weight: 20},
	{Name: "ifb", Weight: 5},
	{Name: "dummy", Weight: 5},
	{Name: "bridge", Weight: 3},
	{Name: "macvlan", Weight: 6},
	{Name: "vxlan", Weight: 4},
	{Name: "tap", Weight: 6},
	{Name: "pci", Weight: 5},
}

// world is a file system with its tree and what stands behind it.
type world struct {
	testing.TB
	*FS
	files *tampered
	log   *journal
	// pop is the source; nil where a test makes its own batches.
	pop *synth.Population
	// apply makes the next batch of pop visible.
	apply func()
}

// newWorld returns a world over a population whose counters stand still.
func newWorld(t testing.TB, devices int, change ...func(*tree.Options)) *world {
	t.Helper()
	began := time.Now()
	pop, err := synth.New(synth.Config{
		Devices: devices, Kinds: everyKind, Seed: 1, Clock: func() time.Time { return began },
	})
	require.NoError(t, err)
	w := worldOver(t, pop, change...)
	w.pop = pop
	w.follow()
	return w
}

// worldOver returns a world without devices.
func worldOver(t testing.TB, files netdev.Files, change ...func(*tree.Options)) *world {
	t.Helper()
	w := &world{TB: t, files: &tampered{Files: files}, log: &journal{}}
	o := tree.Options{
		Files: w.files, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Hash: hashpos.Keyed(hashpos.Key{}), Width: nlinkcount.Width16, Trusted: true,
	}
	for _, c := range change {
		c(&o)
	}
	tr, err := tree.New(o)
	require.NoError(t, err)
	w.FS = New(tr, w.files, o.Logger)
	return w
}

// follow applies what the population has, and what it tells from now on by apply.
func (w *world) follow() {
	next, stop := iter.Pull2(w.pop.Batches(context.Background()))
	w.Cleanup(stop)
	w.apply = func() {
		w.Helper()
		b, err, ok := next()
		require.True(w, ok)
		require.NoError(w, err)
		w.tree.Apply(b)
	}
	w.apply()
}

// set changes a device of the population, and the tree.
func (w *world) set(name string, change func(*netdev.Link)) {
	w.Helper()
	index, ok := w.pop.Lookup(name)
	require.True(w, ok, name)
	require.NoError(w, w.pop.Set(index, change))
	w.apply()
}

// del removes a device, and what can't be without it.
func (w *world) del(name string) {
	w.Helper()
	index, ok := w.pop.Lookup(name)
	require.True(w, ok, name)
	require.Positive(w, w.pop.Del(synth.Range{First: index, Last: index}))
	w.apply()
}

// device returns the first device that is wanted.
func (w *world) device(want func(*tree.Device) bool) *tree.Device {
	w.Helper()
	for d := range w.tree.Snapshot().Devices() {
		if want(d) {
			return d
		}
	}
	require.Fail(w, "no such device")
	return nil
}

func ofKind(kind string) func(*tree.Device) bool {
	return func(d *tree.Device) bool { return d.Link.Kind == kind }
}

func hardware(d *tree.Device) bool { return d.Link.HasParent() }

// bridge returns the bridge with the most ports.
func (w *world) bridge() *tree.Device {
	w.Helper()
	var most *tree.Device
	for d := range w.tree.Snapshot().Devices() {
		if d.Link.Kind == "bridge" && (most == nil || d.Ports().Len() > most.Ports().Len()) {
			most = d
		}
	}
	require.NotNil(w, most)
	require.Positive(w, most.Ports().Len())
	return most
}

// crowd makes ports of more devices and returns their bridge as it is then.
func (w *world) crowd(ports int) *tree.Device {
	w.Helper()
	index := w.bridge().Link.Index
	for d := range w.tree.Snapshot().Devices() {
		if ports > 0 && d.Master == 0 && (d.Link.Kind == "dummy" || d.Link.Kind == "ifb") {
			w.set(d.Link.Name, func(l *netdev.Link) { l.Master = index })
			ports--
		}
	}
	require.Zero(w, ports, "there are too few devices")
	return w.bridge()
}

// lookup finds one name.
func (w *world) lookup(dir uint64, name string) (fuse.EntryOut, fuse.Status) {
	var out fuse.EntryOut
	status := w.Lookup(nil, &fuse.InHeader{NodeId: dir}, name, &out)
	return out, status
}

// entry walks to a path, which has to be there.
func (w *world) entry(path string) fuse.EntryOut {
	w.Helper()
	out := fuse.EntryOut{NodeId: uint64(tree.Root)}
	for name := range strings.SplitSeq(path, "/") {
		var status fuse.Status
		out, status = w.lookup(out.NodeId, name)
		require.Equal(w, fuse.OK, status, "%s: %s", path, name)
	}
	return out
}

// node walks to a path, "" is the root.
func (w *world) node(path string) uint64 {
	w.Helper()
	if path == "" {
		return uint64(tree.Root)
	}
	return w.entry(path).NodeId
}

// getattr asks for attributes. Of a file that is open the kernel asks the same.
func (w *world) getattr(node uint64) (fuse.AttrOut, fuse.Status) {
	var out fuse.AttrOut
	status := w.GetAttr(nil, &fuse.GetAttrIn{InHeader: fuse.InHeader{NodeId: node}}, &out)
	return out, status
}

func (w *world) readlink(node uint64) (string, fuse.Status) {
	text, status := w.Readlink(nil, &fuse.InHeader{NodeId: node})
	return string(text), status
}

// opened is an open file.
type opened struct {
	w    *world
	node uint64
	fh   uint64
}

func (w *world) openNode(node uint64) (opened, fuse.Status) {
	var out fuse.OpenOut
	status := w.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: node}}, &out)
	return opened{w, node, out.Fh}, status
}

// open opens a path until the end of the test.
func (w *world) openPath(path string) opened {
	w.Helper()
	o, status := w.openNode(w.node(path))
	require.Equal(w, fuse.OK, status, path)
	w.Cleanup(o.close)
	return o
}

func (o opened) close() { o.w.Release(nil, &fuse.ReleaseIn{Fh: o.fh}) }

func (o opened) read(off uint64, size int, cancel <-chan struct{}) (string, fuse.Status) {
	buf := make([]byte, size)
	in := &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: o.node}, Fh: o.fh, Offset: off, Size: uint32(size)}
	result, status := o.w.Read(cancel, in, buf)
	if status != fuse.OK {
		return "", status
	}
	got, status := result.Bytes(buf)
	return string(got), status
}

// start reads all of a file, as cat begins.
func (o opened) start() (string, fuse.Status) { return o.read(0, pageSize, nil) }

// handles counts the open files, and the nodes that have some.
func (w *world) handles() int {
	w.open.mu.RLock()
	defer w.open.mu.RUnlock()
	return len(w.open.open) + len(w.open.nodes)
}

// cat opens and reads a node.
func (w *world) cat(node uint64) (string, fuse.Status) {
	o, status := w.openNode(node)
	if status != fuse.OK {
		return "", status
	}
	defer o.close()
	return o.start()
}

// text returns the content of a path, which has to have some.
func (w *world) textAt(path string) string {
	w.Helper()
	text, status := w.cat(w.node(path))
	require.Equal(w, fuse.OK, status, path)
	return text
}

// listFrom does one READDIR.
func (w *world) listFrom(node, off uint64, size int) []fuse.DirEntry {
	w.Helper()
	out := fuse.NewDirEntryList(make([]byte, size), off)
	in := &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: node}, Offset: off, Size: uint32(size)}
	require.Equal(w, fuse.OK, w.ReadDir(nil, in, out))
	entries, err := fuse.ParseDirEntries(out.Bytes())
	require.NoError(w, err)
	return entries
}

// listPlusFrom does one READDIRPLUS.
func (w *world) listPlusFrom(node, off uint64, size int) ([]fuse.DirEntry, []fuse.EntryOut) {
	w.Helper()
	out := fuse.NewDirEntryList(make([]byte, size), off)
	in := &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: node}, Offset: off, Size: uint32(size)}
	require.Equal(w, fuse.OK, w.ReadDirPlus(nil, in, out))
	entries, outs, err := fuse.ParseDirLookupEntries(out.Bytes())
	require.NoError(w, err)
	return entries, outs
}

// roomy holds all entries of the directories here.
const roomy = 1 << 20

// list lists a directory in one go.
func (w *world) list(node uint64) []fuse.DirEntry {
	w.Helper()
	return w.listFrom(node, 0, roomy)
}

func namesIn(entries []fuse.DirEntry) []string {
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// tampered are the files behind a world, some of which fail or block.
type tampered struct {
	netdev.Files
	mu sync.Mutex
	// +checklocks:mu
	reads map[string]int // by path from the root of sysfs
	// +checklocks:mu
	fail map[string]error
	// +checklocks:mu
	block map[string]chan struct{}
	// +checklocks:mu
	blocked int // reads that wait now
}

// breakAt makes all that is asked of a path fail; nil mends it.
func (f *tampered) breakAt(path string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == nil {
		f.fail = make(map[string]error)
	}
	f.fail[path] = err
}

// blockAt makes reads of a path wait until the channel is closed.
func (f *tampered) blockAt(path string, until chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.block == nil {
		f.block = make(map[string]chan struct{})
	}
	f.block[path] = until
}

func (f *tampered) readsOf(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads[path]
}

func (f *tampered) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blocked
}

func (f *tampered) failure(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail[path]
}

// enter notes that a read begins and returns what it has to wait for.
func (f *tampered) enter(path string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reads == nil {
		f.reads = make(map[string]int)
	}
	f.reads[path]++
	until, ok := f.block[path]
	if ok {
		f.blocked++
	}
	return until
}

func (f *tampered) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blocked--
}

func (f *tampered) Stat(d netdev.Dir, path string) (netdev.Stat, error) {
	if err := f.failure(full(d, path)); err != nil {
		return netdev.Stat{}, err
	}
	return f.Files.Stat(d, path)
}

func (f *tampered) List(d netdev.Dir, path string) ([]netdev.Dirent, error) {
	if err := f.failure(full(d, path)); err != nil {
		return nil, err
	}
	return f.Files.List(d, path)
}

func (f *tampered) Read(d netdev.Dir, path string, p []byte, off int64) (int, error) {
	at := full(d, path)
	if until := f.enter(at); until != nil {
		<-until
		f.leave()
	}
	if err := f.failure(at); err != nil {
		return 0, err
	}
	return f.Files.Read(d, path, p, off)
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// full returns a path from the root of sysfs.
func full(d netdev.Dir, below string) string { return path.Join(d.Path, below) }

// journal is what was logged.
type journal struct {
	mu sync.Mutex
	// +checklocks:mu
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.FieldsFunc(j.text.String(), func(r rune) bool { return r == '\n' })
}

// memory is a sysfs of texts by path; what is above them are directories. A text
// that begins with an arrow is a link, one that is in raw is a binary file.
type memory struct {
	mu sync.Mutex
	// +checklocks:mu
	texts map[string]string
	raw   map[string]bool // immutable
}

var _ netdev.Files = (*memory)(nil)

const arrow = "-> "

// sysfsOf returns the files of one device, d0, which has those of every device
// and more.
func sysfsOf(more map[string]string, raw ...string) *memory {
	m := &memory{texts: map[string]string{}, raw: map[string]bool{}}
	for name, text := range map[string]string{
		"uevent": "INTERFACE=d0\nIFINDEX=7\n", "mtu": "1500\n", "dev_id": "0x0\n", "flags": "0x1\n",
		"subsystem": arrow + "../../../../class/net", "statistics/rx_bytes": "0\n",
	} {
		m.texts[d0+"/"+name] = text
	}
	for name, text := range more {
		m.texts[d0+"/"+name] = text
	}
	for _, name := range raw {
		m.raw[d0+"/"+name] = true
	}
	return m
}

// d0 is the directory of the device that sysfsOf has.
const d0 = "devices/virtual/net/d0"

// newD0 returns a world with one device, d0.
func newD0(t testing.TB, files *memory) *world {
	t.Helper()
	w := worldOver(t, files)
	w.tree.Apply(netdev.Batch{Full: true, Changes: []netdev.Change{setLink(linkD0())}})
	return w
}

func linkD0() *netdev.Link {
	return &netdev.Link{Index: 7, Name: "d0", Kind: "dummy", Type: 1, Flags: 1, MTU: 1500, NumTxQueues: 1}
}

func setLink(l *netdev.Link) netdev.Change {
	return netdev.Change{Op: netdev.Set, Index: l.Index, Link: l}
}

// renamedTo returns a device as it is under another name.
func renamedTo(d *tree.Device, name string) netdev.Change {
	l := *d.Link
	l.Name = name
	return setLink(&l)
}

func (m *memory) put(path, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts[path] = text
}

func (m *memory) remove(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.texts, path)
}

func (m *memory) Stat(d netdev.Dir, path string) (netdev.Stat, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := full(d, path)
	if text, ok := m.texts[at]; ok {
		return m.statOf(at, text), nil
	}
	for other := range m.texts {
		if strings.HasPrefix(other, at+"/") {
			return netdev.Stat{Mode: syscall.S_IFDIR | 0o755, Nlink: 2}, nil
		}
	}
	return netdev.Stat{}, syscall.ENOENT
}

func (m *memory) statOf(path, text string) netdev.Stat {
	switch {
	case strings.HasPrefix(text, arrow):
		return netdev.Stat{Mode: syscall.S_IFLNK | 0o777, Nlink: 1}
	case m.raw[path]:
		return netdev.Stat{Mode: syscall.S_IFREG | 0o444, Nlink: 1}
	}
	return netdev.Stat{Mode: syscall.S_IFREG | 0o444, Nlink: 1, Size: sysfsSize}
}

func (m *memory) List(d netdev.Dir, path string) ([]netdev.Dirent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	types := make(map[string]uint8)
	for other, text := range m.texts {
		rest, ok := strings.CutPrefix(other, full(d, path)+"/")
		name, _, deeper := strings.Cut(rest, "/")
		switch {
		case !ok:
		case deeper:
			types[name] = syscall.DT_DIR
		default:
			types[name] = uint8(m.statOf(other, text).Mode >> 12)
		}
	}
	if len(types) == 0 {
		return nil, syscall.ENOENT
	}
	list := make([]netdev.Dirent, 0, len(types))
	for name, typ := range types {
		list = append(list, netdev.Dirent{Name: name, Type: typ})
	}
	slices.SortFunc(list, func(a, b netdev.Dirent) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (m *memory) Read(d netdev.Dir, path string, p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.texts[full(d, path)]
	if !ok {
		return 0, syscall.ENOENT
	}
	return copy(p, text[min(int(off), len(text)):]), nil
}

func (m *memory) Readlink(d netdev.Dir, path string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := strings.CutPrefix(m.texts[full(d, path)], arrow)
	if !ok {
		return "", syscall.EINVAL
	}
	return text, nil
}

func (m *memory) Forget(netdev.Serial) {}
