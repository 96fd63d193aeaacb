package dirent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/sysfsd/sysfsd/hashpos"
)

func TestZeroViewIsAnEmptyDirectory(t *testing.T) {
	var v View
	_, ok := v.Lookup("eth0")
	assert.False(t, ok)
	assert.Empty(t, slices.Collect(v.After(0)))
	assert.Zero(t, v.Len())
	assert.Equal(t, uint32(2), v.Nlink())
}

func TestViewNeverChanges(t *testing.T) {
	for _, h := range hashes {
		t.Run(h.name, func(t *testing.T) {
			d, m := newDir(t, h.hash), model{}
			batch := someEntries(0, 100)
			require.NoError(t, d.InsertAll(batch))
			for _, e := range batch {
				m[e.Name] = e
			}
			v := d.View()
			upset(t, d)
			assertView(t, v, m)
		})
	}
}

// upset changes everything in d that can be changed.
func upset(t *testing.T, d *Dir) {
	t.Helper()
	for i := range 100 {
		d.Update(someName(i), 12345)
		if i%2 == 0 {
			d.Remove(someName(i))
			d.View() // A second copy must not upset the first.
		}
	}
	require.NoError(t, d.InsertAll(someEntries(100, 1000)))
	insertOne := func(i int) { _, _ = d.Insert(someName(i), 777, syscall.DT_DIR) }
	for i := range 100 {
		insertOne(i)
	}
	names := make([]string, 0, 1100)
	for i := range cap(names) {
		names = append(names, someName(i))
	}
	require.Len(t, d.RemoveAll(names), len(names))
}

// Readers take the view last published for each page, as getdents calls do.
func TestReadersOfViewsSeeStableEntriesOnceWhileAWriterWrites(t *testing.T) {
	for _, h := range hashes {
		t.Run(h.name, func(t *testing.T) {
			const stable = 50
			d := newDir(t, h.hash)
			insertDirs(t, d, stable)
			var published atomic.Pointer[View]
			publish := func() { v := d.View(); published.Store(&v) }
			publish()

			var readers, writer sync.WaitGroup
			var done atomic.Bool
			writer.Go(func() { writeUntil(&done, d, publish) })
			for r := range 3 {
				readers.Go(func() {
					for i := range 60 {
						if err := scanViews(&published, stable, 1+(7*i+r)%60); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			readers.Wait()
			done.Store(true)
			writer.Wait()
			require.NoError(t, d.Check())
		})
	}
}

// writeUntil changes the names from 1000 on and publishes each change.
func writeUntil(done *atomic.Bool, d *Dir, publish func()) {
	rnd := rand.New(rand.NewPCG(8, 8))
	for !done.Load() {
		i := 1000 + rnd.IntN(80)
		if _, ok := d.Remove(someName(i)); !ok {
			_, _ = d.Insert(someName(i), uint64(i), syscall.DT_DIR)
		}
		if rnd.IntN(50) == 0 {
			var names []string
			for i := range 80 {
				names = append(names, someName(1000+i))
			}
			d.RemoveAll(names)
			publish()
			_ = d.InsertAll(someEntries(1000, 40))
		}
		publish()
	}
}

// scanViews reads pages of that size and checks them and the views they are from.
func scanViews(published *atomic.Pointer[View], stable, page int) error {
	seen := map[string]int{}
	for pos, n := hashpos.Start, 1; n > 0; {
		v := published.Load()
		if err := checkView(*v); err != nil {
			return err
		}
		n = 0
		for e := range v.After(pos) {
			pos = e.Pos
			if got, ok := v.Lookup(e.Name); !ok || got != e {
				return fmt.Errorf("lookup of %v in its own view: %v %v", e, got, ok)
			}
			seen[e.Name]++
			if n++; n == page {
				break
			}
		}
	}
	for i := range stable {
		if seen[someName(i)] != 1 {
			return fmt.Errorf("%s was seen %d times", someName(i), seen[someName(i)])
		}
	}
	return nil
}

// checkView checks that what a view says of itself agrees.
func checkView(v View) error {
	n, nlink := 0, 2
	for e := range v.After(0) {
		n++
		nlink += subdir(e)
	}
	if n != v.Len() || uint32(nlink) != v.Nlink() {
		return fmt.Errorf("%d entries and %d links are said to be %d and %d", n, nlink, v.Len(), v.Nlink())
	}
	return nil
}

// assertView checks that v shows the entries of m and nothing else.
func assertView(t testing.TB, v View, m model) {
	t.Helper()
	require.NoError(t, checkView(v))
	assertEntries(t, m.sorted(), slices.Collect(v.After(0)))
	assertLookups(t, v, m)
}
