package tests

import (
	"encoding/binary"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// entry is what a user can see of one path.
type entry struct {
	err    error  // Of lstat; nothing else is known then.
	mode   uint32 // Type and permissions.
	uid    uint32
	gid    uint32
	nlink  uint64
	size   int64
	blocks int64
	block  int64 // st_blksize.
	ino    uint64

	target  string // Of a link.
	content string // Of a file.
	readErr error  // Of open or read; sysfs says EACCES at open, FUSE may say it at read.
	unread  bool   // The content was not asked for.

	listed     bool // Found by listing the directory, which said:
	direntType uint8
	direntIno  uint64
}

func (e *entry) isDir() bool  { return e.mode&unix.S_IFMT == unix.S_IFDIR }
func (e *entry) isLink() bool { return e.mode&unix.S_IFMT == unix.S_IFLNK }
func (e *entry) isFile() bool { return e.mode&unix.S_IFMT == unix.S_IFREG }

// tree is a walked tree by path, relative to where it is mounted; "." is the
// root.
type tree map[string]*entry

// closedList is all that sysfsd shows of a directory above a physical device.
var closedList = []string{
	"uevent", "vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision",
	"numa_node", "modalias", "driver", "subsystem", "net",
}

// walker walks one mount. Files for which skip is true are not opened: opening
// carrier makes the kernel announce what it would have announced later.
type walker struct {
	root string
	skip func(path string) bool
	seen tree
}

// walkMount walks all there is below root.
func walkMount(root string, skip func(string) bool) tree {
	if reference() {
		return walkSysfs(root, skip)
	}
	w := &walker{root: root, skip: skip, seen: tree{}}
	w.visit(".", true)
	return w.seen
}

// walkSysfs walks that part of a real sysfs that belongs to network devices,
// with the link counts of what belongs to others as well left out.
func walkSysfs(root string, skip func(string) bool) tree {
	w := &walker{root: root, skip: skip, seen: tree{}}
	w.visit(".", false)
	w.visit("class", false)
	w.visit("class/net", true)
	w.ancestors("devices/virtual/net")
	w.visit("devices/virtual/net", true)
	for p, e := range w.seen {
		if path.Dir(p) == "class/net" && e.isLink() {
			device := path.Join("class/net", e.target)
			w.ancestors(device)
			w.visit(device, true)
		}
	}
	w.countVisible()
	return w.seen
}

// ancestors visits the directories above p, and the closed list in those that
// are devices themselves.
func (w *walker) ancestors(p string) {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if w.seen[dir] != nil {
			continue
		}
		w.visit(dir, false)
		if dir == "devices" || dir == "devices/virtual" || path.Base(dir) == "net" {
			continue
		}
		for name := range w.list(dir) {
			if slices.Contains(closedList, name) {
				w.visit(path.Join(dir, name), true)
			}
		}
	}
}

// countVisible replaces link counts that count what is not ours (other classes,
// other buses, other namespaces) by those of what was walked.
func (w *walker) countVisible() {
	visible := map[string]uint64{}
	for p, e := range w.seen {
		if e.isDir() && p != "." {
			visible[path.Dir(p)]++
		}
	}
	partial := map[string]bool{".": true, "class": true, "devices/virtual/net": true}
	for p, e := range w.seen {
		if path.Dir(p) == "class/net" && e.isLink() {
			for dir := path.Dir(path.Join("class/net", e.target)); dir != "."; dir = path.Dir(dir) {
				partial[dir] = true
			}
		}
	}
	for dir := range partial {
		if e := w.seen[dir]; e != nil {
			e.nlink = 2 + visible[dir]
		}
	}
}

// visit records p, and what is below it where deep is true.
func (w *walker) visit(p string, deep bool) {
	e := w.seen[p]
	if e == nil {
		e = w.look(p)
		w.seen[p] = e
	}
	if !deep || !e.isDir() {
		return
	}
	for name, d := range w.list(p) {
		child := path.Join(p, name)
		if old := w.seen[child]; old == nil || old.isDir() {
			w.visit(child, true)
		}
		e := w.seen[child]
		e.listed, e.direntType, e.direntIno = true, d.kind, d.ino
	}
}

func (w *walker) look(p string) *entry {
	full := filepath.Join(w.root, p)
	var st unix.Stat_t
	if err := unix.Lstat(full, &st); err != nil {
		return &entry{err: err}
	}
	e := &entry{
		mode: st.Mode, uid: st.Uid, gid: st.Gid, nlink: st.Nlink, size: st.Size,
		blocks: st.Blocks, block: st.Blksize, ino: st.Ino,
	}
	switch {
	case e.isLink():
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlink(full, buf)
		e.target, e.readErr = string(buf[:max(n, 0)]), err
	case e.isFile() && w.skip != nil && w.skip(p):
		e.unread = true
	case e.isFile():
		e.content, e.readErr = readWhole(full)
	}
	return e
}

// list returns a directory's entries without the two dots. A directory that
// can't be listed has an entry of its own for the reason.
func (w *walker) list(p string) map[string]dirent {
	entries, err := listDir(filepath.Join(w.root, p))
	if err != nil {
		w.seen[p].readErr = err
	}
	byName := map[string]dirent{}
	for _, d := range entries {
		if d.name != "." && d.name != ".." {
			byName[d.name] = d
		}
	}
	return byName
}

// readWhole reads as cat does, into a buffer that holds any attribute.
func readWhole(file string) (string, error) {
	return readBy(file, 8192)
}

// readBy reads a file in steps of at most size bytes, by plain system calls:
// os.ReadFile would ask for the size first.
func readBy(file string, size int) (string, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	var content []byte
	buf := make([]byte, size)
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return string(content), err
		}
		content = append(content, buf[:n]...)
	}
}

// dirent is one record of getdents64(2).
type dirent struct {
	name string
	ino  uint64
	off  int64
	kind uint8
}

// listDir returns all records of a directory, in its order.
func listDir(dir string) ([]dirent, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var all []dirent
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if n <= 0 || err != nil {
			return all, err
		}
		all = append(all, parseDirents(buf[:n])...)
	}
}

func parseDirents(buf []byte) []dirent {
	var all []dirent
	for len(buf) > 0 {
		length := binary.NativeEndian.Uint16(buf[16:])
		name, _, _ := strings.Cut(string(buf[19:length]), "\x00")
		all = append(all, dirent{
			name: name,
			ino:  binary.NativeEndian.Uint64(buf),
			off:  int64(binary.NativeEndian.Uint64(buf[8:])),
			kind: buf[18],
		})
		buf = buf[length:]
	}
	return all
}

// inode returns the inode number of a path.
func inode(tb testing.TB, file string) uint64 {
	tb.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(file, &st); err != nil {
		tb.Fatalf("lstat %s: %v", file, err)
	}
	return st.Ino
}
