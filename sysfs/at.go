package sysfs

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// openat opens what is below a directory. Where the process has no descriptor
// left, some of those held are given up for it.
func (f *Files) openat(dir int, path string, flags uint64) (int, error) {
	fd, err := openat2(dir, path, flags)
	if (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) && f.held.shrink() {
		return openat2(dir, path, flags)
	}
	return fd, err
}

func (f *Files) readat(dir int, path string, p []byte, off int64) (int, error) {
	fd, err := f.openat(dir, path, unix.O_RDONLY)
	if err != nil {
		return 0, err
	}
	n, err := restart(func() (int, error) { return unix.Pread(fd, p, off) })
	_ = unix.Close(fd)
	return n, err
}

// statat doesn't use fstatat(2): that would enter a mount on the path's end.
func (f *Files) statat(dir int, path string) (netdev.Stat, error) {
	fd, err := f.openat(dir, path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return netdev.Stat{}, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	_ = unix.Close(fd)
	return netdev.Stat{
		Ino:   st.Ino,
		Size:  st.Size,
		Mode:  st.Mode,
		Nlink: uint32(st.Nlink),
		UID:   st.Uid,
		GID:   st.Gid,
	}, err
}

func (f *Files) readlinkat(dir int, path string) (string, error) {
	fd, err := f.openat(dir, path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	var target [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", target[:])
	_ = unix.Close(fd)
	if errors.Is(err, unix.ENOENT) {
		// So says readlinkat(2) without a path where fd isn't a link.
		err = unix.EINVAL
	}
	if err != nil {
		return "", err
	}
	return string(target[:n]), nil
}

func (f *Files) list(dir int, path string) ([]netdev.Dirent, error) {
	fd, err := f.openat(dir, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	buffer := f.buffers.Get().(*[direntBuffer]byte)
	entries, err := readAll(fd, buffer[:])
	f.buffers.Put(buffer)
	_ = unix.Close(fd)
	return entries, err
}

// deviceNames returns the names in class/net. What isn't a link there isn't a
// device (bonding_masters).
func (f *Files) deviceNames() ([]string, error) {
	entries, err := f.list(f.root.fd, "class/net")
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Type == unix.DT_LNK {
			names = append(names, e.Name)
		}
	}
	return names, nil
}
