package testns

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// NewOwned returns a namespace that belongs to a user namespace whose root is
// the given uid and gid: sysfs shows its devices as owned by them.
func NewOwned(tb testing.TB, uid, gid int) *NS {
	tb.Helper()
	requireRoot(tb)
	// A process with threads may not enter a user namespace, a child may be
	// born in one. It is gone as soon as its namespace is opened.
	child := exec.CommandContext(tb.Context(), "sleep", "infinity")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1000}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1000}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := child.Start(); err != nil {
		unavailable(tb, fmt.Sprintf("no user namespaces: %v", err))
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", child.Process.Pid))
	_ = child.Process.Kill()
	_ = child.Wait() // It was killed: an error is what we expect.
	if err != nil {
		tb.Fatalf("testns: %v", err)
	}
	return newNS(tb, file)
}
