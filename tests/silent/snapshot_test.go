package silent_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// device is what the real sysfs shows of one device.
type device struct {
	name string
	// files has the content of each file by its path, or the errno of reading it.
	files map[string]string
	// names has each path and what it is: "dir", "file", or "-> target".
	names map[string]string
}

// snapshot is what the real sysfs shows of a namespace, by ifindex.
type snapshot map[uint32]*device

// index returns the ifindex of a name, 0 if there is none.
func (s snapshot) index(name string) uint32 {
	for i, d := range s {
		if d.name == name {
			return i
		}
	}
	return 0
}

// takeSnapshot reads all there is, but for the devices called except. It takes
// RTNL for some files and flushes link-watch for the devices that are up.
func takeSnapshot(t testing.TB, sysfs, except string) snapshot {
	t.Helper()
	class := filepath.Join(sysfs, "class/net")
	entries, err := os.ReadDir(class)
	if err != nil {
		t.Fatalf("silent: %v", err)
	}
	s := make(snapshot, len(entries))
	for _, e := range entries {
		if e.Type() != os.ModeSymlink || e.Name() == except {
			continue // The other file is bonding_masters.
		}
		d := &device{name: e.Name(), files: map[string]string{}, names: map[string]string{}}
		d.walk(filepath.Join(class, e.Name()), "")
		index, err := strconv.ParseUint(strings.TrimSpace(d.files["ifindex"]), 10, 32)
		if err == nil { // Else it went away under our eyes.
			s[uint32(index)] = d
		}
	}
	return s
}

// walk reads a directory below a device's. A test takes some millions of files:
// each is opened below its directory, and read only once.
func (d *device) walk(dir, below string) {
	f, err := os.Open(dir)
	if err != nil {
		return // It went away.
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := below + e.Name()
		switch {
		case e.IsDir():
			d.names[path] = "dir"
			d.walk(dir+"/"+e.Name(), path+"/")
		case e.Type() == os.ModeSymlink:
			target, _ := os.Readlink(dir + "/" + e.Name())
			d.names[path] = "-> " + target
		default:
			d.names[path] = "file"
			d.files[path] = readFile(int(f.Fd()), e.Name())
		}
	}
}

// readFile returns a file's content, or what failed, in one form for files and
// for attr's rows. Sysfs gives a file of less than a page at once.
func readFile(dir int, name string) string {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errnoText(err)
	}
	defer func() { _ = unix.Close(fd) }()
	var buf [4096]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return errnoText(err)
	}
	return string(buf[:n])
}

func errnoText(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return "errno:" + unix.ErrnoName(errno)
	}
	return "errno:" + err.Error()
}

// writable returns the paths below dir that may be written, with their modes.
func writable(dir string) []string {
	var paths []string
	_ = filepath.WalkDir(dir+"/", func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o222 != 0 {
			rel, _ := filepath.Rel(dir, path)
			paths = append(paths, rel)
		}
		return nil
	})
	return paths
}
