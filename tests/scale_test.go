package tests

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
)

// outgrown is more directories than a 16 bit link count can count.
const outgrown = 100_000

func TestScaleEveryToolSeesEveryDevice(t *testing.T) {
	count := scale(20_000, 100_000)
	d := start(t, "--devices", strconv.Itoa(count))
	t.Logf("ready with %d devices after %v, resident %d KiB", count, d.ready, d.resident(t))
	names := deviceNames(t, d.dir)
	// A tree has a lo beside what was asked for, or counts it among them.
	require.Contains(t, []int{count, count + 1}, len(names))

	ls := d.sh(t, `ls class/net`)
	assert.Len(t, uniqueLines(t, ls), len(names), "ls")
	long := d.sh(t, `ls -l class/net | grep -- '->'`)
	assert.Len(t, uniqueLines(t, long), len(names), "ls -l")
	assert.NotContains(t, long, "?")
	// Some of the synthetic devices have a parent on a bus.
	find := d.sh(t, `find devices -path '*/net/*' -prune -print`)
	assert.Len(t, uniqueLines(t, find), len(names), "find")
	// The link subsystem leads back: find says so of each device, as in sysfs.
	const loops = `2>&1 | grep -av 'File system loop detected'`
	mtus := d.sh(t, `(find -L class/net -maxdepth 2 -name mtu || true) `+loops)
	assert.Len(t, uniqueLines(t, mtus), len(names), "find -L -maxdepth 2")
	// grep -r over one attribute: every ifindex is there, and no two are the same.
	indexes := d.sh(t, `ls class/net | sed 's|.*|class/net/&/ifindex|' | tr '\n' '\0' | xargs -0 grep -h .`)
	assert.Len(t, uniqueLines(t, indexes), len(names), "grep")
	t.Logf("resident %d KiB after everything was read", d.resident(t))
}

// fts counts down link counts to know when it has seen all directories: a find
// that descends is right only where the count is exact, or 0 for unknown.
func TestScaleFindDescendsIntoEveryDevice(t *testing.T) {
	d := start(t, "--devices", strconv.Itoa(outgrown))
	found := d.sh(t, `find devices/virtual/net -maxdepth 2 -name statistics -type d`)
	assert.Len(t, uniqueLines(t, found), len(subdirectories(t, filepath.Join(d.dir, "devices/virtual/net"))))
}

func TestScaleLinkCountSaturatesAtItsWidth(t *testing.T) {
	for _, c := range []struct {
		name      string
		args      []string
		saturates bool
	}{
		{"16 bits by default", []string{"--devices", strconv.Itoa(outgrown)}, true},
		{"16 bits", []string{"--devices", strconv.Itoa(outgrown), "--nlink-bits", "16"}, true},
		{"32 bits", []string{"--devices", strconv.Itoa(outgrown), "--nlink-bits", "32"}, false},
		{"few devices", []string{"--devices", "1000"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start(t, c.args...)
			want := "0"
			if !c.saturates {
				want = strconv.Itoa(2 + len(subdirectories(t, filepath.Join(d.dir, "devices/virtual/net"))))
			}
			assert.Equal(t, want, strings.TrimSpace(d.sh(t, "stat -c %h devices/virtual/net")))
		})
	}
}

func TestScaleRealDevicesAreAllMirrored(t *testing.T) {
	count := scale(2000, 100_000)
	ns := newCrowd(t, count)
	begin := time.Now()
	dumped := len(strings.Split(strings.TrimSpace(ns.Run("ip", "-o", "link")), "\n"))
	dump := time.Since(begin)
	d := start(t, "--netns", ns.Path())
	t.Logf("%d devices: ip link dumps them in %v, ready after %v, resident %d KiB", dumped, dump, d.ready, d.resident(t))
	assert.Len(t, deviceNames(t, d.dir), dumped)
	assert.Len(t, uniqueLines(t, d.sh(t, `ls -l class/net | grep -- '->'`)), dumped)
}

// resident returns the daemon's resident memory in KiB.
func (d *daemon) resident(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.pid))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(status), "VmRSS:")
	require.True(t, found)
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	return kib
}

// sh runs a shell command in the mount and returns what it printed. It must
// succeed and complain about nothing.
func (d *daemon) sh(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", command)
	cmd.Dir = d.dir
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaints
	begin := time.Now()
	require.NoError(t, cmd.Run(), "%s: %.500s", command, &complaints)
	assert.Empty(t, complaints.String(), command)
	t.Logf("%8v %s", time.Since(begin).Round(time.Millisecond), command)
	return out.String()
}

// uniqueLines returns the set of lines, and fails where one comes twice.
func uniqueLines(t *testing.T, text string) map[string]bool {
	t.Helper()
	set, twice := map[string]bool{}, 0
	for line := range strings.Lines(text) {
		if set[line] {
			twice++
		}
		set[line] = true
	}
	assert.Zero(t, twice, "lines that came twice")
	return set
}

// deviceNames lists class/net, where no name may come twice.
func deviceNames(t *testing.T, mnt string) map[string]bool {
	t.Helper()
	entries, err := listDir(filepath.Join(mnt, "class/net"))
	require.NoError(t, err)
	names := map[string]bool{}
	for _, e := range entries {
		if e.name == "." || e.name == ".." || e.name == "bonding_masters" {
			continue
		}
		assert.False(t, names[e.name], "%s came twice", e.name)
		names[e.name] = true
	}
	return names
}

func subdirectories(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all
}
