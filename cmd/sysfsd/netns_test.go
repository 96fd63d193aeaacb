package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// beyondPIDs is above every pid_max.
const beyondPIDs = 1 << 22

func TestANamespaceIsNamedByPathNameOrProcess(t *testing.T) {
	name := fmt.Sprintf("sysfsd-cmd-%d", os.Getpid())
	ns := testns.NewNamed(t, name)
	for what, want := range map[string]uint64{
		ns.Path():                     inodeOf(t, ns.Path()),
		name:                          inodeOf(t, ns.Path()),
		filepath.Join(netnsDir, name): inodeOf(t, ns.Path()),
		"/proc/self/ns/net":           inodeOf(t, "/proc/self/ns/net"),
		fmt.Sprint(os.Getpid()):       inodeOf(t, "/proc/self/ns/net"),
	} {
		fd, err := openNetns(what)
		if !assert.NoError(t, err, what) {
			continue
		}
		var st unix.Stat_t
		assert.NoError(t, unix.Fstat(fd, &st))
		assert.Equal(t, want, st.Ino, what)
		assert.NoError(t, unix.Close(fd))
	}
}

func TestANameThatIsANumberIsANameFirst(t *testing.T) {
	pid := fmt.Sprint(os.Getpid())
	ns := testns.NewNamed(t, pid)
	fd, err := openNetns(pid)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(fd, &st))
	assert.Equal(t, inodeOf(t, ns.Path()), st.Ino)
}

func TestWhatIsNoNamespaceIsRefused(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	for what, says := range map[string]string{
		"nosuch":               `--netns: there is no namespace "nosuch" in /run/netns`,
		"0":                    `--netns: there is no namespace "0" in /run/netns`,
		"-1":                   `--netns: there is no namespace "-1" in /run/netns`,
		"/etc/passwd":          "--netns: /etc/passwd is not a network namespace",
		"/no/such":             "--netns: /no/such: no such file or directory",
		"./no\nsuch":           `--netns: "./no\nsuch": no such file or directory`,
		"/proc/self/ns/mnt":    "--netns: /proc/self/ns/mnt is not a network namespace",
		"/proc/self":           "--netns: /proc/self is not a network namespace",
		fifo:                   "--netns: " + fifo + " is not a network namespace",
		fmt.Sprint(beyondPIDs): fmt.Sprintf("--netns: there is no process %d, and no namespace of that name in /run/netns", beyondPIDs),
		"99999999999":          `--netns: there is no namespace "99999999999" in /run/netns`,
	} {
		_, err := openNetns(what)
		assert.EqualError(t, err, says)
	}
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st))
	return st.Ino
}
