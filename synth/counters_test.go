package synth

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestCountersMoveAtTheirRate(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newPopulation(t, Config{Devices: 4000, Rate: 1000, Clock: func() time.Time { return now }})
	before := map[uint32]uint64{}
	for index := range p.devices.all(0, maxIndex) {
		before[index] = number(t, p, index, "rx_packets")
	}
	now = now.Add(100 * time.Second)
	var sum, moving float64
	for index, d := range p.devices.all(0, maxIndex) {
		moved := number(t, p, index, "rx_packets") - before[index]
		if !running(d.link) {
			require.Zero(t, moved, "%s has no carrier", d.link.Name)
			continue
		}
		require.GreaterOrEqual(t, moved, uint64(50_000))
		require.LessOrEqual(t, moved, uint64(150_000))
		sum += float64(moved)
		moving++
	}
	assert.InEpsilon(t, 100_000, sum/moving, 0.05)
}

func TestCountersNeverFall(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newPopulation(t, Config{Devices: 100, Rate: 12345, Clock: func() time.Time { return now }})
	names, err := p.List(netdev.Dir{Index: loIndex}, "statistics")
	require.NoError(t, err)
	require.Len(t, names, 24)
	last := map[string]uint64{}
	for step := range 30 {
		now = now.Add(time.Duration(step) * 777 * time.Millisecond)
		if step%10 == 9 {
			now = now.Add(-time.Second) // a clock may be set back
		}
		for index := range p.devices.all(0, maxIndex) {
			if step%3 == 1 && index != loIndex {
				require.NoError(t, p.Set(index, func(l *netdev.Link) { l.Flags ^= syscall.IFF_UP }))
			}
			for _, e := range names {
				key := strconv.Itoa(int(index)) + e.Name
				n := number(t, p, index, e.Name)
				if step%10 != 9 {
					require.GreaterOrEqual(t, n, last[key], key)
				}
				last[key] = n
			}
		}
	}
}

func TestCountersStandStillAtRate0(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newPopulation(t, Config{Devices: 100, Clock: func() time.Time { return now }})
	before := number(t, p, 1, "rx_bytes")
	now = now.Add(time.Hour)
	assert.Equal(t, before, number(t, p, 1, "rx_bytes"))
}

func TestCountersOfAYearDoNotOverflow(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newPopulation(t, Config{Devices: 2, Rate: 100_000_000, Clock: func() time.Time { return now }})
	before := number(t, p, 1, "rx_bytes")
	now = now.Add(365 * 24 * time.Hour)
	assert.Greater(t, number(t, p, 1, "rx_bytes"), before)
	assert.Greater(t, number(t, p, 1, "rx_packets"), uint64(1e15))
}

func TestBothEndsOfACableTellTheSame(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newPopulation(t, Config{Devices: 1000, Rate: 500, Clock: func() time.Time { return now }})
	now = now.Add(time.Minute)
	d := pick(t, p, kindVeth, all(carrier, here))
	a, b := d.link.Index, d.peer()
	assert.Equal(t, number(t, p, a, "rx_packets"), number(t, p, b, "tx_packets"))
	assert.Equal(t, number(t, p, a, "tx_bytes"), number(t, p, b, "rx_bytes"))
	assert.Equal(t, number(t, p, loIndex, "tx_bytes"), number(t, p, loIndex, "rx_bytes"))
}

func TestNewDevicesCountFrom0(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newPopulation(t, Config{Devices: 10, Rate: 500, Clock: func() time.Time { return now }})
	now = now.Add(time.Minute)
	r, err := p.Add(100)
	require.NoError(t, err)
	for index := r.First; index <= r.Last; index++ {
		require.Zero(t, number(t, p, index, "rx_packets"))
	}
}

func number(tb testing.TB, p *Population, index uint32, name string) uint64 {
	tb.Helper()
	text := mustRead(tb, p, index, "statistics/"+name)
	n, err := strconv.ParseUint(strings.TrimSuffix(text, "\n"), 10, 64)
	require.NoError(tb, err)
	return n
}
