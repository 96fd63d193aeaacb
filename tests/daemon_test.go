package tests

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

const (
	// readyTime is for 100,000 devices on a slow machine under the race detector.
	readyTime = 2 * time.Minute
	// stopTime is for unmounting and leaving.
	stopTime = 10 * time.Second
)

// daemon is a running sysfsd that serves dir.
type daemon struct {
	dir     string
	pid     int
	ready   time.Duration // From exec to the ready line.
	exited  chan struct{} // Closed when state is set.
	state   *os.ProcessState
	started chan error

	mu  sync.Mutex
	err strings.Builder // What it said on stderr.
}

// serve mounts a namespace by sysfsd and returns where. It is what most tests
// need, and what the reference run replaces.
func serve(tb testing.TB, ns *testns.NS) string {
	tb.Helper()
	if reference() {
		return ns.Sysfs()
	}
	return start(tb, "--netns", ns.Path()).dir
}

// start runs sysfsd mount on a new mount point and waits until it is ready.
func start(tb testing.TB, args ...string) *daemon {
	tb.Helper()
	return startAt(tb, tb.TempDir(), args...)
}

// startAt is start on a given mount point. The daemon is stopped, and the
// mount point free, when the test ends.
func startAt(tb testing.TB, dir string, args ...string) *daemon {
	tb.Helper()
	if reference() {
		tb.Skip("the reference run has no daemon")
	}
	begin := time.Now()
	d := launch(tb, dir, args...)
	require.NoError(tb, d.waitFor("sysfsd: ready", readyTime), "sysfsd mount %v:\n%s", args, d.stderr())
	d.ready = time.Since(begin)
	return d
}

// launch runs sysfsd mount without waiting for anything.
func launch(tb testing.TB, dir string, args ...string) *daemon {
	tb.Helper()
	args = append(append([]string{"mount"}, args...), dir)
	d := &daemon{dir: dir, exited: make(chan struct{}), started: make(chan error)}
	go d.run(args)
	require.NoError(tb, <-d.started)
	tb.Cleanup(func() { d.cleanup(tb) })
	return d
}

// run is the daemon's parent. It keeps one thread, since the kernel kills the
// daemon when the thread that started it ends: no test run leaves one behind.
func (d *daemon) run(args []string) {
	runtime.LockOSThread()
	defer close(d.exited)
	cmd := exec.Command(sysfsd, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.started <- err
		return
	}
	d.pid = cmd.Process.Pid
	d.started <- nil
	d.collect(stderr)
	_ = cmd.Wait() // The state says it all.
	d.state = cmd.ProcessState
}

func (d *daemon) collect(stderr io.Reader) {
	for r := bufio.NewReader(stderr); ; {
		line, err := r.ReadString('\n')
		d.mu.Lock()
		d.err.WriteString(line)
		d.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (d *daemon) stderr() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err.String()
}

// waitFor returns when a line of stderr has begun with prefix.
func (d *daemon) waitFor(prefix string, limit time.Duration) error {
	timeout := time.After(limit)
	for {
		if strings.Contains("\n"+d.stderr(), "\n"+prefix) {
			return nil
		}
		select {
		case <-d.exited:
			return errors.New("sysfsd ended: " + d.state.String())
		case <-timeout:
			return errors.New("no line " + prefix)
		case <-time.After(time.Millisecond): // A pipe can't be waited for by content.
		}
	}
}

// signal sends one, to a daemon that may be gone already.
func (d *daemon) signal(s syscall.Signal) { _ = syscall.Kill(d.pid, s) }

// wait returns the exit code, or -1 for a death by signal. It fails the test
// where the daemon goes on.
func (d *daemon) wait(tb testing.TB, limit time.Duration) int {
	tb.Helper()
	select {
	case <-d.exited:
		return d.state.ExitCode()
	case <-time.After(limit):
		require.Fail(tb, "sysfsd does not end", "after %v:\n%s", limit, d.stderr())
		return -1
	}
}

// cleanup stops a daemon that the test has not stopped, and takes down what it
// may have left, by force where a fault in it demands that.
func (d *daemon) cleanup(tb testing.TB) {
	tb.Helper()
	select {
	case <-d.exited:
	default:
		d.signal(syscall.SIGTERM)
		select {
		case <-d.exited:
			assert.Zero(tb, d.state.ExitCode(), "exit status after SIGTERM:\n%s", d.stderr())
		case <-time.After(stopTime):
			assert.Fail(tb, "sysfsd ignores SIGTERM", d.stderr())
			d.signal(syscall.SIGKILL)
			<-d.exited
		}
	}
	for unix.Unmount(d.dir, unix.MNT_DETACH) == nil {
		// More than one mount may be stacked there; the last one is checked by TestMain.
		tb.Logf("detached %s", d.dir)
	}
	if tb.Failed() && d.stderr() != "" {
		tb.Logf("stderr of sysfsd %d:\n%s", d.pid, d.stderr())
	}
	assert.NotContains(tb, d.stderr(), "DATA RACE")
	assert.NotContains(tb, d.stderr(), "panic:")
}
