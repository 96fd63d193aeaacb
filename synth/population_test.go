package synth

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestNewMakesAsManyAsAsked(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 255, 256, 257, 4097} {
		p := newPopulation(t, Config{Devices: n})
		assert.Equal(t, n, p.Len())
		lo := p.Link(loIndex)
		require.NotNil(t, lo)
		assert.Equal(t, "lo", lo.Name)
		check(t, p)
	}
}

func TestSameSeedSamePopulation(t *testing.T) {
	const n = 5000
	c := Config{Devices: n, Seed: 42}
	a, b := newPopulation(t, c), newPopulation(t, c)
	for _, p := range []*Population{a, b} {
		p.Del(Range{100, 300})
		_, err := p.Add(500)
		require.NoError(t, err)
	}
	c.Seed++
	other := newPopulation(t, c)
	same := 0
	for index, d := range a.devices.all(0, maxIndex) {
		require.Equal(t, d.link, b.Link(index))
		require.Equal(t, a.counter(d, "rx_bytes", 0), b.counter(b.devices.get(index), "rx_bytes", 0))
		if l := other.Link(index); l != nil && l.Address == d.link.Address {
			same++
		}
	}
	assert.Equal(t, a.Len(), b.Len())
	assert.LessOrEqual(t, same, 1, "only lo is the same for another seed")
}

func TestMixIsAsAsked(t *testing.T) {
	shares, err := ParseKinds("veth=60,ifb=20,bridge=2,macvlan=10,vxlan=5,tap=2,pci=1")
	require.NoError(t, err)
	const n = 20_000
	p := newPopulation(t, Config{Devices: n, Kinds: shares, Seed: 3})
	var count [kindCount]int
	for _, d := range p.devices.all(0, maxIndex) {
		count[d.kind]++
	}
	for _, s := range shares {
		k, _ := kindNamed(s.Name)
		assert.InEpsilon(t, n*s.Weight/100, count[k], 0.2, s.Name)
	}
	assert.Zero(t, count[kindDummy])
	assert.Equal(t, 1, count[kindLo])
	check(t, p)
}

func TestNamesAloneSayTheKinds(t *testing.T) {
	names, err := ParseNames("dummy%d=3,veth%d")
	require.NoError(t, err)
	p := newPopulation(t, Config{Devices: 1000, Names: names})
	for index, d := range p.devices.all(2, maxIndex) {
		require.Contains(t, []kind{kindDummy, kindVeth}, d.kind, index)
		require.True(t, strings.HasPrefix(d.link.Name, templates[d.kind].name), d.link.Name)
	}
}

func TestOtherNamesNameAllKinds(t *testing.T) {
	names, err := ParseNames("port%d,tap%d")
	require.NoError(t, err)
	p := newPopulation(t, Config{Devices: 1000, Names: names})
	for _, d := range p.devices.all(2, maxIndex) {
		if d.kind != kindTap {
			require.True(t, strings.HasPrefix(d.link.Name, "port"), d.link.Name)
		}
	}
	check(t, p)
}

func TestEveryKindAlone(t *testing.T) {
	for k := kindLo + 1; k < kindCount; k++ {
		t.Run(templates[k].name, func(t *testing.T) {
			p := newPopulation(t, Config{Devices: 300, Kinds: []Share{{templates[k].name, 1}}})
			for _, d := range p.devices.all(2, maxIndex) {
				require.Equal(t, k, d.kind)
			}
			check(t, p)
		})
	}
}

func TestBadConfigsAreRefused(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{}, "devices: 0 is not between 1 and"},
		{Config{Devices: -1}, "devices: -1"},
		{Config{Devices: MaxDevices + 1}, "is not between 1 and"},
		{Config{Devices: 5, Kinds: []Share{{"vlan", 1}}}, `"vlan" is unknown, there are veth, ifb`},
		{Config{Devices: 5, Kinds: []Share{{"lo", 1}}}, `"lo" is unknown`},
		{Config{Devices: 5, Kinds: []Share{{"veth", 0}}}, "all weights are 0"},
		{Config{Devices: 5, Names: []Share{{"veth", 1}}}, "exactly one %d"},
		{Config{Devices: 50, Names: []Share{{"fourteenletter%d", 1}}}, "all 10 names are taken"},
	} {
		_, err := New(c.config)
		require.ErrorContains(t, err, c.want)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestAddSaysWhatItMade(t *testing.T) {
	p := newPopulation(t, Config{Devices: 10})
	r, err := p.Add(1000)
	require.NoError(t, err)
	assert.Equal(t, Range{11, 1010}, r)
	assert.Equal(t, 1010, p.Len())
	for _, bad := range []int{0, -5, MaxDevices + 1} {
		_, err = p.Add(bad)
		require.Error(t, err)
	}
}

func TestAddKeepsWhatItMadeBeforeNamesRanOut(t *testing.T) {
	p := newPopulation(t, Config{Devices: 6, Names: []Share{{"fourteenletter%d", 1}}})
	r, err := p.Add(20)
	require.ErrorContains(t, err, "added 5 of 20")
	assert.Equal(t, Range{7, 11}, r)
	assert.Equal(t, 11, p.Len())
	check(t, p)
}

func TestIfindexesAreNeverUsedAgain(t *testing.T) {
	p := newPopulation(t, Config{Devices: 100})
	assert.Equal(t, 99, p.Del(Range{0, maxIndex}))
	assert.Equal(t, 1, p.Len(), "lo stays")
	r, err := p.Add(10)
	require.NoError(t, err)
	assert.Equal(t, uint32(101), r.First)
	for index := range p.devices.all(2, maxIndex) {
		name := p.Link(index).Name
		assert.Regexp(t, `\D\d$`, name, "names are used again")
	}
}

func TestDelTakesWhatCannotBeWithout(t *testing.T) {
	p := newPopulation(t, Config{Devices: 5000, Seed: 1})
	lower := pick(t, p, kindVeth, func(d *device) bool { return d.above != 0 && d.peer() != 0 })
	gone := []uint32{lower.link.Index, lower.peer()}
	for index := range p.devices.stacked(lower) {
		gone = append(gone, index)
	}
	for index := range p.devices.stacked(p.devices.get(lower.peer())) {
		gone = append(gone, index)
	}
	n := p.Del(Range{lower.link.Index, lower.link.Index})
	assert.Len(t, gone, n)
	for _, index := range gone {
		assert.Nil(t, p.Link(index))
	}
	check(t, p)
}

func TestDelOfABridgeReleasesItsPorts(t *testing.T) {
	p := newPopulation(t, Config{Devices: 5000, Seed: 1})
	bridge := pick(t, p, kindBridge, func(d *device) bool { return d.ports != 0 })
	var ports []uint32
	for index := range p.devices.portsOf(bridge) {
		ports = append(ports, index)
	}
	assert.Equal(t, 1, p.Del(Range{bridge.link.Index, bridge.link.Index}))
	for _, index := range ports {
		l := p.Link(index)
		assert.Zero(t, l.Master)
		assert.Empty(t, l.Slave)
	}
	check(t, p)
}

func TestDelOfNothing(t *testing.T) {
	p := newPopulation(t, Config{Devices: 5})
	assert.Zero(t, p.Del())
	assert.Zero(t, p.Del(Range{1, 1}, Range{100, 200}, Range{4, 3}))
	assert.Equal(t, 5, p.Len())
}

func TestRename(t *testing.T) {
	p := newPopulation(t, Config{Devices: 10, Kinds: []Share{{"dummy", 1}}})
	require.NoError(t, p.Rename(2, "wan"))
	index, ok := p.Lookup("wan")
	assert.True(t, ok)
	assert.EqualValues(t, 2, index)
	assert.Equal(t, "wan", p.Link(2).Name)
	assert.Equal(t, "4\n", mustRead(t, p, 2, "name_assign_type"))
	require.NoError(t, p.Rename(2, "wan"))

	for _, c := range []struct {
		index uint32
		name  string
		want  syscall.Errno
	}{
		{99, "x", syscall.ENODEV},
		{loIndex, "x", syscall.EPERM},
		{3, "wan", syscall.EEXIST},
		{3, "lo", syscall.EEXIST},
		{3, "", syscall.EINVAL},
		{3, "a b", syscall.EINVAL},
		{3, "sixteen-letters!", syscall.EINVAL},
		{3, "eth%d", syscall.EINVAL},
		{3, "..", syscall.EINVAL},
	} {
		assert.Equal(t, c.want, p.Rename(c.index, c.name), c.name)
	}
	_, err := p.Add(1)
	require.NoError(t, err)
	index, ok = p.Lookup("dummy0")
	assert.True(t, ok, "the name that was given up is the lowest free one")
	assert.EqualValues(t, 11, index)
	check(t, p)
}

func TestSetMovesPortsBetweenBridges(t *testing.T) {
	p := newPopulation(t, Config{Devices: 2000, Seed: 2})
	a := pick(t, p, kindBridge, up4)
	b := pick(t, p, kindBridge, func(d *device) bool { return d != a && d.ports == 0 })
	nic := pick(t, p, kindPCI, func(d *device) bool { return d.place != 0 })
	place := nic.place
	for _, bridge := range []uint32{a.link.Index, b.link.Index, 0, b.link.Index} {
		require.NoError(t, p.Set(nic.link.Index, func(l *netdev.Link) { l.Master = bridge }))
		check(t, p)
	}
	assert.Equal(t, place, nic.place)
	assert.Equal(t, "0x8001\n", mustRead(t, p, nic.link.Index, "brport/port_id"))
	p.Del(Range{nic.link.Index, nic.link.Index})
	check(t, p)
}

func TestSetRefusesToMakeAnotherDevice(t *testing.T) {
	p := newPopulation(t, Config{Devices: 500})
	veth := pick(t, p, kindVeth, here).link.Index
	bridge := pick(t, p, kindBridge, up4).link.Index
	for name, change := range map[string]func(*netdev.Link){
		"index":                     func(l *netdev.Link) { l.Index = 7777 },
		"name":                      func(l *netdev.Link) { l.Name = "x" },
		"kind":                      func(l *netdev.Link) { l.Kind = "x" },
		"lower":                     func(l *netdev.Link) { l.Lower = loIndex },
		"port of what is no bridge": func(l *netdev.Link) { l.Master = loIndex },
		"port of nothing":           func(l *netdev.Link) { l.Master = 7777 },
	} {
		assert.Equal(t, syscall.EINVAL, p.Set(veth, change), name)
	}
	assert.Equal(t, syscall.EINVAL, p.Set(bridge, func(l *netdev.Link) { l.Master = bridge }))
	assert.Equal(t, syscall.ENODEV, p.Set(7777, func(*netdev.Link) {}))
	check(t, p)
}

func TestLinksAreNeverChangedOnceHandedOver(t *testing.T) {
	p := newPopulation(t, Config{Devices: 2000, Seed: 5})
	before := make(map[*netdev.Link]netdev.Link)
	for _, d := range p.devices.all(0, maxIndex) {
		before[d.link] = *d.link
	}
	churn(t, p, 300, 1)
	for l, was := range before {
		require.Equal(t, was, *l)
	}
}

func TestChurnKeepsAllInLine(t *testing.T) {
	for seed := range uint64(3) {
		p := newPopulation(t, Config{Devices: 400, Seed: seed})
		for i := range uint64(12) {
			churn(t, p, 40, seed<<8|i)
			check(t, p)
		}
	}
}

func TestPopulationFromManyGoroutines(t *testing.T) {
	p := newPopulation(t, Config{Devices: 2000, Rate: 1000})
	var wg sync.WaitGroup
	for g := range uint64(3) {
		wg.Go(func() { churn(t, p, 60, g) })
		wg.Go(func() {
			for i := range uint32(4000) {
				d := netdev.Dir{Index: 1 + i%3000}
				_, _ = readAll(p, d, "statistics/rx_bytes")
				_, _ = readAll(p, d, "flags")
				_, _ = p.List(d, "")
				_, _ = p.Stat(netdev.Dir{Path: virtualNet}, "")
				p.Ask([]uint32{i})
			}
		})
	}
	m := newMirror()
	stop := m.follow(t, p)
	wg.Wait()
	require.Eventually(t, func() bool { return m.equal(p) }, 10*time.Second, 5*time.Millisecond)
	stop()
	check(t, p)
}

// TestMillionDevicesFitIn150BytesEach leaves the Links out of the sum: the
// mirror shares them.
func TestMillionDevicesFitIn150BytesEach(t *testing.T) {
	if testing.Short() {
		t.Skip("a million devices take seconds")
	}
	const n = 1_000_000
	before := heap()
	start := time.Now()
	p := newPopulation(t, Config{Devices: n, Seed: 1, Rate: 1000})
	took := time.Since(start)
	perDevice := float64(heap()-before) / n
	const link = 160 + 16 // a Link's size class, its name and address
	t.Logf("%d devices in %v: %.0f bytes each, %.0f beside the Link", n, took, perDevice, perDevice-link)
	assert.Less(t, perDevice-link, 150.0)
	runtime.KeepAlive(p)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// churn makes random changes by all control methods.
func churn(tb testing.TB, p *Population, n int, seed uint64) {
	tb.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	for range n {
		p.ctl.Lock()
		last := p.next
		p.ctl.Unlock()
		index := 2 + r.Uint32N(last)
		switch r.IntN(8) {
		case 0:
			_, err := p.Add(1 + r.IntN(30))
			assert.NoError(tb, err)
		case 1:
			p.Del(Range{index, index + r.Uint32N(10)}, Range{index + 5, index + 7})
		case 2:
			_ = p.Rename(index, fmt.Sprintf("veth%d", r.IntN(2000)))
		case 3:
			_ = p.Set(index, func(l *netdev.Link) { l.Flags ^= syscall.IFF_UP })
		case 4:
			_ = p.Set(index, func(l *netdev.Link) { l.Carrier ^= 1 })
		case 5:
			_ = p.Set(index, func(l *netdev.Link) { l.MTU = 1280 + r.Uint32N(300) })
		case 6:
			_ = p.Set(index, func(l *netdev.Link) { l.Master = 0 })
		case 7:
			bridge := 2 + r.Uint32N(last)
			_ = p.Set(index, func(l *netdev.Link) { l.Master = bridge })
		}
	}
}

// check verifies all that must hold between changes.
func check(tb testing.TB, p *Population) {
	tb.Helper()
	p.ctl.Lock()
	defer p.ctl.Unlock()
	names, addresses := map[string]bool{}, map[netdev.HWAddr]bool{}
	live, places := 0, 0
	for index, d := range p.devices.all(0, maxIndex) {
		live++
		l := d.link
		require.Equal(tb, index, l.Index)
		require.False(tb, names[l.Name], "name %s twice", l.Name)
		require.False(tb, addresses[l.Address], "address of %s twice", l.Name)
		names[l.Name], addresses[l.Address] = true, true
		owner, ok := p.names.find(l.Name)
		require.True(tb, ok && owner == index, "name %s is %d's", l.Name, owner)
		require.True(tb, validName(l.Name), l.Name)
		if d.kind == kindPCI {
			places++
			require.Equal(tb, index, p.cards[d.place])
		}
		checkState(tb, p, d)
	}
	require.Equal(tb, live, p.devices.live)
	cards := 0
	for n, index := range p.cards {
		require.Equal(tb, index != 0, p.slots.has(n))
		if index != 0 {
			cards++
		}
	}
	require.Equal(tb, places, cards)
}

func checkState(tb testing.TB, p *Population, d *device) {
	tb.Helper()
	l := *d.link
	p.derive(d, &l)
	require.Equal(tb, *d.link, l, "what follows from the state is in line")
	require.Equal(tb, l.CarrierCount, l.CarrierUp+l.CarrierDown, l.Name)
	require.Equal(tb, l.Up() && l.Carrier == 1, running(&l), l.Name)
	if d.kind != kindLo {
		require.EqualValues(tb, 2, l.Address[0]&3, "%s is locally administered", l.Name)
	}
	if peer := p.devices.get(d.peer()); d.peer() != 0 {
		require.Equal(tb, l.Index, peer.peer(), "peers of each other")
		require.Equal(tb, l.Carrier, peer.link.Carrier, "%s: one cable", l.Name)
	}
	if lower := p.devices.get(d.under()); d.under() != 0 {
		require.NotNil(tb, lower)
		require.True(tb, contains(p.devices.stacked(lower), l.Index), "%s is above %s", l.Name, lower.link.Name)
		if d.kind == kindMacvlan {
			require.LessOrEqual(tb, l.MTU, lower.link.MTU)
		}
	}
	require.Equal(tb, l.Master != 0, l.Slave == bridgeSlave)
	if l.Master != 0 {
		m := p.devices.get(l.Master)
		require.NotNil(tb, m)
		require.Equal(tb, kindBridge, m.kind)
		require.True(tb, contains(p.devices.portsOf(m), l.Index))
		require.NotZero(tb, d.port)
	}
	numbers := map[uint16]bool{}
	for index, port := range p.devices.portsOf(d) {
		require.Equal(tb, l.Index, port.link.Master, index)
		require.False(tb, numbers[port.port], "port number twice")
		numbers[port.port] = true
	}
}

func contains(seq func(func(uint32, *device) bool), want uint32) bool {
	for index := range seq {
		if index == want {
			return true
		}
	}
	return false
}

func mustRead(tb testing.TB, p *Population, index uint32, path string) string {
	tb.Helper()
	s, err := readAll(p, netdev.Dir{Index: index}, path)
	require.NoError(tb, err, path)
	return s
}
