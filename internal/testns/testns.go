// Package testns makes network namespaces, devices and sysfs mounts for tests.
//
// Its one idea: a namespace is a file descriptor owned by the test. Nothing has
// a name that two runs could fight over, and whatever a test leaves behind
// (devices, mounts) goes away with the descriptor, also after a failure.
package testns

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// namedDir is where ip-netns(8) and sysfsd look for named namespaces.
const namedDir = "/run/netns"

// NS is a network namespace that lives as long as its test.
type NS struct {
	tb   testing.TB
	file *os.File
	path string
}

// New returns a new namespace without a name. It holds a lo that is down.
func New(tb testing.TB) *NS {
	tb.Helper()
	requireRoot(tb)
	file, err := unshareNet()
	if err != nil {
		unavailable(tb, fmt.Sprintf("no network namespaces: %v", err))
	}
	return newNS(tb, file)
}

// NewNamed returns a new namespace bound to /run/netns/name, where other
// programs find it by that name.
func NewNamed(tb testing.TB, name string) *NS {
	tb.Helper()
	ns := New(tb)
	if err := os.MkdirAll(namedDir, 0o755); err != nil {
		tb.Fatalf("testns: %v", err)
	}
	bound := filepath.Join(namedDir, name)
	if err := os.WriteFile(bound, nil, 0o444); err != nil {
		tb.Fatalf("testns: %v", err)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(bound, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			tb.Errorf("testns: unmount %s: %v", bound, err)
		}
		if err := os.Remove(bound); err != nil {
			tb.Errorf("testns: %v", err)
		}
	})
	if err := unix.Mount(ns.path, bound, "", unix.MS_BIND, ""); err != nil {
		tb.Fatalf("testns: bind %s: %v", bound, err)
	}
	return ns
}

// Host returns the namespace the test itself runs in, with its real devices.
// Tests look at it and leave it as it is.
func Host(tb testing.TB) *NS {
	tb.Helper()
	requireRoot(tb)
	file, err := currentNet()
	if err != nil {
		unavailable(tb, fmt.Sprintf("no network namespaces: %v", err))
	}
	return newNS(tb, file)
}

func newNS(tb testing.TB, file *os.File) *NS {
	tb.Helper()
	tb.Cleanup(func() {
		if err := file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			tb.Errorf("testns: close namespace: %v", err)
		}
	})
	return &NS{tb: tb, file: file, path: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())}
}

// Path names the namespace for any process: setns(2), ip link set netns,
// nsenter --net= and sysfsd --netns take it. It is good until the test ends.
func (ns *NS) Path() string { return ns.path }

// Fd is the namespace's descriptor, good until the test ends.
func (ns *NS) Fd() int { return int(ns.file.Fd()) }

// Delete gives the namespace up before the test ends. Where nothing else holds
// it, its devices are torn down by the kernel soon after, not before Delete
// returns.
func (ns *NS) Delete() {
	ns.tb.Helper()
	if err := ns.file.Close(); err != nil {
		ns.tb.Fatalf("testns: delete namespace: %v", err)
	}
}

// Do runs f inside the namespace, on the calling goroutine, so that f may fail
// the test. Goroutines started by f are outside, processes are inside.
func (ns *NS) Do(f func()) {
	ns.tb.Helper()
	runtime.LockOSThread()
	before, err := currentNet()
	if err != nil {
		runtime.UnlockOSThread()
		ns.tb.Fatalf("testns: %v", err)
	}
	defer func() {
		// A thread that can't go back must never run other goroutines: it stays
		// locked and dies with this one.
		if err := unix.Setns(int(before.Fd()), unix.CLONE_NEWNET); err == nil {
			runtime.UnlockOSThread()
		}
		_ = before.Close()
	}()
	if err := unix.Setns(ns.Fd(), unix.CLONE_NEWNET); err != nil {
		ns.tb.Fatalf("testns: enter namespace: %v", err)
	}
	f()
}

// Run runs a command inside the namespace and returns what it printed. The test
// fails where the command does.
func (ns *NS) Run(name string, args ...string) string {
	ns.tb.Helper()
	out, err := ns.Try(name, args...)
	if err != nil {
		ns.tb.Fatalf("testns: %s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// Try is Run for a command that may fail.
func (ns *NS) Try(name string, args ...string) (string, error) {
	ns.tb.Helper()
	return ns.command(nil, name, args...)
}

// IP runs lines as one ip -batch inside the namespace: one process, however
// many lines. The test fails at the first line that does.
func (ns *NS) IP(lines ...string) {
	ns.tb.Helper()
	batch := strings.Join(lines, "\n") + "\n"
	if out, err := ns.command(strings.NewReader(batch), "ip", "-batch", "-"); err != nil {
		ns.tb.Fatalf("testns: ip -batch: %v\n%s\nof\n%s", err, out, abridge(batch))
	}
}

func (ns *NS) command(stdin *strings.Reader, name string, args ...string) (string, error) {
	ns.tb.Helper()
	// Not bound to the test's context, which is over when cleanups run.
	cmd := exec.Command(name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var err error
	ns.Do(func() { err = cmd.Start() })
	if err == nil {
		err = cmd.Wait()
	}
	return out.String(), err
}

// Index returns the ifindex of a device in the namespace.
func (ns *NS) Index(name string) int {
	ns.tb.Helper()
	var index int
	ns.Do(func() {
		index = linkIndex(ns.tb, name)
	})
	return index
}

// unshareNet makes a namespace on a thread of its own, which ends at once: the
// descriptor alone keeps the namespace.
func unshareNet() (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	made := make(chan result)
	go func() {
		// Never unlocked: the runtime ends the thread with the goroutine.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			made <- result{nil, err}
			return
		}
		file, err := currentNet()
		made <- result{file, err}
	}()
	r := <-made
	return r.file, r.err
}

// currentNet opens the calling thread's namespace. Preconditions: the thread is
// locked, or every thread is in the same namespace.
func currentNet() (*os.File, error) {
	return os.Open("/proc/thread-self/ns/net")
}

// linkIndex asks the calling thread's namespace for an ifindex.
func linkIndex(tb testing.TB, name string) int {
	tb.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatalf("testns: socket: %v", err)
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq(name)
	if err != nil {
		tb.Fatalf("testns: device name %q: %v", name, err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req); err != nil {
		tb.Fatalf("testns: index of %q: %v", name, err)
	}
	return int(req.Uint32())
}

func requireRoot(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 {
		unavailable(tb, "not root")
	}
}

// unavailable skips the test, and fails it where the CI promised everything: a
// suite that skips itself unnoticed protects nothing.
func unavailable(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("testns: %s, and CI=true forbids skipping", reason)
	}
	tb.Skipf("testns: %s", reason)
}

// abridge keeps the message of a failed batch of thousands of lines readable.
func abridge(s string) string {
	const most = 500
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
