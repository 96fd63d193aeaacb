package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAllDeadMountsThatAreStackedAreTakenAway(t *testing.T) {
	needFuse(t)
	odd := filepath.Join(realTempDir(t), "a b\n\t\\#")
	require.NoError(t, os.Mkdir(odd, 0o755))
	for range 3 {
		mountFuse(t, odd, "fuse.sysfsd").die()
	}
	var log bytes.Buffer
	point, err := prepareMountpoint(odd, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	point.release()
	assert.Equal(t, odd, point.at)
	assert.Equal(t, 3, strings.Count(log.String(), "killed daemon"))
	assert.ErrorIs(t, unix.Unmount(odd, 0), unix.EINVAL, "something is mounted there")
}

func TestADeadMountIsFoundBehindLinks(t *testing.T) {
	needFuse(t)
	base := realTempDir(t)
	dir, link := filepath.Join(base, "dir"), filepath.Join(base, "link")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Symlink("dir", link))
	mountFuse(t, dir, "fuse.sysfsd").die()
	point, err := prepareMountpoint(link, discard())
	require.NoError(t, err)
	point.release()
	assert.Equal(t, dir, point.at)
	assert.Zero(t, countMounts(t, dir))
}

// A daemon that is stopped or busy is not dead. Nobody answers for this one.
func TestAMountThatDoesNotAnswerCountsAsServed(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	m := mountFuse(t, dir, "fuse.sysfsd")
	began := time.Now()
	_, err := prepareMountpoint(dir, discard())
	assert.EqualError(t, err, dir+" is already served by a sysfsd")
	assert.Less(t, time.Since(began), 2*answerTimeout)
	assert.Equal(t, 1, countMounts(t, dir))
	m.die() // Also ends the question.
}

func TestDeadMountsOfOthersAreTheirs(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	mountFuse(t, dir, "fuse.other").die()
	_, err := prepareMountpoint(dir, discard())
	assert.EqualError(t, err, "mount point "+dir+": transport endpoint is not connected")
	assert.Equal(t, 1, countMounts(t, dir))
}

// fuseMount is a FUSE mount that nobody serves.
type fuseMount struct{ fd int }

// mountFuse makes one, which is unmounted when the test ends.
func mountFuse(t *testing.T, dir, fstype string) *fuseMount {
	t.Helper()
	fd, err := unix.Open(fuseDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	m := &fuseMount{fd}
	t.Cleanup(m.die)
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	require.NoError(t, unix.Mount("test", dir, fstype, unix.MS_NOSUID|unix.MS_NODEV, data))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return m
}

// die is what happens when a daemon is killed.
func (m *fuseMount) die() {
	if m.fd >= 0 {
		_ = unix.Close(m.fd)
	}
	m.fd = -1
}
