package fs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

// The clients of these tests are other programs: a Go process that uses a mount
// which it serves itself can deadlock.

func TestFindSeesWhatTheRequestsSay(t *testing.T) {
	w := newWorld(t, 60)
	dir := w.mount()
	want := make(map[string]string)
	for at, n := range w.walk() {
		a := n.found.Attr
		link, _ := w.readlink(n.found.NodeId)
		want[at] = fmt.Sprintf("%o %d %d %d %s", a.Mode, a.Ino, a.Nlink, a.Size, link)
	}
	for _, how := range [][]string{{"find", dir}, {"find", "-O3", dir, "-noleaf"}} {
		out := w.must(append(how, "-mindepth", "1", "-printf", `%P\t%m %y %i %n %s %l\n`)...)
		got := make(map[string]string)
		for line := range strings.Lines(out) {
			at, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got[at] = octalMode(text)
		}
		assert.Equal(t, want, got)
	}
}

// octalMode makes find's "755 d" the number of stat(2). The first three digits
// are without those bits.
func octalMode(text string) string {
	mode, rest, _ := strings.Cut(text, " ")
	typ, rest, _ := strings.Cut(rest, " ")
	prefix := map[string]string{"d": "40", "f": "100", "l": "120"}[typ]
	return prefix + strings.Repeat("0", 3-len(mode)) + mode + " " + rest
}

func TestAListingAndItsAttributesAgreeTheSecondTimeToo(t *testing.T) {
	w := newWorld(t, 150)
	dir := w.mount()
	for _, of := range []string{"class/net", "devices/virtual/net", w.bridge().Path(), "devices/virtual/net/lo/statistics"} {
		first := w.must("ls", "-lia", path.Join(dir, of))
		assert.Equal(t, first, w.must("ls", "-lia", path.Join(dir, of)), of)
		assert.Len(t, w.list(w.node(of)), strings.Count(first, "\n")-1, of)
	}
}

func TestReadersOfAMountGetTextsAndErrors(t *testing.T) {
	w := newWorld(t, 150)
	dir := w.mount()
	b := w.bridge()
	own := path.Join(dir, b.Path())
	assert.Equal(t, w.textAt(b.Path()+"/bridge/bridge_id"), w.must("cat", own+"/bridge/bridge_id"))
	assert.Equal(t, w.textAt(b.Path()+"/address"), w.must("cat", path.Join(dir, "class/net", b.Link.Name, "address")))
	assert.Equal(t, w.textAt(b.Path()+"/brforward"), w.must("cat", own+"/brforward"))
	down := w.device(func(d *tree.Device) bool { return !d.Link.Up() })
	for _, c := range []struct{ command, want string }{
		{"cat " + path.Join(dir, down.Path(), "carrier"), "Invalid argument"},
		{"cat " + own + "/bridge/flush", "Permission denied"},
		{"cat " + own + "/none", "No such file or directory"},
		{"cat " + own + "/queues/tx-0/xps_cpus", "No such file or directory"},
		{"echo 1 > " + own + "/mtu", "Read-only file system"},
		{"mkdir " + own + "/x", "Read-only file system"},
		{"rm " + own + "/mtu", "Read-only file system"},
		{"touch " + own + "/mtu", "Read-only file system"},
		{"mv " + own + "/mtu " + own + "/x", "Read-only file system"},
	} {
		out, err := w.client("bash", "-c", c.command)
		assert.Error(t, err, c.command)
		assert.Contains(t, out, c.want, c.command)
	}
}

func TestAnOpenFileOfAMountOutlivesItsDevice(t *testing.T) {
	w := newWorld(t, 150)
	dir := w.mount()
	d := w.bridge()
	s := w.shell()
	s.run("cd " + path.Join(dir, d.Path()) + " && exec 3<mtu 4<address 5<statistics/rx_bytes")
	assert.Equal(t, "1", s.run("head -c 1 <&3"), "the first byte")
	s.run("cat <&4")
	w.del(d.Link.Name)
	gone := func() bool { return strings.Contains(s.run("stat dev_id 2>&1"), "No such file or directory") }
	assert.Eventually(t, gone, patience, tick, "its attributes are cached for a moment")
	assert.Equal(t, "500", s.run("cat <&3 2>&1"), "the rest of it")
	assert.Contains(t, s.run("cat <&5 2>&1"), "No such file or directory", "it was never read")
	assert.Equal(t, "regular file 1", s.run("stat -L -c '%F %h' /dev/fd/4 2>&1"), "as in sysfs")
	assert.Contains(t, s.run("cat mtu 2>&1"), "No such file or directory")
	assert.Contains(t, s.run("ls -a . 2>&1 | tr '\\n' ' '"), ". ..")
	s.end()
}

func TestAReaderOfSingleBytesThroughAMountSeesOneValue(t *testing.T) {
	w := newWorld(t, 60)
	dir := w.mount()
	d := w.device(ofKind("dummy"))
	w.set(d.Link.Name, func(l *netdev.Link) { l.MTU = 999 })
	s := w.shell()
	s.run("exec 3<" + path.Join(dir, d.Path(), "mtu"))
	var got strings.Builder
	for i := range 6 {
		got.WriteString(s.run("dd bs=1 count=1 status=none <&3"))
		w.set(d.Link.Name, func(l *netdev.Link) { l.MTU = 10_000 + uint32(i) })
	}
	assert.Equal(t, "999", got.String())
	assert.Equal(t, "10005", s.run("cat "+path.Join(dir, d.Path(), "mtu")))
	s.end()
}

func TestNamesThatChangeHandsAreRightAtOnce(t *testing.T) {
	w := newWorld(t, 60)
	dir := w.mount()
	a, b := w.device(ofKind("dummy")), w.device(ofKind("ifb"))
	s := w.shell()
	index := func(d *tree.Device) string {
		return s.run("cat " + path.Join(dir, "class/net", d.Link.Name, "ifindex"))
	}
	names := [2]string{a.Link.Name, b.Link.Name}
	for i := range 10 {
		w.tree.Apply(netdev.Batch{Changes: []netdev.Change{renamedTo(a, names[i%2]), renamedTo(b, names[1-i%2])}})
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		// By its name as it was at the start.
		assert.Equal(t, decimal(first.Link.Index), index(a), i)
		assert.Equal(t, decimal(second.Link.Index), index(b), i)
	}
	s.end()
}

func TestAReadOfAMountThatWaitsCanBeKilledAndHoldsUpNobody(t *testing.T) {
	w := newWorld(t, 60)
	until := make(chan struct{})
	defer close(until)
	dir := w.mount()
	var clients sync.WaitGroup
	for d := range w.tree.Snapshot().Devices() {
		w.files.blockAt(d.Path()+waitingFile, until)
		c := exec.Command("cat", path.Join(dir, d.Path()+waitingFile))
		require.NoError(t, c.Start())
		defer func() { clients.Go(func() { _ = c.Wait() }) }()
		defer func() { _ = c.Process.Signal(os.Interrupt) }()
	}
	require.Eventually(t, func() bool { return w.files.waiting() == waitingReads }, patience, tick)
	assert.Equal(t, "65536\n", w.must("cat", path.Join(dir, "devices/virtual/net/lo/mtu")))
	assert.Equal(t, "0x9\n", w.must("cat", path.Join(dir, "devices/virtual/net/lo/flags")))
	w.must("ls", "-lR", path.Join(dir, "devices/virtual/net/lo"))
	out, err := w.client("timeout", "-s", "INT", "0.1", "cat", path.Join(dir, "devices/virtual/net/lo"+waitingFile))
	assert.Error(t, err, out)
	t.Cleanup(clients.Wait)
}

func TestAScanOfAMountUnderChurnSeesWhoStaysOnce(t *testing.T) {
	w := newWorld(t, 2000)
	dir := w.mount()
	change := w.churnDevices()
	over := make(chan struct{})
	var listings string
	var client sync.WaitGroup
	client.Go(func() {
		defer close(over)
		listings = w.must("bash", "-c", "for i in $(seq 20); do ls -U "+path.Join(dir, "class/net")+"; done")
	})
	stays := namesIn(w.list(w.node("class/net"))[2:])
	for !closed(over) {
		change()
	}
	client.Wait()
	count := make(map[string]int)
	for name := range strings.Lines(listings) {
		count[strings.TrimSpace(name)]++
	}
	for _, name := range stays {
		assert.Equal(t, 20, count[name], name)
	}
}

func TestAMountThatIsInUseIsDetached(t *testing.T) {
	w := newWorld(t, 10)
	w.needsFuse()
	dir := t.TempDir()
	m, err := Mount(dir, w.FS, MountOptions{Logger: w.FS.log})
	require.NoError(t, err)
	s := w.shell()
	s.run("cd " + path.Join(dir, "class/net"))
	require.ErrorIs(t, m.Unmount(), ErrBusy)
	assert.Equal(t, "lo", s.run("ls -d lo"), "who is in it goes on")
	s.end()
	<-m.Done()
	assert.NoError(t, m.Unmount(), "once more")
}

func TestMountFlagsAreThoseOfSysInAContainer(t *testing.T) {
	w := newWorld(t, 10)
	dir := w.mount()
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	assert.Contains(t, string(mounts), "sysfsd "+dir+" fuse.sysfsd ro,nosuid,nodev,noexec,")
}

func TestMountOnWhatIsNotThereFails(t *testing.T) {
	w := newWorld(t, 10)
	w.needsFuse()
	_, err := Mount(filepath.Join(t.TempDir(), "none"), w.FS, MountOptions{Logger: w.FS.log})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// needsFuse skips where nothing can be mounted.
func (w *world) needsFuse() {
	w.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		w.Skip("no /dev/fuse")
	}
	if os.Geteuid() != 0 {
		w.Skip("not root")
	}
}

// mount serves the world on a directory until the end of the test.
func (w *world) mount() string {
	w.Helper()
	w.needsFuse()
	dir := w.TempDir()
	m, err := Mount(dir, w.FS, MountOptions{Logger: w.FS.log})
	require.NoError(w, err)
	w.Cleanup(func() {
		// RELEASE comes after close(2), and not at all once it is unmounted.
		assert.Eventually(w, func() bool { return w.handles() == 0 }, 10*time.Second, time.Millisecond, "handles that are left")
		if err := m.Unmount(); !errors.Is(err, ErrBusy) {
			assert.NoError(w, err)
		}
		<-m.Done()
	})
	return dir
}

// client runs a program to its end.
func (w *world) client(command ...string) (string, error) {
	c := exec.CommandContext(w.Context(), command[0], command[1:]...)
	c.Env = append(os.Environ(), "LC_ALL=C")
	out, err := c.CombinedOutput()
	return string(out), err
}

// must is client for what can't fail.
func (w *world) must(command ...string) string {
	w.Helper()
	out, err := w.client(command...)
	require.NoError(w, err, out)
	return out
}

// shell is a program that keeps files open and does things when told to.
type shell struct {
	w      *world
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

func (w *world) shell() *shell {
	w.Helper()
	s := &shell{w: w, cmd: exec.Command("bash")}
	s.cmd.Env = append(os.Environ(), "LC_ALL=C")
	input, err := s.cmd.StdinPipe()
	require.NoError(w, err)
	output, err := s.cmd.StdoutPipe()
	require.NoError(w, err)
	require.NoError(w, s.cmd.Start())
	s.input, s.output = input, bufio.NewReader(output)
	w.Cleanup(s.end)
	return s
}

// run runs a command and returns its output without the newline at its end.
func (s *shell) run(command string) string {
	s.w.Helper()
	_, err := fmt.Fprintf(s.input, "%s\nprintf '\\0'\n", command)
	require.NoError(s.w, err)
	out, err := s.output.ReadBytes(0)
	require.NoError(s.w, err)
	return string(bytes.TrimSuffix(bytes.TrimSuffix(out, []byte{0}), []byte("\n")))
}

// end ends the shell, which closes its files.
func (s *shell) end() {
	if s.cmd.ProcessState == nil {
		_ = s.input.Close()
		err := s.cmd.Wait()
		var exit *exec.ExitError
		assert.True(s.w, err == nil || errors.As(err, &exit), err)
	}
}
