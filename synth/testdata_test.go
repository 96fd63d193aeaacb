package synth

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// entry is one line of a fixture: what stat and read say of one path.
type entry struct {
	meta, value string
}

// free are the values that differ from device to device.
var free = []string{
	"address", "ifindex", "iflink", "ifalias", "mtu", "netdev_group", "uevent", "owner", "group",
	"brforward", "bridge/bridge_id", "bridge/root_id", "bridge/gc_timer",
	"brport/designated_bridge", "brport/designated_root", "brport/forward_delay_timer",
}

// TestKindsLookLikeRealDevices holds each template against a real device in the
// same state: every path, type, mode, link count, size, content and errno.
func TestKindsLookLikeRealDevices(t *testing.T) {
	p := newPopulation(t, Config{Devices: 20_000, Seed: 7})
	for _, c := range []struct {
		fixture string
		kind    kind
		is      func(d *device) bool
		differ  []string // besides free, on purpose
	}{
		{fixture: "lo", kind: kindLo, is: up4},
		{fixture: "va1", kind: kindVeth, is: all(up4, carrier, single, alone, here)},
		{fixture: "vd0", kind: kindVeth, is: all(down4, single, here, downAbove(p))},
		{fixture: "vh0", kind: kindVeth, is: all(up4, noCarrier, single, alone)},
		{fixture: "brp0", kind: kindVeth, is: all(up4, carrier, single, port(1))},
		{fixture: "brp1", kind: kindVeth, is: all(up4, noCarrier, single, port(2))},
		{fixture: "br0", kind: kindBridge, is: all(up4, carrier), differ: []string{"addr_assign_type"}},
		{fixture: "br1", kind: kindBridge, is: all(down4, alone, func(d *device) bool { return d.ports == 0 }), differ: []string{"addr_assign_type"}},
		{fixture: "ifbx", kind: kindIfb, is: all(up4, single)},
		{fixture: "ifbd", kind: kindIfb, is: all(down4, single)},
		{fixture: "ifbq", kind: kindIfb, is: all(down4, func(d *device) bool { return d.queues() == 4 })},
		{fixture: "mv0", kind: kindMacvlan, is: all(up4, carrier, overVeth(p))},
		{fixture: "mvd0", kind: kindMacvlan, is: all(down4, overVeth(p))},
		{fixture: "vxl0", kind: kindVxlan, is: all(up4, func(d *device) bool { return d.link.Lower == 0 })},
		{fixture: "vxl1", kind: kindVxlan, is: all(down4, func(d *device) bool { return d.link.Lower != 0 })},
		{fixture: "tap0", kind: kindTap, is: all(up4, noCarrier, func(d *device) bool { return d.link.NumTxQueues == 1 })},
		{fixture: "tapmq", kind: kindTap, is: all(down4, func(d *device) bool { return d.link.NumTxQueues > 1 && !d.has(plugged) })},
	} {
		t.Run(c.fixture, func(t *testing.T) {
			d := pick(t, p, c.kind, c.is)
			got, want := look(t, p, d), readFixture(t, c.fixture)
			assert.Equal(t, sortedKeys(want), sortedKeys(got), "paths")
			for path, w := range want {
				g := got[path]
				assert.Equal(t, w.meta, g.meta, "%s of %s", path, d.link.Name)
				if slices.Contains(free, path) || slices.Contains(c.differ, path) || strings.HasPrefix(path, "statistics/") {
					w.value = kindOfValue(w.value)
					g.value = kindOfValue(g.value)
				}
				assert.Equal(t, w.value, g.value, "%s of %s", path, d.link.Name)
			}
		})
	}
}

// kindOfValue tells errors and contents apart where contents may differ.
func kindOfValue(v string) string {
	if strings.HasPrefix(v, "! ") {
		return v
	}
	return "content"
}

func up4(d *device) bool       { return d.link.Up() }
func down4(d *device) bool     { return !d.link.Up() }
func carrier(d *device) bool   { return d.link.Carrier == 1 }
func noCarrier(d *device) bool { return d.link.Carrier == 0 }
func single(d *device) bool    { return d.queues() == 1 && d.link.NumTxQueues <= 2 }
func alone(d *device) bool     { return d.above == 0 && d.link.Master == 0 }
func here(d *device) bool      { return d.linked() != 0 }

func port(n uint16) func(*device) bool {
	return func(d *device) bool { return d.link.Master != 0 && d.port == n && d.above == 0 }
}

// downAbove: a macvlan is above that is down, and so nothing that is up.
func downAbove(p *Population) func(*device) bool {
	return func(d *device) bool {
		upper := p.devices.get(d.above)
		return upper != nil && upper.kind == kindMacvlan && upper.nextAbove == 0 && !upper.link.Up()
	}
}

func overVeth(p *Population) func(*device) bool {
	return func(d *device) bool {
		lower := p.devices.get(d.link.Lower)
		return lower != nil && lower.kind == kindVeth
	}
}

func all(conditions ...func(*device) bool) func(*device) bool {
	return func(d *device) bool {
		for _, c := range conditions {
			if !c(d) {
				return false
			}
		}
		return true
	}
}

// pick returns the first device of a kind that a condition holds for.
func pick(tb testing.TB, p *Population, k kind, is func(*device) bool) *device {
	tb.Helper()
	for _, d := range p.devices.all(0, maxIndex) {
		if d.kind == k && is(d) {
			return d
		}
	}
	tb.Fatalf("no %s in that state", templates[k].name)
	return nil
}

// look walks a device's directory. Links that follow other devices, of which any
// number may be there, are one path each.
func look(tb testing.TB, p *Population, d *device) map[string]entry {
	tb.Helper()
	got := make(map[string]entry)
	var visit func(path string)
	visit = func(path string) {
		st, err := p.Stat(dirOf(d), path)
		require.NoError(tb, err, path)
		got[relationless(path)] = entry{metaOf(st), valueOf(tb, p, d, path, st)}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return
		}
		list, err := p.List(dirOf(d), path)
		require.NoError(tb, err, path)
		for _, e := range list {
			visit(under(path, e.Name))
		}
	}
	visit("")
	return got
}

// relationless names links that follow other devices as the tables do.
func relationless(path string) string {
	for _, prefix := range []string{"upper_", "lower_", "brif/"} {
		if strings.HasPrefix(path, prefix) {
			return prefix + "*"
		}
	}
	return path
}

func metaOf(st netdev.Stat) string {
	letter := map[uint32]string{unix.S_IFDIR: "d", unix.S_IFLNK: "l", unix.S_IFREG: "f"}[st.Mode&unix.S_IFMT]
	return fmt.Sprintf("%s %04o %d %d", letter, st.Mode&0o7777, st.Nlink, st.Size)
}

func valueOf(tb testing.TB, p *Population, d *device, path string, st netdev.Stat) string {
	tb.Helper()
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return ""
	case unix.S_IFLNK:
		target, err := p.Readlink(dirOf(d), path)
		require.NoError(tb, err, path)
		return anyTarget(path, target)
	}
	text, err := readAll(p, dirOf(d), path)
	if err != nil {
		var errno syscall.Errno
		require.ErrorAs(tb, err, &errno, path)
		return "! " + unix.ErrnoName(errno)
	}
	return text
}

// anyTarget leaves only the way up, and what isn't a name, of a target that
// depends on names.
func anyTarget(path, target string) string {
	if path == "subsystem" || path == "device" {
		return target
	}
	parts := strings.Split(target, "/")
	for i, part := range parts {
		if part != ".." && part != "brport" {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

func readFixture(tb testing.TB, name string) map[string]entry {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".txt"))
	require.NoError(tb, err)
	defer f.Close()
	want := make(map[string]entry)
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		parts := strings.SplitN(s.Text(), " ", 6)
		require.GreaterOrEqual(tb, len(parts), 5, s.Text())
		path := strings.TrimPrefix(parts[4], ".")
		value := ""
		if len(parts) > 5 {
			value = parts[5]
		}
		if target, ok := strings.CutPrefix(value, "-> "); ok {
			value = anyTarget(path, target)
		} else if text, err := strconv.Unquote(value); err == nil {
			value = text
		}
		want[relationless(path)] = entry{strings.Join(parts[:4], " "), value}
	}
	return want
}

func sortedKeys(m map[string]entry) []string { return slices.Sorted(maps.Keys(m)) }

func dirOf(d *device) netdev.Dir {
	return netdev.Dir{Path: devicePath(d), Index: d.link.Index, Serial: netdev.Serial(d.link.Index)}
}

func readAll(f netdev.Files, d netdev.Dir, path string) (string, error) {
	size := pageSize
	if path == brforward {
		size = (maxPort + 1) * recordSize
	}
	b := make([]byte, size)
	n, err := f.Read(d, path, b, 0)
	return string(b[:n]), err
}

// everyKind is the default mix and a few ports to the world.
const everyKind = "veth=58,ifb=20,dummy=2,bridge=2,macvlan=10,vxlan=5,tap=2,pci=1"

// newPopulation has every kind where c doesn't ask for some.
func newPopulation(tb testing.TB, c Config) *Population {
	tb.Helper()
	if c.Kinds == nil && c.Names == nil {
		var err error
		c.Kinds, err = ParseKinds(everyKind)
		require.NoError(tb, err)
	}
	p, err := New(c)
	require.NoError(tb, err)
	return p
}
