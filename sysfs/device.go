package sysfs

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// device returns the directory of d's device, with the caller as a user.
func (f *Files) device(d netdev.Dir) (*desc, error) {
	dir, known := f.held.get(d.Serial)
	if !known {
		fd, err := f.find(d)
		if err != nil {
			return nil, err
		}
		dir = f.held.put(d.Serial, newDesc(fd))
	}
	if dir == nil {
		return nil, unix.ENOENT
	}
	return dir, nil
}

// find opens the directory of d's device, under whatever name it has now.
func (f *Files) find(d netdev.Dir) (int, error) {
	if !f.root.acquire() {
		return -1, unix.ENOENT
	}
	defer f.root.release()
	// A rename changes the kernel's table first and sysfs after it, so both may
	// disagree for a moment. Some ms are more than they ever do.
	const tries = 6
	for i := range tries {
		if fd, err := f.openDevice(d.Path, d.Index); !isGone(err) {
			return fd, err
		}
		name, err := f.name(d.Index)
		if err != nil {
			return -1, unix.ENOENT
		}
		if path, err := f.classLink(name); err == nil {
			if fd, err := f.openDevice(path, d.Index); !isGone(err) {
				return fd, err
			}
		}
		time.Sleep(time.Duration(i*i) * 100 * time.Microsecond)
	}
	return -1, unix.ENOENT
}

// openDevice opens a directory if it is the one of the device with that ifindex,
// and returns ENOENT if it isn't.
//
// Preconditions: the caller is a user of root.
func (f *Files) openDevice(path string, index uint32) (int, error) {
	if !valid(path) || path == "" {
		return -1, unix.ENOENT
	}
	fd, err := f.openat(f.root.fd, path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	// Below the descriptor, not by the path again: that may lead elsewhere by now.
	found, err := f.ifindex(fd)
	if err == nil && found != index {
		err = unix.ENOENT
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// classLink returns the path of the device that has a name, as class/net says.
// The target is made of the names that sysfs has at that moment.
//
// Preconditions: the caller is a user of root.
func (f *Files) classLink(name string) (string, error) {
	if !valid(name) {
		return "", unix.ENOENT
	}
	target, err := f.readlinkat(f.root.fd, "class/net/"+name)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(target, "../../")
	if !ok {
		return "", unix.ENOENT
	}
	return path, nil
}

// ifindex reads which device a directory belongs to.
func (f *Files) ifindex(dir int) (uint32, error) {
	var digits [16]byte
	n, err := f.readat(dir, "ifindex", digits[:], 0)
	if err != nil {
		return 0, err
	}
	index, err := strconv.ParseUint(strings.TrimSpace(string(digits[:n])), 10, 32)
	if err != nil {
		return 0, unix.ENOENT
	}
	return uint32(index), nil
}

// died reports that a directory isn't d's device's any more, and sees to it that
// nobody else takes it for that.
func (f *Files) died(d netdev.Dir, dir *desc) bool {
	index, err := f.ifindex(dir.fd)
	if err == nil && index == d.Index {
		return false
	}
	if err != nil && !isGone(err) {
		return false // No answer is no proof.
	}
	f.held.gone(d.Serial, dir)
	return true
}

// isGone reports an error that ifindex or its directory gives for a device that
// is gone, that is going (EINVAL), or that is another one.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) ||
		errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// askName asks the kernel for the name of an ifindex. It takes no lock for that.
func (f *Files) askName(index uint32) (string, error) {
	if !f.socket.acquire() {
		return "", unix.ENODEV
	}
	defer f.socket.release()
	request, err := unix.NewIfreq("")
	if err != nil {
		return "", err
	}
	request.SetUint32(index)
	if err := unix.IoctlIfreq(f.socket.fd, unix.SIOCGIFNAME, request); err != nil {
		return "", err
	}
	return request.Name(), nil
}
