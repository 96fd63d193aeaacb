package tree

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/hashpos"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/nlinkcount"
)

// fakeFiles stands behind a tree in tests: each device has the files that its
// entry says, a directory where the name ends in '/'.
type fakeFiles struct {
	netdev.Files
	mu sync.Mutex
	// +checklocks:mu
	entries map[string][]string // by name of the device
	// +checklocks:mu
	parents map[string]string // path of the device's directory, where it isn't virtual
	// +checklocks:mu
	inos map[string]uint64
	// +checklocks:mu
	indexes map[string]uint32 // by name of the device
	// +checklocks:mu
	modes map[string]uint32 // by path of a file
	// +checklocks:mu
	dead bool // no directory can be listed any more
	// +checklocks:mu
	forgotten []netdev.Serial
	// +checklocks:mu
	lists int
}

var plain = []string{"mtu", "uevent", "statistics/", "queues/", "subsystem@"}

func (f *fakeFiles) set(name string, entries ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.entries == nil {
		f.entries = make(map[string][]string)
	}
	f.entries[name] = entries
}

// ofLocked returns the entries of a device's directory.
//
// +checklocks:f.mu
func (f *fakeFiles) ofLocked(d netdev.Dir) []string {
	name := d.Path[strings.LastIndex(d.Path, "/")+1:]
	if e, ok := f.entries[name]; ok {
		return e
	}
	return plain
}

func (f *fakeFiles) List(d netdev.Dir, path string) ([]netdev.Dirent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	if f.dead {
		return nil, syscall.ENOENT
	}
	if path == "statistics" {
		return []netdev.Dirent{{Name: "rx_bytes", Type: unix.DT_REG}}, nil
	}
	var list []netdev.Dirent
	for _, e := range f.ofLocked(d) {
		switch {
		case strings.HasSuffix(e, "/"):
			list = append(list, netdev.Dirent{Name: strings.TrimSuffix(e, "/"), Type: unix.DT_DIR})
		case strings.HasSuffix(e, "@"), strings.HasPrefix(e, "lower_"), strings.HasPrefix(e, "upper_"):
			list = append(list, netdev.Dirent{Name: strings.TrimSuffix(e, "@"), Type: unix.DT_LNK})
		default:
			list = append(list, netdev.Dirent{Name: e, Type: unix.DT_REG})
		}
	}
	return list, nil
}

func (f *fakeFiles) Stat(d netdev.Dir, path string) (netdev.Stat, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path == "" {
		return netdev.Stat{Mode: unix.S_IFDIR | 0o755, Ino: f.inos[d.Path]}, nil
	}
	for _, e := range f.ofLocked(d) {
		if strings.TrimSuffix(e, "/") == path && strings.HasSuffix(e, "/") {
			return netdev.Stat{Mode: unix.S_IFDIR | 0o755}, nil
		}
	}
	mode := uint32(0o644)
	if strings.HasPrefix(path, "statistics/") {
		mode = 0o444
	}
	if m, ok := f.modes[d.Path+"/"+path]; ok {
		mode = m
	}
	return netdev.Stat{Mode: unix.S_IFREG | mode, Size: 4096}, nil
}

func (f *fakeFiles) Read(d netdev.Dir, path string, p []byte, _ int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := d.Path[strings.LastIndex(d.Path, "/")+1:]
	switch index, ok := f.indexes[name]; {
	case path == "uevent":
		return copy(p, "INTERFACE="+d.Path), nil
	case path == "ifindex" && ok:
		return copy(p, fmt.Sprintln(index)), nil
	}
	return 0, syscall.ENOENT
}

func (f *fakeFiles) Readlink(_ netdev.Dir, name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.parents[name]; ok {
		return "../../" + p, nil
	}
	if _, ok := f.indexes[name]; ok {
		return "../../" + virtualPath + "/" + name, nil
	}
	return "", syscall.ENOENT
}

func (f *fakeFiles) Forget(s netdev.Serial) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgotten = append(f.forgotten, s)
}

// newTree returns an empty tree over files, which nothing checks by itself.
func newTree(t testing.TB, files netdev.Files, change ...func(*Options)) *Tree {
	t.Helper()
	o := Options{
		Files: files, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Hash: hashpos.Keyed(hashpos.Key{}), Width: nlinkcount.Width16,
	}
	for _, c := range change {
		c(&o)
	}
	tr, err := New(o)
	require.NoError(t, err)
	return tr
}

func link(index uint32, name string, change ...func(*netdev.Link)) *netdev.Link {
	l := &netdev.Link{Index: index, Name: name, Type: 1, Flags: 1, Kind: "veth", MTU: 1500}
	for _, c := range change {
		c(l)
	}
	return l
}

func kind(k string) func(*netdev.Link)       { return func(l *netdev.Link) { l.Kind = k } }
func master(index uint32) func(*netdev.Link) { return func(l *netdev.Link) { l.Master = index } }
func lower(index uint32) func(*netdev.Link)  { return func(l *netdev.Link) { l.Lower = index } }
func set(l *netdev.Link) netdev.Change       { return netdev.Change{Op: netdev.Set, Link: l, Index: l.Index} }
func goneAt(index uint32) netdev.Change      { return netdev.Change{Op: netdev.Gone, Index: index} }
func batch(c ...netdev.Change) netdev.Batch  { return netdev.Batch{Changes: c} }
func full(c ...netdev.Change) netdev.Batch   { return netdev.Batch{Changes: c, Full: true} }
func parent(name string) func(*netdev.Link) {
	return func(l *netdev.Link) { l.Kind, l.More = "", &netdev.More{ParentName: name, ParentBus: "virtio"} }
}

// lookTwice compares the queued devices with their directories, and believes what
// it finds.
func lookTwice(tr *Tree) {
	run := tr.checks.take(100)
	tr.settleChecks(tr.compare(run))
	tr.settleChecks(tr.compare(run))
}
