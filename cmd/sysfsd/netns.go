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
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0) // It may be a FIFO.
	if err != nil {
		return 0, explainNetns(what, path, err)
	}
	kind, err := unix.IoctlRetInt(fd, unix.NS_GET_NSTYPE)
	if err != nil || kind != unix.CLONE_NEWNET {
		_ = unix.Close(fd)
		return 0, fmt.Errorf("--netns: %s is not a network namespace", shown(path))
	}
	return fd, nil
}

func explainNetns(what, path string, err error) error {
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(what, "/") {
		return fmt.Errorf("--netns: %s: %w", shown(path), err)
	}
	if isPID(what) {
		return fmt.Errorf("--netns: there is no process %s, and no namespace of that name in %s", what, netnsDir)
	}
	return fmt.Errorf("--netns: there is no namespace %q in %s", what, netnsDir)
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
	if isPID(what) {
		return "/proc/" + what + "/ns/net"
	}
	return named
}

func isPID(what string) bool {
	n, err := strconv.ParseUint(what, 10, 31)
	return err == nil && n > 0
}
