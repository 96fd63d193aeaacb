package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// netnsDir is where ip-netns(8) keeps named namespaces.
const netnsDir = "/run/netns"

// openNetns opens the network namespace that a name of ip-netns(8), a path or a
// process ID stands for. The descriptor stays open as long as the process: the
// mirror makes new sockets with it.
func openNetns(what string) (int, error) {
	path := netnsPath(what)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("network namespace %q: %s: %w", what, path, err)
	}
	kind, err := unix.IoctlRetInt(fd, unix.NS_GET_NSTYPE)
	if err != nil || kind != unix.CLONE_NEWNET {
		_ = unix.Close(fd)
		return 0, fmt.Errorf("network namespace %q: %s is not a network namespace", what, path)
	}
	return fd, nil
}

// netnsPath: what has a '/' is a path, what ip-netns(8) knows is a name, a
// number is a process.
func netnsPath(what string) string {
	if strings.Contains(what, "/") {
		return what
	}
	named := filepath.Join(netnsDir, what)
	if _, err := os.Stat(named); err == nil {
		return named
	}
	if _, err := strconv.ParseUint(what, 10, 31); err == nil {
		return "/proc/" + what + "/ns/net"
	}
	return named
}

// unwrapPath takes the path out of an error that names it elsewhere.
func unwrapPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
