package synth

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// TestFilesAgreeWithLinks compares every file of some hundred devices of all
// kinds with what the mirror shows of the Link.
func TestFilesAgreeWithLinks(t *testing.T) {
	p := newPopulation(t, Config{Devices: 3000, Seed: 11})
	var seen [kindCount]int
	for _, d := range p.devices.all(0, maxIndex) {
		if seen[d.kind]++; seen[d.kind] > 40 {
			continue
		}
		v := &attr.Values{Link: d.link, Modes: p.modes(d)}
		for i := range attr.Rows {
			row := &attr.Rows[i]
			if row.Show == nil || row.ClassOf(d.link) != attr.Mirrored {
				continue
			}
			if _, err := p.Stat(dirOf(d), row.Path); err != nil {
				assert.True(t, strings.HasPrefix(row.Path, "phys_"), row.Path)
				continue
			}
			text, want := row.Show(nil, v)
			got, err := readAll(p, dirOf(d), row.Path)
			require.Equal(t, want, err, "%s/%s", d.link.Name, row.Path)
			if want == nil {
				require.Equal(t, string(text), got, "%s/%s", d.link.Name, row.Path)
			}
		}
	}
	for k, n := range seen {
		assert.NotZero(t, n, templates[k].name)
	}
}

// Whatever a directory lists can be looked up and is what the list says, and
// what has no content says why.
func TestAllThatIsListedIsThere(t *testing.T) {
	p := newPopulation(t, Config{Devices: 2000, Seed: 12, Rate: 100})
	var seen [kindCount]int
	for _, d := range p.devices.all(0, maxIndex) {
		if seen[d.kind]++; seen[d.kind] <= 20 {
			walk(t, p, dirOf(d), "", 3)
		}
	}
	walk(t, p, netdev.Dir{Path: "class/net"}, "", 0)
	walk(t, p, netdev.Dir{Path: "devices/virtual/net"}, "", 0)
	pci := pick(t, p, kindPCI, up4)
	walk(t, p, netdev.Dir{Path: "devices/" + pciPath(pci.place)}, "", 1)
	walk(t, p, netdev.Dir{}, "", 0)
	walk(t, p, netdev.Dir{Path: "devices"}, "", 0)
}

func walk(t *testing.T, p *Population, d netdev.Dir, path string, depth int) {
	t.Helper()
	list, err := p.List(d, path)
	require.NoError(t, err, "%v/%s", d, path)
	seen := map[string]bool{}
	subdirs := uint32(0)
	for _, e := range list {
		require.False(t, seen[e.Name], "%s twice", e.Name)
		seen[e.Name] = true
		full := under(path, e.Name)
		st, err := p.Stat(d, full)
		require.NoError(t, err, "%v/%s", d, full)
		require.Equal(t, uint32(e.Type), st.Mode&unix.S_IFMT>>12, full)
		require.NotZero(t, st.Ino)
		wrongType(t, p, d, full, e.Type)
		if e.Type == unix.DT_DIR {
			subdirs++
			if depth > 0 {
				walk(t, p, d, full, depth-1)
			}
		}
	}
	st, err := p.Stat(d, path)
	require.NoError(t, err)
	require.EqualValues(t, unix.S_IFDIR|0o755, st.Mode)
	if d.Path != classNet {
		require.Equal(t, 2+subdirs, st.Nlink, "%v/%s", d, path)
	}
}

func wrongType(t *testing.T, p *Population, d netdev.Dir, path string, typ uint8) {
	t.Helper()
	_, listErr := p.List(d, path)
	_, linkErr := p.Readlink(d, path)
	_, readErr := readAll(p, d, path)
	switch typ {
	case unix.DT_DIR:
		require.Equal(t, []error{nil, syscall.EINVAL, syscall.EISDIR}, []error{listErr, linkErr, readErr}, path)
	case unix.DT_LNK:
		require.Equal(t, []error{syscall.ENOTDIR, nil, syscall.EINVAL}, []error{listErr, linkErr, readErr}, path)
	case unix.DT_REG:
		require.Equal(t, []error{syscall.ENOTDIR, syscall.EINVAL}, []error{listErr, linkErr}, path)
		if readErr != nil {
			require.Contains(t, []error{syscall.EINVAL, syscall.EIO, syscall.ENOENT, syscall.EACCES}, readErr, path)
		}
	}
}

func TestClassLinksLeadToDevices(t *testing.T) {
	p := newPopulation(t, Config{Devices: 2000})
	for index, d := range p.devices.all(0, maxIndex) {
		target, err := p.Readlink(netdev.Dir{Path: "class/net"}, d.link.Name)
		require.NoError(t, err)
		path, ok := strings.CutPrefix(target, "../../")
		require.True(t, ok, target)
		if d.kind == kindPCI {
			require.Regexp(t, `^devices/pci[0-9a-f]{4}:00/.*/net/`+d.link.Name+"$", path)
		}
		text, err := readAll(p, netdev.Dir{Path: path}, "ifindex")
		require.NoError(t, err, "by path, without an ifindex")
		require.Equal(t, mustRead(t, p, index, "ifindex"), text)
	}
}

func TestPCIDeviceHasItsBus(t *testing.T) {
	p := newPopulation(t, Config{Devices: 300, Kinds: []Share{{"pci", 1}}})
	d := p.devices.get(2)
	bus := netdev.Dir{Path: "devices/pci0000:00/0000:00:1f.6"}
	for path, want := range map[string]string{
		"vendor": "0x8086\n", "device": "0x15b7\n", "class": "0x020000\n", "numa_node": "-1\n", "revision": "0x31\n",
		"subsystem_vendor": "0x1028\n", "subsystem_device": "0x06dc\n",
		"modalias": "pci:v00008086d000015B7sv00001028sd000006DCbc02sc00i00\n",
		"uevent": "DRIVER=e1000e\nPCI_CLASS=20000\nPCI_ID=8086:15B7\nPCI_SUBSYS_ID=1028:06DC\nPCI_SLOT_NAME=0000:00:1f.6\n" +
			"MODALIAS=pci:v00008086d000015B7sv00001028sd000006DCbc02sc00i00\n",
	} {
		got, err := readAll(p, bus, path)
		require.NoError(t, err, path)
		assert.Equal(t, want, got, path)
	}
	for _, c := range []struct {
		dir        netdev.Dir
		path, want string
	}{
		{netdev.Dir{Path: classNet}, d.link.Name, "../../devices/pci0000:00/0000:00:1f.6/net/eth0"},
		{bus, "driver", "../../../bus/pci/drivers/e1000e"},
		{bus, "subsystem", "../../../bus/pci"},
		{dirOf(d), "device", "../../../0000:00:1f.6"},
		{dirOf(d), "subsystem", "../../../../../class/net"},
	} {
		got, err := p.Readlink(c.dir, c.path)
		require.NoError(t, err, c.path)
		assert.Equal(t, c.want, got, c.path)
	}
	_, err := p.Stat(bus, "config")
	assert.Equal(t, syscall.ENOENT, err, "not of the closed list")
	assert.Equal(t, "pci", d.link.More.ParentBus)
	assert.Equal(t, "0000:00:1f.6", d.link.More.ParentName)
	p.Del(Range{2, 2})
	_, err = p.Stat(bus, "")
	assert.Equal(t, syscall.ENOENT, err)
	_, err = p.Add(1)
	require.NoError(t, err)
	_, err = p.Stat(bus, "")
	assert.NoError(t, err, "the lowest free place is used first")
}

func TestPCIQueuesAndModels(t *testing.T) {
	p := newPopulation(t, Config{Devices: 200, Kinds: []Share{{"pci", 1}}})
	drivers := map[string]bool{}
	for index, d := range p.devices.all(2, maxIndex) {
		m := modelOf(p.seed, d.place)
		drivers[m.driver] = true
		list, err := p.List(dirOf(d), "queues")
		require.NoError(t, err)
		require.Len(t, list, 2*int(m.queues))
		for path, has := range map[string]bool{
			"phys_port_id": m.hasPortID, "phys_port_name": m.hasPortName, "phys_switch_id": m.hasSwitch,
		} {
			_, err := readAll(p, dirOf(d), path)
			require.Equal(t, has, err == nil, "%s of %s", path, m.driver)
		}
		if m.queues > 1 {
			require.Equal(t, "8\n", mustRead(t, p, index, "queues/tx-3/xps_cpus"))
		}
		if running(d.link) {
			require.Equal(t, "full\n", mustRead(t, p, index, "duplex"))
			require.Contains(t, []string{"1000\n", "10000\n", "25000\n"}, mustRead(t, p, index, "speed"))
		} else if d.link.Up() {
			require.Equal(t, "-1\n", mustRead(t, p, index, "speed"))
		}
	}
	assert.Len(t, drivers, len(models))
}

func TestPCINamesAreReversible(t *testing.T) {
	seen := map[string]bool{}
	for n := range uint32(5000) {
		name := pciName(n)
		require.False(t, seen[pciPath(n)])
		seen[pciPath(n)] = true
		back, ok := pciNumber(name)
		require.True(t, ok, name)
		require.Equal(t, n, back)
	}
	for _, bad := range []string{"", "0000:00:1f.7", "0000:01:00.4", "0000:fe:00.0", "0000:1:00.0", "x", "0:0:0:0:0", "0000.01.00.0", "0000:01:01.0"} {
		_, ok := pciNumber(bad)
		assert.False(t, ok, bad)
	}
}

func TestPathsThatAreNotThere(t *testing.T) {
	p := newPopulation(t, Config{Devices: 1000})
	veth := dirOf(pick(t, p, kindVeth, single))
	for _, path := range []string{
		"x", "bridge", "bridge/bridge_id", "tun_flags", "device", "phys_port_name", "queues/rx-1", "queues/rx-00", "queues/rx-",
		"queues/rx-*", "queues/x-0", "queues/tx-0/byte_queue_limits", "queues/tx-0/byte_queue_limits/limit", "power/async",
		"upper_", "upper_lo", "lower_lo", "brif/lo", "statistics/x", "mtu/x", "tap*", "upper_*", "bonding", "bridge/vlan_filtering",
	} {
		_, err := p.Stat(veth, path)
		assert.Equal(t, syscall.ENOENT, err, path)
		_, err = p.List(veth, path)
		assert.Equal(t, syscall.ENOENT, err, path)
		_, err = readAll(p, veth, path)
		assert.Equal(t, syscall.ENOENT, err, path)
		_, err = p.Readlink(veth, path)
		assert.Equal(t, syscall.ENOENT, err, path)
	}
	for _, path := range []string{
		"class/net/x", "class/net/bonding_masters", "devices/virtual/net/x", "devices/virtual/net/eth0", "devices/pci9999:00", "etc",
		"devices/x/net/lo", "devices/pci0000:00/0000:00:1f.5", "class/net/lo/mtu",
	} {
		_, err := p.Stat(netdev.Dir{}, path)
		assert.Equal(t, syscall.ENOENT, err, path)
	}
}

func TestDirOfAnIfindexIsThatDeviceOrNone(t *testing.T) {
	p := newPopulation(t, Config{Devices: 10, Kinds: []Share{{"dummy", 1}}})
	d := netdev.Dir{Path: "devices/virtual/net/dummy0", Index: 2}
	require.NoError(t, p.Rename(2, "old"))
	require.NoError(t, p.Rename(3, "dummy0"))
	text, err := readAll(p, d, "ifindex")
	require.NoError(t, err)
	assert.Equal(t, "2\n", text, "whatever its path names meanwhile")
	p.Del(Range{2, 2})
	_, err = readAll(p, d, "ifindex")
	assert.Equal(t, syscall.ENOENT, err)
	p.Forget(2)
}

func TestReadsArePieces(t *testing.T) {
	p := newPopulation(t, Config{Devices: 1000, Seed: 1})
	lo := netdev.Dir{Index: loIndex}
	b := make([]byte, 3)
	n, err := p.Read(lo, "mtu", b, 2)
	assert.NoError(t, err)
	assert.Equal(t, "536", string(b[:n]))
	n, err = p.Read(lo, "mtu", b, 100)
	assert.NoError(t, err)
	assert.Zero(t, n)
	_, err = p.Read(lo, "mtu", b, -1)
	assert.Equal(t, syscall.EINVAL, err)

	bridge := dirOf(pick(t, p, kindBridge, func(d *device) bool { return p.devices.get(d.ports) != nil }))
	n, err = p.Read(bridge, "brforward", make([]byte, 31), 0)
	assert.NoError(t, err)
	assert.Equal(t, recordSize, n, "whole records only")
	_, err = p.Read(bridge, "brforward", make([]byte, 31), 8)
	assert.Equal(t, syscall.EINVAL, err)
	n, err = p.Read(bridge, "brforward", make([]byte, 31), 1<<20)
	assert.NoError(t, err)
	assert.Zero(t, n)
}

func TestGCTimerRunsDown(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newPopulation(t, Config{Devices: 1000, Clock: func() time.Time { return now }})
	bridge := pick(t, p, kindBridge, up4).link.Index
	before := mustRead(t, p, bridge, "bridge/gc_timer")
	now = now.Add(10 * time.Millisecond)
	assert.NotEqual(t, before, mustRead(t, p, bridge, "bridge/gc_timer"))
}

func TestBitmapsAreGroupsOf32Bits(t *testing.T) {
	for _, c := range []struct {
		bit, n int
		want   string
	}{
		{-1, 1, "0\n"},
		{0, 1, "1\n"},
		{3, 4, "8\n"},
		{-1, 5, "00\n"},
		{31, 32, "80000000\n"},
		{32, 33, "1,00000000\n"},
		{0, 64, "00000000,00000001\n"},
	} {
		assert.Equal(t, c.want, string(appendBitmap(nil, c.bit, c.n)))
	}
}
