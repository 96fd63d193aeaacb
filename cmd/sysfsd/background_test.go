package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The output is read through pipes here, as by out=$(sysfsd mount -d ...): who
// reads waits until nobody has them open any more.
func TestADaemonLetsGoOfWhatStartedIt(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	t.Chdir(filepath.Dir(dir))
	status, stdout, stderr := run(t, "sysfsd", "mount", "-d", "--devices", "50", filepath.Base(dir))
	require.Zero(t, status, stderr)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "sysfsd: ready: 50 devices on "+dir)
	names, err := os.ReadDir(filepath.Join(dir, "class/net"))
	require.NoError(t, err)
	assert.Len(t, names, 50)

	pid := daemonOf(t, dir)
	session, err := unix.Getsid(pid)
	require.NoError(t, err)
	assert.Equal(t, pid, session, "it is in a session of the terminal")
	for fd := range 3 {
		target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		assert.NoError(t, err)
		assert.Equal(t, os.DevNull, target)
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	require.NoError(t, err)
	assert.Equal(t, "/", cwd)

	priority, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	require.NoError(t, err)
	assert.Equal(t, 20-niceness, priority) // As the system call returns it.

	require.NoError(t, unix.Kill(pid, unix.SIGTERM))
	requireFree(t, dir)
}

func TestADaemonsFailureIsItsStartersFailure(t *testing.T) {
	needFuse(t)
	for _, args := range [][]string{
		{"mount", "-d", "--devices", "5", "/no/such"},
		{"mount", "-d", "--netns", "no-such-namespace", mountDir(t)},
	} {
		status, stdout, stderr := run(t, "sysfsd", args...)
		assert.Equal(t, exitError, status)
		assert.Empty(t, stdout)
		assertOneLine(t, stderr)
	}
}

func TestAWarningOfADaemonIsGivenOnce(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hidden"), nil, 0o644))
	status, _, stderr := run(t, "sysfsd", "mount", "-d", "--devices", "5", dir)
	require.Zero(t, status, stderr)
	assert.Equal(t, 1, strings.Count(stderr, "not empty"), stderr)
	require.NoError(t, unix.Unmount(dir, 0))
}

// Ctrl-C reaches the process that waits, not the daemon, which has no terminal.
func TestAStartThatIsInterruptedLeavesNoDaemon(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	cmd := command(t, "sysfsd", "mount", "-d", "--devices", "100000", dir)
	require.NoError(t, cmd.Start())
	var child int
	require.Eventually(t, func() bool {
		child = childOf(cmd.Process.Pid)
		return child != 0
	}, 5*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(unix.SIGINT))
	assert.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return !lives(child) }, 30*time.Second, 10*time.Millisecond)
	assert.Zero(t, countMounts(t, dir))
}

func TestTheStatusOfADaemonThatWasKilledSaysSo(t *testing.T) {
	err := exec.CommandContext(t.Context(), "sh", "-c", "kill -9 $$").Run()
	assert.EqualError(t, endAs(err), "the daemon ended before it was ready: signal: killed")
}

// childOf returns a process of a parent that runs already what it is to run, 0
// if there is none.
func childOf(parent int) int {
	self, _ := os.Executable()
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		dir := filepath.Dir(link)
		target, _ := os.Readlink(link)
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if target == self && strings.Contains(string(environment), readyEnv+"=") &&
			len(fields) > 1 && (parent == 0 || fields[1] == strconv.Itoa(parent)) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			return pid
		}
	}
	return 0
}

// daemonOf returns the process that serves a mount of this test in the
// background: its starter is gone.
func daemonOf(t *testing.T, dir string) int {
	t.Helper()
	pid := childOf(0)
	require.NotZero(t, pid, "no daemon serves %s", dir)
	return pid
}

// lives reports a process that has not ended; nobody may have waited for it.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}
