package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// exitBusy is the documented exit status of a mount that was in use.
const exitBusy = 3

// goneTime is for what a second signal must not wait for.
const goneTime = 5 * time.Second

func TestSignalsUnmountAndExitCleanly(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			d := start(t, "--devices", "10")
			require.Equal(t, 1, mountsAt(d.dir))
			d.signal(s)
			assert.Zero(t, d.wait(t, stopTime), d.stderr())
			assert.Zero(t, mountsAt(d.dir))
			assertEmptyDir(t, d.dir)
		})
	}
}

func TestABusyMountIsDetachedAndTheExitStatusSaysSo(t *testing.T) {
	d := start(t, "--devices", "10")
	user, err := os.Open(filepath.Join(d.dir, "class/net"))
	require.NoError(t, err)
	defer func() { _ = user.Close() }()
	before := len(d.stderr())

	d.signal(syscall.SIGTERM)
	assert.Equal(t, exitBusy, d.wait(t, stopTime), d.stderr())
	assertOneLine(t, d.stderr()[before:])
	assert.Zero(t, mountsAt(d.dir))
}

func TestASecondSignalNeverHangs(t *testing.T) {
	d := start(t, "--devices", "10")
	user, err := os.Open(filepath.Join(d.dir, "class/net"))
	require.NoError(t, err)
	defer func() { _ = user.Close() }()

	d.signal(syscall.SIGTERM)
	d.signal(syscall.SIGINT)
	d.signal(syscall.SIGTERM)
	d.wait(t, goneTime)
	assert.Zero(t, mountsAt(d.dir))
}

func TestUnmountingFromOutsideEndsTheDaemon(t *testing.T) {
	d := start(t, "--devices", "10")
	require.NoError(t, unix.Unmount(d.dir, 0))
	d.wait(t, stopTime)
}

func TestTheDeadMountOfAKilledDaemonIsRecovered(t *testing.T) {
	dead := start(t, "--devices", "10")
	dead.signal(syscall.SIGKILL)
	dead.wait(t, stopTime)
	_, err := os.ReadDir(dead.dir)
	require.ErrorIs(t, err, unix.ENOTCONN)

	d := startAt(t, dead.dir, "--devices", "20")
	assert.Equal(t, 1, mountsAt(d.dir))
	assert.GreaterOrEqual(t, len(deviceNames(t, d.dir)), 20)
	d.signal(syscall.SIGTERM)
	assert.Zero(t, d.wait(t, stopTime), d.stderr())
	assert.Zero(t, mountsAt(d.dir))
}

// The kernel knows the mount by the directory, whatever the user calls it.
func TestTheDeadMountBehindASymbolicLinkIsRecovered(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	dead := start(t, "--devices", "10")
	require.NoError(t, os.Symlink(dead.dir, link))
	dead.signal(syscall.SIGKILL)
	dead.wait(t, stopTime)

	startAt(t, link, "--devices", "20")
	assert.Equal(t, 1, mountsAt(dead.dir))
	code, said := sysfsdMount(t, "--devices", "1", link)
	assert.NotZero(t, code, "already served")
	assertOneLine(t, said)
}

func TestTheMountIsWhatItSaysItIs(t *testing.T) {
	d := start(t, "--devices", "10")
	for _, m := range mounts() {
		if m.dir == d.dir {
			assert.Contains(t, m.fstype+" "+m.source, "sysfsd")
			for _, option := range []string{"ro", "nosuid", "nodev", "noexec"} {
				assert.Contains(t, strings.Split(m.options, ","), option)
			}
		}
	}
	ls := exec.CommandContext(t.Context(), "ls", "-l", filepath.Join(d.dir, "class/net"))
	ls.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	// The way there is closed by the mode of temporary directories.
	for dir := filepath.Dir(d.dir); dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	out, err := ls.CombinedOutput()
	assert.NoError(t, err, "as nobody: %s", out)
}

func TestMistakesAreToldInOneLine(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	served := start(t, "--devices", "10")
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"missing mount point", []string{"--devices", "1", filepath.Join(dir, "missing")}, "missing"},
		{"mount point is a file", []string{"--devices", "1", file}, file},
		{"already served", []string{"--devices", "1", served.dir}, served.dir},
		{"unknown namespace", []string{"--netns", "no-such-namespace", dir}, "no-such-namespace"},
		{"namespace is no namespace", []string{"--netns", file, dir}, file},
		{"negative number of devices", []string{"--devices", "-1", dir}, "devices"},
		{"number of devices is no number", []string{"--devices", "many", dir}, "devices"},
		{"odd number of bits", []string{"--devices", "1", "--nlink-bits", "17", dir}, "17"},
		{"unknown flag", []string{"--nonsense", dir}, "nonsense"},
		{"no mount point", nil, ""},
		{"two mount points", []string{dir, dir}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, said := sysfsdMount(t, c.args...)
			assert.NotZero(t, code)
			assertOneLine(t, said)
			assert.Contains(t, said, c.says)
			assert.Zero(t, mountsAt(dir))
		})
	}
	assert.Equal(t, 1, mountsAt(served.dir), "the living daemon was disturbed")
	assert.NotEmpty(t, deviceNames(t, served.dir))
}

func TestAMountPointThatIsNotEmptyIsWarnedOf(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hidden"), nil, 0o644))
	d := startAt(t, dir, "--devices", "10")
	assert.Contains(t, d.stderr(), "not empty")
	assert.NotEmpty(t, deviceNames(t, dir))
}

func TestDaemonReturnsWhenReady(t *testing.T) {
	dir := t.TempDir()
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	code, said := sysfsdMount(t, "--daemon", "--devices", "1000", dir)
	require.Zero(t, code, said)
	assert.GreaterOrEqual(t, len(deviceNames(t, dir)), 1000)
	require.NoError(t, unix.Unmount(dir, 0))
	require.Eventually(t, func() bool { return len(leftProcesses()) == 0 }, stopTime, 10*time.Millisecond)
}

func TestNamespacesAreFoundByNamePathAndProcess(t *testing.T) {
	ns := testns.NewNamed(t, "sysfsd-cli")
	ns.IP("link add only-there type ifb")
	child := exec.CommandContext(t.Context(), "sleep", "infinity")
	ns.Do(func() { require.NoError(t, child.Start()) })
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()

	for _, name := range []string{"sysfsd-cli", ns.Path(), strconv.Itoa(child.Process.Pid)} {
		d := start(t, "--netns", name)
		assert.Equal(t, map[string]bool{"lo": true, "only-there": true}, deviceNames(t, d.dir), name)
	}
}

func TestTheNamespaceEndsWithTheDaemon(t *testing.T) {
	ns, witness := testns.New(t), testns.New(t)
	ns.IP("link add v0 type veth peer name v1 netns " + witness.Path())
	d := start(t, "--netns", ns.Path())
	ns.Delete()
	assert.Contains(t, deviceNames(t, d.dir), "v0", "its sockets keep a namespace as long as it is mirrored")
	d.signal(syscall.SIGTERM)
	d.wait(t, stopTime)
	// Its veth goes with it, and takes the peer along.
	require.Eventually(t, func() bool {
		_, err := witness.Try("ip", "link", "show", "v1")
		return err != nil
	}, stopTime, 20*time.Millisecond)
}

// sysfsdMount runs a command that ends by itself.
func sysfsdMount(t *testing.T, args ...string) (int, string) {
	t.Helper()
	if reference() {
		t.Skip("the reference run has no daemon")
	}
	ctx, cancel := context.WithTimeout(t.Context(), readyTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, sysfsd, append([]string{"mount"}, args...)...)
	// A file, not a pipe: a daemon that inherits stderr must not keep us waiting.
	stderr, err := os.CreateTemp(t.TempDir(), "stderr")
	require.NoError(t, err)
	defer func() { _ = stderr.Close() }()
	cmd.Stderr = stderr
	err = cmd.Run()
	require.NoError(t, ctx.Err(), "it goes on")
	said, readErr := os.ReadFile(stderr.Name())
	require.NoError(t, readErr)
	if err == nil {
		return 0, string(said)
	}
	return cmd.ProcessState.ExitCode(), string(said)
}

func assertOneLine(t *testing.T, said string) {
	t.Helper()
	assert.Equal(t, 1, strings.Count(said, "\n"), "lines in %q", said)
	assert.True(t, strings.HasSuffix(said, "\n"), "%q does not end its line", said)
}

func assertEmptyDir(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// mountsAt counts the mounts on a directory, stacked ones too.
func mountsAt(dir string) int {
	count := 0
	for _, m := range mounts() {
		if m.dir == dir {
			count++
		}
	}
	return count
}
