package sysfs

import (
	"errors"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// Files is the sysfs of one network namespace. It keeps descriptors, no
// contents. Its methods may be called from any goroutine; in mode None, and
// after Close, all they answer is ENOENT.
type Files struct {
	// Immutable, but for what is in held.
	mode    Mode
	root    *desc // nil in mode None
	socket  *desc // in the namespace; nil where name needs none
	name    func(index uint32) (string, error)
	held    *held
	buffers sync.Pool // of *[direntBuffer]byte
	closing sync.Once
}

var _ netdev.Files = (*Files)(nil)

// Mode returns which sysfs is read; it is never Auto.
func (f *Files) Mode() Mode { return f.mode }

// Close gives up all descriptors. Those that a running call uses are closed when
// it returns; nothing waits for it.
func (f *Files) Close() {
	f.closing.Do(func() {
		f.held.close()
		f.socket.release()
		f.root.release()
	})
}

// Forget drops what is held for a device that is gone.
func (f *Files) Forget(s netdev.Serial) { f.held.forget(s) }

// Stat returns what lstat(2) says of a file.
func (f *Files) Stat(d netdev.Dir, path string) (netdev.Stat, error) {
	dir, below, err := f.locate(d, path)
	if err != nil {
		return netdev.Stat{}, err
	}
	defer dir.release()
	st, err := f.statat(dir.fd, below)
	if err == nil && path == "" {
		// A held directory has a stat also after its device is gone.
		err = f.stillThere(d, dir)
	}
	if err != nil {
		return netdev.Stat{}, f.verdict(d, dir, err)
	}
	return st, nil
}

// List returns the entries of a directory in the order of the kernel.
func (f *Files) List(d netdev.Dir, path string) ([]netdev.Dirent, error) {
	dir, below, err := f.locate(d, path)
	if err != nil {
		return nil, err
	}
	defer dir.release()
	entries, err := f.list(dir.fd, below)
	if err == nil {
		// The entries of a device that goes meanwhile disappear one by one, and
		// without an error.
		err = f.stillThere(d, dir)
	}
	if err != nil {
		return nil, f.verdict(d, dir, err)
	}
	return entries, nil
}

// Read fills p from off on, with what the file has at this moment.
func (f *Files) Read(d netdev.Dir, path string, p []byte, off int64) (int, error) {
	dir, below, err := f.locate(d, path)
	if err != nil {
		return 0, err
	}
	defer dir.release()
	n, err := f.readat(dir.fd, below, p, off)
	if err != nil {
		return 0, f.verdict(d, dir, err)
	}
	return n, nil
}

// Readlink returns the target of a link, which EINVAL says that path isn't.
func (f *Files) Readlink(d netdev.Dir, path string) (string, error) {
	dir, below, err := f.locate(d, path)
	if err != nil {
		return "", err
	}
	defer dir.release()
	target, err := f.readlinkat(dir.fd, below)
	if err != nil {
		return "", f.verdict(d, dir, err)
	}
	return target, nil
}

// locate returns a directory, with the caller as a user, and the path below it
// that leads where path leads from d.
func (f *Files) locate(d netdev.Dir, path string) (*desc, string, error) {
	if !valid(path) {
		return nil, "", unix.ENOENT
	}
	if d.Index != 0 {
		dir, err := f.device(d)
		return dir, join("", path), err
	}
	if !valid(d.Path) || !f.root.acquire() {
		return nil, "", unix.ENOENT
	}
	return f.root, join(d.Path, path), nil
}

// stillThere returns ENOENT where a directory isn't d's device's any more.
func (f *Files) stillThere(d netdev.Dir, dir *desc) error {
	if d.Index != 0 && f.died(d, dir) {
		return unix.ENOENT
	}
	return nil
}

// verdict returns what an error of a call below dir means for d.
func (f *Files) verdict(d netdev.Dir, dir *desc, err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return unix.EIO
	}
	switch errno {
	case unix.ENODEV:
		errno = unix.ENOENT
	case unix.ENOENT, unix.EINVAL:
		// EINVAL may be the file's own answer, or the one of a device on its way
		// out, and ENOENT that of a file or of all of them.
	default:
		return errno
	}
	if err := f.stillThere(d, dir); err != nil {
		return err
	}
	return errno
}
