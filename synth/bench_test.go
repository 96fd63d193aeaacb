package synth

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
)

// atOnce is the batch that the design's numbers are about.
const atOnce = 128_000

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newPopulation(b, Config{Devices: n})
			}
		})
	}
}

func BenchmarkAdd128000(b *testing.B) {
	p := newPopulation(b, Config{Devices: 1000})
	drain(b, p)
	b.ReportAllocs()
	for b.Loop() {
		r, err := p.Add(atOnce)
		require.NoError(b, err)
		b.StopTimer()
		p.Del(r)
		b.StartTimer()
	}
}

func BenchmarkDel128000(b *testing.B) {
	p := newPopulation(b, Config{Devices: 1000})
	drain(b, p)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r, err := p.Add(atOnce)
		require.NoError(b, err)
		b.StartTimer()
		p.Del(r)
	}
}

func BenchmarkDelMillion(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		p := newPopulation(b, Config{Devices: 1_000_000})
		drain(b, p)
		b.StartTimer()
		p.Del(Range{0, maxIndex})
	}
}

func BenchmarkFirstBatch(b *testing.B) {
	p := newPopulation(b, Config{Devices: 1_000_000})
	for b.Loop() {
		p.listen()
	}
}

func BenchmarkRead(b *testing.B) {
	p := newPopulation(b, Config{Devices: 100_000, Rate: 1000})
	buf := make([]byte, 4096)
	d := netdev.Dir{Index: 4711, Path: "devices/virtual/net/" + p.Link(4711).Name}
	for _, path := range []string{"statistics/rx_bytes", "flags", "mtu", "queues/tx-0/tx_timeout", "power/control"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Read(d, path, buf, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	p := newPopulation(b, Config{Devices: 1000})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.List(netdev.Dir{Index: 4}, "")
	}
}

// drain reads a population's batches as a mirror would.
func drain(b *testing.B, p *Population) {
	b.Helper()
	ch := start(b, p)
	<-ch
	go func() {
		for range ch { // ends when start closes it
		}
	}()
}
