package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// asCommand makes the test's own program the command: what it does to a process
// (exit status, sessions, descriptors) has to be looked at from outside.
const asCommand = "SYSFSD_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns the command with a name and arguments, ready to be started.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = append([]string{name}, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// run runs the command to its end, and to the end of all that it said.
func run(t *testing.T, name string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, name, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), said.String()
}

// needFuse skips where nothing can be mounted.
func needFuse(t *testing.T) {
	t.Helper()
	if err := openFuse(); err != nil || os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("mounting needs root and %s (%v), and CI=true forbids skipping", fuseDevice, err)
		}
		t.Skipf("mounting needs root and %s (%v)", fuseDevice, err)
	}
}

// mountDir returns a new mount point, which is free again after the test.
func mountDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() {
		for unix.Unmount(dir, unix.MNT_DETACH) == nil {
			// There may be several.
			t.Logf("unmounted %s", dir)
		}
	})
	return dir
}

// requireFree waits until nothing is mounted on a directory.
func requireFree(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool { return countMounts(t, dir) == 0 }, 10*time.Second, 10*time.Millisecond)
}

// countMounts parses the mount table in its own way. Preconditions: no name in
// dir has to be escaped there.
func countMounts(t *testing.T, dir string) int {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	return strings.Count(string(table), " "+dir+" ")
}

func assertOneLine(t *testing.T, said string) {
	t.Helper()
	assert.Equal(t, 1, strings.Count(said, "\n"), "lines in %q", said)
	assert.True(t, strings.HasPrefix(said, "sysfsd: ") && strings.HasSuffix(said, "\n"), "%q", said)
}
