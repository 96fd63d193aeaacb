package main

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/fs"
)

// fakeMount is a mount whose end the test decides.
type fakeMount struct {
	done      chan struct{}
	unmounted chan error
	detached  bool
}

func newFakeMount() *fakeMount {
	return &fakeMount{done: make(chan struct{}), unmounted: make(chan error, 1)}
}

func (m *fakeMount) Done() <-chan struct{} { return m.done }
func (m *fakeMount) Unmount() error        { return <-m.unmounted }
func (m *fakeMount) Detach() error         { m.detached = true; return fs.ErrBusy }

func newTestStopper() *stopper {
	return &stopper{signals: make(chan os.Signal, 4), log: discard()}
}

func TestASignalUnmounts(t *testing.T) {
	for _, result := range []error{nil, fs.ErrBusy} {
		s, m := newTestStopper(), newFakeMount()
		s.signals <- unix.SIGTERM
		m.unmounted <- result
		assert.Equal(t, result, s.wait(m, nil))
		assert.False(t, m.detached)
	}
}

func TestUnmountedBySomebodyElseIsACleanEnd(t *testing.T) {
	s, m := newTestStopper(), newFakeMount()
	close(m.done)
	assert.NoError(t, s.wait(m, nil))
}

func TestAFailedMirrorUnmountsAndIsTheError(t *testing.T) {
	lost := errors.New("lost")
	for _, c := range []struct{ failed, unmount, want error }{
		{lost, nil, lost},
		{nil, nil, errSourceEnded},
		{lost, fs.ErrBusy, lost},
	} {
		s, m := newTestStopper(), newFakeMount()
		mirror := make(chan error, 1)
		mirror <- c.failed
		m.unmounted <- c.unmount
		err := s.wait(m, mirror)
		assert.ErrorIs(t, err, c.want)
		assert.NotErrorIs(t, err, fs.ErrBusy, "its status would be that of a stop")
	}
}

func TestASecondSignalEndsAnUnmountThatHangs(t *testing.T) {
	s, m := newTestStopper(), newFakeMount()
	s.signals <- unix.SIGTERM
	s.signals <- unix.SIGINT
	began := time.Now()
	assert.Equal(t, fs.ErrBusy, s.wait(m, nil))
	assert.True(t, m.detached)
	assert.Less(t, time.Since(began), 5*patience)
	m.unmounted <- nil
}

func TestASecondSignalLetsAnUnmountThatWorksEnd(t *testing.T) {
	s, m := newTestStopper(), newFakeMount()
	s.signals <- unix.SIGTERM
	s.signals <- unix.SIGINT
	time.AfterFunc(patience/10, func() { m.unmounted <- nil })
	assert.NoError(t, s.wait(m, nil))
	assert.False(t, m.detached)
}

// Without it a terminal's end leaves a dead mount.
func TestAHangupUnmountsUnlessItIsIgnored(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	cmd := command(t, "sysfsd", "mount", "--devices", "20", dir)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return isServed(dir) }, 30*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(unix.SIGHUP))
	assert.NoError(t, cmd.Wait())
	assert.Zero(t, countMounts(t, dir))

	nohup := command(t, "sysfsd", "mount", "--devices", "20", dir)
	nohup.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, nohup.Path}, nohup.Args[1:]...)
	nohup.Path = "/bin/sh"
	require.NoError(t, nohup.Start())
	require.Eventually(t, func() bool { return isServed(dir) }, 30*time.Second, time.Millisecond)
	require.NoError(t, nohup.Process.Signal(unix.SIGHUP))
	require.NoError(t, nohup.Process.Signal(unix.SIGHUP))
	assert.True(t, isServed(dir))
	require.NoError(t, nohup.Process.Signal(unix.SIGTERM))
	assert.NoError(t, nohup.Wait())
}

// As in "sysfsd mount DIR 2>&1 | head -n 1".
func TestTheEndOfWhoReadsTheLogIsNotTheDaemons(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	cmd := command(t, "sysfsd", "mount", "--devices", "20", "--debug-fuse", dir)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stderr = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	require.Eventually(t, func() bool { return isServed(dir) }, 30*time.Second, time.Millisecond)
	_, err = bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, r.Close())
	for range 10 {
		_, err := os.ReadDir(filepath.Join(dir, "class/net"))
		assert.NoError(t, err) // Each request is a line of the log.
	}
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	assert.NoError(t, cmd.Wait())
}

// isServed reports that a tree is mounted on a directory.
func isServed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "class/net"))
	return err == nil
}
