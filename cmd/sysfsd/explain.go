package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// fuseDevice is how a file system is served from outside the kernel.
const fuseDevice = "/dev/fuse"

// explainMount makes one clear line of what opening /dev/fuse, mount(2) or
// fusermount3 answered.
func explainMount(err error, at string) error {
	switch probe := openFuse(); {
	case errors.Is(probe, os.ErrNotExist), errors.Is(probe, unix.ENXIO), errors.Is(probe, unix.ENODEV):
		return fmt.Errorf("no %s: load the kernel's fuse module, or give the container that device", fuseDevice)
	case errors.Is(probe, os.ErrPermission):
		return fmt.Errorf("no permission to open %s: be root, or let the device's mode and the container's rules allow it",
			fuseDevice)
	}
	var errno unix.Errno
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("no permission to mount on %s: be root, or install fuse3 for its fusermount3", shown(at))
	case errors.As(err, &errno):
		return fmt.Errorf("mounting on %s: %w", shown(at), errno)
	}
	return fmt.Errorf("mounting on %s by fusermount3, which has said why not: %w", shown(at), innermost(err))
}

// openFuse returns why /dev/fuse can't be opened.
func openFuse() error {
	fd, err := unix.Open(fuseDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// innermost takes off what packages have said of their own part in an error.
func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// both makes one line of two errors, where there are two. The first decides the
// exit status.
func both(first, second error) error {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return fmt.Errorf("%w; and %v", first, second) //nolint:errorlint // So that the second doesn't decide.
}

// shown is a path in a message of one line.
func shown(path string) string {
	if path == "" || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}
