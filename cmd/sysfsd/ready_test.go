package main

import (
	"bufio"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestSystemdIsToldOfStartAndStop(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	path := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer systemd.Close()
	cmd := command(t, "sysfsd", "mount", "--devices", "20", dir)
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+path)
	require.NoError(t, cmd.Start())
	assert.Equal(t, "READY=1\nSTATUS=20 devices when it was ready", hear(t, systemd))
	assert.Equal(t, 1, countMounts(t, dir), "ready means mounted")
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	assert.Equal(t, "STOPPING=1", hear(t, systemd))
	assert.NoError(t, cmd.Wait())
}

func TestASystemdThatDoesNotListenIsNoReasonToEnd(t *testing.T) {
	needFuse(t)
	dir := mountDir(t)
	cmd := command(t, "sysfsd", "mount", "--devices", "20", dir)
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET=/no/such/socket")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	require.True(t, lines.Scan())
	assert.True(t, strings.HasPrefix(lines.Text(), "sysfsd: ready: 20 devices on "+dir+" after "), lines.Text())
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), "level=WARN")
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	assert.NoError(t, cmd.Wait())
}

func hear(t *testing.T, socket *net.UnixConn) string {
	t.Helper()
	require.NoError(t, socket.SetReadDeadline(time.Now().Add(30*time.Second)))
	var b [512]byte
	n, err := socket.Read(b[:])
	require.NoError(t, err)
	return string(b[:n])
}
