package sysfs

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

// A goroutine that ends on the main thread while that is in another namespace
// leaves it there for good, and keeps the namespace. Locked here, where main runs
// on that thread for sure, no test gets it but by onMain.
func init() { runtime.LockOSThread() }

// onMain is for what is to be called on the main thread.
var onMain = make(chan func())

func TestMain(m *testing.M) {
	before := sysfsDescriptors()
	done := make(chan int)
	go func() { done <- m.Run() }()
	for {
		select {
		case call := <-onMain:
			call()
		case status := <-done:
			if after := sysfsDescriptors(); status == 0 && len(after) > len(before) {
				fmt.Println("leaked descriptors:", after)
				status = 1
			}
			os.Exit(status)
		}
	}
}

const (
	childEnv = "SYSFS_TEST_CHILD"
	// nobody is an ordinary user.
	nobody  = 65534
	virtual = "devices/virtual/net"
)

// inChild runs body in a process of its own, as root in new mount and network
// namespaces, with that network namespace's sysfs on /sys.
func inChild(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	if os.Getenv(childEnv) == t.Name() {
		require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		require.NoError(t, unix.Mount("sysfs", "/sys", "sysfs", 0, ""))
		body(t)
		return
	}
	testns.Host(t) // Skips where it can't be done.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
}

// becomeOrdinary gives up root for the whole process.
//
// Preconditions: called in a child.
func becomeOrdinary(t *testing.T) {
	t.Helper()
	require.NoError(t, syscall.Setgroups(nil))
	require.NoError(t, syscall.Setgid(nobody))
	require.NoError(t, syscall.Setuid(nobody))
}

// openIn returns the namespace's sysfs until the test ends.
func openIn(tb testing.TB, ns *testns.NS, o Options) *Files {
	tb.Helper()
	o.NetNS, o.Mode = ns.Fd(), Detached
	return open(tb, o)
}

func open(tb testing.TB, o Options) *Files {
	tb.Helper()
	f, err := Open(o)
	require.NoError(tb, err)
	tb.Cleanup(f.Close)
	return f
}

// logTo returns a logger whose lines are in the buffer.
func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// dirOf returns the Dir of a virtual device as it is now.
func dirOf(ns *testns.NS, serial netdev.Serial, name string) netdev.Dir {
	return netdev.Dir{Path: path.Join(virtual, name), Serial: serial, Index: uint32(ns.Index(name))}
}

// read returns a whole text file.
func read(f *Files, d netdev.Dir, path string) (string, error) {
	var p [4096]byte
	n, err := f.Read(d, path, p[:], 0)
	return string(p[:n]), err
}

func requireReads(tb testing.TB, want string, f *Files, d netdev.Dir, path string) {
	tb.Helper()
	got, err := read(f, d, path)
	require.NoError(tb, err)
	require.Equal(tb, want, got)
}

// requireGone checks that each method says ENOENT.
func requireGone(tb testing.TB, f *Files, d netdev.Dir) {
	tb.Helper()
	_, err := read(f, d, "mtu")
	require.Equal(tb, unix.ENOENT, err)
	_, err = f.Stat(d, "")
	require.Equal(tb, unix.ENOENT, err)
	_, err = f.Stat(d, "mtu")
	require.Equal(tb, unix.ENOENT, err)
	_, err = f.List(d, "")
	require.Equal(tb, unix.ENOENT, err)
	_, err = f.List(d, "statistics")
	require.Equal(tb, unix.ENOENT, err)
	_, err = f.Readlink(d, "subsystem")
	require.Equal(tb, unix.ENOENT, err)
}

// eventually waits for what the kernel does in its own time.
func eventually(tb testing.TB, condition func() bool, what string) {
	tb.Helper()
	require.Eventually(tb, condition, 20*time.Second, time.Millisecond, what)
}

// renamer renames devices without a process for each time.
type renamer struct{ socket int }

func newRenamer(tb testing.TB, ns *testns.NS) renamer {
	tb.Helper()
	var r renamer
	var err error
	ns.Do(func() { r.socket, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0) })
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = unix.Close(r.socket) })
	return r
}

// rename is SIOCSIFNAME of netdevice(7).
func (r renamer) rename(from, to string) error {
	var request struct {
		name, newname [unix.IFNAMSIZ]byte
		_             [8]byte
	}
	copy(request.name[:], from)
	copy(request.newname[:], to)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(r.socket), unix.SIOCSIFNAME, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return fmt.Errorf("rename %q to %q: %w", from, to, errno)
	}
	return nil
}

// sysfsDescriptors returns what this process has open of any sysfs: paths below
// a detached mount begin at its root.
func sysfsDescriptors() []string {
	var found []string
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		target, _ := os.Readlink(link)
		if strings.HasPrefix(target, "/devices") || strings.HasPrefix(target, "/class") || target == "/" {
			found = append(found, target)
		}
	}
	return found
}
