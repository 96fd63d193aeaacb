package sysfs

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// resolve is how every path is walked: down only, never through a link. Nor into
// another mount: one that covers a part of /sys may be our own, and a read of it
// by ourselves would wait for itself.
const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// openat2 opens what is below a directory.
func openat2(dir int, path string, flags uint64) (int, error) {
	return restart(func() (int, error) {
		return unix.Openat2(dir, path, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve})
	})
}

// restart repeats a call that a signal interrupted; the runtime sends many.
func restart(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// valid reports that a path is made of names only, if of any: the kernel would
// take "." and ".." for more, and end the path at a NUL.
func valid(path string) bool {
	if path == "" {
		return true
	}
	if strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// join returns dir/path for openat2; both may be empty.
func join(dir, path string) string {
	switch {
	case dir == "" && path == "":
		return "."
	case dir == "":
		return path
	case path == "":
		return dir
	}
	return dir + "/" + path
}
