package dirent

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/sysfsd/sysfsd/hashpos"
)

var benchHash = hashpos.Keyed(hashpos.Key{7})

// sizes of the directories measured; bounds of design.md hold at the last.
var sizes = []int{1_000, 100_000, 1_000_000}

func BenchmarkLookup(b *testing.B) {
	eachSize(b, func(b *testing.B, d *Dir, names []string) {
		v := d.View()
		missing := make([]string, 1<<16)
		for i := range missing {
			missing[i] = fmt.Sprintf("tap%d", i)
		}
		b.Run("hit", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				v.Lookup(names[i%len(names)])
			}
		})
		b.Run("miss", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				v.Lookup(missing[i%len(missing)])
			}
		})
	})
}

// A change is one insertion or one removal.
func BenchmarkChange(b *testing.B) {
	eachSize(b, func(b *testing.B, d *Dir, names []string) {
		b.Run("unpublished", func(b *testing.B) { benchChange(b, d, names, func() {}) })
		b.Run("published", func(b *testing.B) { benchChange(b, d, names, func() { d.View() }) })
	})
}

func benchChange(b *testing.B, d *Dir, names []string, publish func()) {
	b.ReportAllocs()
	changes := 0
	for i := 0; b.Loop(); i++ {
		e, _ := d.Remove(names[i%len(names)])
		publish()
		_, _ = d.Insert(e.Name, e.Node, e.Type)
		publish()
		changes += 2
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(changes), "ns/change")
}

func BenchmarkInsertAll(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			batch := benchEntries(n)
			before := heap()
			var d *Dir
			for b.Loop() {
				d = newDir(b, benchHash)
				_ = d.InsertAll(batch)
			}
			perEntry(b, n)
			b.ReportMetric(float64(heap()-before)/float64(n), "B/entry")
			runtime.KeepAlive(d)
			runtime.KeepAlive(batch)
		})
	}
}

// Memory after a life of single changes, where nodes are as full as chance has it.
func BenchmarkInsertEach(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			batch := benchEntries(n)
			before := heap()
			var d *Dir
			for b.Loop() {
				d = newDir(b, benchHash)
				for _, e := range batch {
					_, _ = d.Insert(e.Name, e.Node, e.Type)
				}
			}
			perEntry(b, n)
			b.ReportMetric(float64(heap()-before)/float64(n), "B/entry")
			runtime.KeepAlive(d)
			runtime.KeepAlive(batch)
		})
	}
}

// RemoveAll of so many parts in a hundred, with a view of the whole held.
func BenchmarkRemoveAll(b *testing.B) {
	eachSize(b, func(b *testing.B, d *Dir, names []string) {
		for _, percent := range []int{5, 10, 20, 50, 100} {
			gone := names[:len(names)*percent/100]
			b.Run(fmt.Sprintf("percent=%d", percent), func(b *testing.B) {
				for b.Loop() {
					d.index.Clone().RemoveAll(gone)
				}
				perEntry(b, len(gone))
			})
		}
	})
}

// Growing a directory by an eighth.
func BenchmarkInsertAllIntoFull(b *testing.B) {
	eachSize(b, func(b *testing.B, d *Dir, names []string) {
		batch := make([]Entry, len(names)/8)
		for i := range batch {
			batch[i].Name = fmt.Sprintf("tap%d", i)
		}
		b.Run("eighth", func(b *testing.B) {
			for b.Loop() {
				_ = d.index.Clone().InsertAll(batch)
			}
			perEntry(b, len(batch))
		})
	})
}

func BenchmarkScan(b *testing.B) {
	eachSize(b, func(b *testing.B, d *Dir, names []string) {
		v := d.View()
		for _, page := range []int{128, 1 << 30} { // Some 128 entries fit into a page of 4 KiB.
			b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) {
				for b.Loop() {
					scanPages(v, page)
				}
				perEntry(b, len(names))
			})
		}
	})
}

func scanPages(v View, page int) {
	for pos, n := hashpos.Start, 1; n > 0; {
		n = 0
		for e := range v.After(pos) {
			pos = e.Pos
			if n++; n == page {
				break
			}
		}
	}
}

// eachSize runs bench on a directory of each size, with its names in random order.
func eachSize(b *testing.B, bench func(*testing.B, *Dir, []string)) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d, batch := newDir(b, benchHash), benchEntries(n)
			require.NoError(b, d.InsertAll(batch))
			names := make([]string, n)
			for i, j := range rand.New(rand.NewPCG(9, 9)).Perm(n) {
				names[i] = batch[j].Name
			}
			bench(b, d, names)
		})
	}
}

func benchEntries(n int) []Entry { return someEntries(0, n) }

func perEntry(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(1, n)), "ns/entry")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
