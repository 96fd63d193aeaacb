package dirent

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/sysfsd/sysfsd/hashpos"
)

func TestIndexOfEachKindKeepsItsPromises(t *testing.T) {
	for _, kind := range Kinds() {
		for _, h := range hashes {
			t.Run(kind+"/"+h.name, func(t *testing.T) {
				testIndex(t, func() Index { return mustNew(t, kind, h.hash) })
			})
		}
	}
}

func TestNewKnowsTheDefaultAndRefusesOthers(t *testing.T) {
	assert.Contains(t, Kinds(), Default)
	assert.True(t, slices.IsSorted(Kinds()))

	_, err := New("htree", nil)
	require.ErrorIs(t, err, ErrKind)
	assert.ErrorContains(t, err, `"htree"`)
	assert.ErrorContains(t, err, Default)
}

func TestNewWithoutAHashTakesOneThatNobodyKnows(t *testing.T) {
	var orders [2][]Entry
	for i := range orders {
		x := mustNew(t, Default, nil)
		require.NoError(t, x.InsertAll(someEntries(0, 20)))
		orders[i] = slices.Collect(x.After(0))
	}
	assert.NotEqual(t, orders[0], orders[1])
}

// testIndex checks what Index promises. Each variant has to pass it, under every
// hash if it hashes.
func testIndex(t *testing.T, newIndex func() Index) {
	t.Helper()
	for _, tt := range []struct {
		name string
		test func(*testing.T, Index)
	}{
		{"EmptyIndexHasNothing", testEmpty},
		{"InsertOfAnExistingNameChangesNothing", testInsertExisting},
		{"UpdateKeepsAllButTheNode", testUpdate},
		{"AfterStartsStrictlyPastAnyPosition", testAfter},
		{"RandomOperationsMatchAMap", testRandom},
		{"InsertAllEqualsInsertOneByOne", testInsertAll},
		{"InsertAllLeavesOutWhatExists", testInsertAllExisting},
		{"RemoveAllEqualsRemoveOneByOne", testRemoveAll},
		{"RemoveAllPassesOverUnknownAndRepeatedNames", testRemoveAllUnknown},
		{"CloneAndOriginalAreIndependent", testClone},
		{"ScanOfAnyPageSizeSeesWhatLivesThroughItOnce", testScanPages},
		{"ScanFromAnyPositionSeesWhatLivesThroughItOnce", testScanResume},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, newIndex()) })
	}
}

func testEmpty(t *testing.T, x Index) {
	assertIndex(t, x, nil)
	_, ok := x.Remove("eth0")
	assert.False(t, ok)
	_, ok = x.Update("eth0", 1)
	assert.False(t, ok)
	assert.Empty(t, x.RemoveAll([]string{"eth0", "eth1"}))
	assert.Empty(t, x.RemoveAll(nil))
	assert.NoError(t, x.InsertAll(nil))
	assertIndex(t, x.Clone(), nil)
}

func testInsertExisting(t *testing.T, x Index) {
	m := model{}
	m.insertAll(t, x, 40)
	for _, old := range m.sorted() {
		got, err := x.Insert(Entry{Name: old.Name, Node: 999, Type: syscall.DT_REG})
		require.ErrorIs(t, err, ErrExist)
		assert.ErrorContains(t, err, strconv.Quote(old.Name))
		assert.Equal(t, old, got)
	}
	assertIndex(t, x, m)
}

func testUpdate(t *testing.T, x Index) {
	m := model{}
	m.insertAll(t, x, 40)
	for _, e := range m.sorted() {
		old, ok := x.Update(e.Name, e.Node+1000)
		require.True(t, ok)
		assert.Equal(t, e, old)
		e.Node += 1000
		m[e.Name] = e
	}
	assertIndex(t, x, m)
}

func testAfter(t *testing.T, x Index) {
	m := model{}
	m.insertAll(t, x, 40)
	all := m.sorted()
	points := []hashpos.Pos{hashpos.Start, hashpos.Dot, hashpos.First - 1, math.MaxInt32, 1 << 31, math.MaxUint64}
	for _, e := range all {
		points = append(points, e.Pos-1, e.Pos, e.Pos+1)
	}
	for _, p := range points {
		rest := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Pos <= p })
		assertEntries(t, rest, slices.Collect(x.After(p)))
	}
	for range x.After(0) {
		break // Stopping early must not upset anything.
	}
}

func testRandom(t *testing.T, empty Index) {
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		x, m := empty.Clone(), model{}
		for i := range 600 {
			m.step(t, x, rnd)
			if i%30 == 0 {
				assertIndex(t, x, m)
			}
		}
		assertIndex(t, x, m)
	}
}

func testInsertAll(t *testing.T, x Index) {
	for _, size := range []int{1, 2, 17, 60, 500} {
		for _, held := range []int{0, 1, 30, 300} {
			single := x.Clone()
			require.NoError(t, single.InsertAll(someEntries(1000, held)))
			for i := range held / 2 {
				single.Remove(someName(1000 + 2*i)) // So that there are gaps.
			}
			bulk, batch := single.Clone(), someEntries(0, size)
			want := slices.Clone(batch)
			for i, e := range want {
				want[i] = mustInsert(t, single, e)
			}
			require.NoError(t, bulk.InsertAll(batch))

			assertEntries(t, want, batch)
			assertEntries(t, slices.Collect(single.After(0)), slices.Collect(bulk.After(0)))
			require.NoError(t, bulk.Check())
		}
	}
}

func testInsertAllExisting(t *testing.T, x Index) {
	m := model{}
	m.insertAll(t, x, 30)
	batch := append(someEntries(20, 20), someEntries(35, 10)...) // 20 to 29 exist, 35 to 39 come twice.
	for i := range batch {
		batch[i].Pos, batch[i].Node = 12345, uint64(i)
	}
	err := x.InsertAll(batch)

	require.ErrorIs(t, err, ErrExist)
	require.ErrorContains(t, err, strconv.Quote(someName(20)))
	for i, e := range batch {
		exists := i < 10 || (i >= 20 && i < 25)
		require.Equal(t, exists, e.Pos == 0, e.Name)
		if !exists {
			m[e.Name] = e
		}
	}
	assertIndex(t, x, m)
}

func testRemoveAll(t *testing.T, x Index) {
	const held = 200
	require.NoError(t, x.InsertAll(someEntries(0, held)))
	for _, gone := range []int{0, 1, 20, 30, 100, 199, 200} {
		rnd := rand.New(rand.NewPCG(uint64(gone), 2))
		names := make([]string, 0, gone)
		for _, i := range rnd.Perm(held)[:gone] {
			names = append(names, someName(i))
		}
		single, bulk := x.Clone(), x.Clone()
		want := make([]Entry, 0, gone)
		for _, name := range names {
			e, ok := single.Remove(name)
			require.True(t, ok)
			want = append(want, e)
		}
		got := bulk.RemoveAll(names)

		assertEntries(t, sorted(want), sorted(got))
		assertEntries(t, slices.Collect(single.After(0)), slices.Collect(bulk.After(0)))
		require.NoError(t, bulk.Check())
	}
}

func testRemoveAllUnknown(t *testing.T, x Index) {
	m := model{}
	m.insertAll(t, x, 100)
	names := []string{"no such name"}
	for i := range 60 {
		names = append(names, someName(i), someName(i+1000), someName(i))
	}
	removed := x.RemoveAll(names)
	require.Len(t, removed, 60)
	for _, e := range removed {
		require.Equal(t, m[e.Name], e)
		delete(m, e.Name)
	}
	assertIndex(t, x, m)
}

func testClone(t *testing.T, x Index) {
	m := model{}
	m.insertAll(t, x, 100)
	rnd := rand.New(rand.NewPCG(3, 3))
	copies, models := []Index{x}, []model{m}
	for range 200 {
		i := rnd.IntN(len(copies))
		if len(copies) < 8 && rnd.IntN(10) == 0 {
			copies, models = append(copies, copies[i].Clone()), append(models, maps.Clone(models[i]))
		}
		models[i].step(t, copies[i], rnd)
	}
	for i := range copies {
		assertIndex(t, copies[i], models[i])
	}
}

func testScanPages(t *testing.T, x Index) {
	m := model{}
	m.insertAll(t, x, 60)
	rnd := rand.New(rand.NewPCG(4, 4))
	for page := 1; page <= 70; page++ {
		scanUnderChurn(t, x, m, rnd, hashpos.Start, func() int { return page })
	}
	assertIndex(t, x, m)
}

func testScanResume(t *testing.T, x Index) {
	m := model{}
	m.insertAll(t, x, 60)
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 2 {
		for _, e := range m.sorted() { // Most of them are gone when their turn comes.
			for _, from := range []hashpos.Pos{e.Pos - 1, e.Pos, e.Pos + 1} {
				scanUnderChurn(t, x, m, rnd, from, func() int { return 1 + rnd.IntN(8) })
			}
		}
	}
	assertIndex(t, x, m)
}

// scanUnderChurn reads page after page, past from, and changes the index after
// each. Every entry has its own node, so a name that was removed and came back is
// another entry.
func scanUnderChurn(t *testing.T, x Index, m model, rnd *rand.Rand, from hashpos.Pos, page func() int) {
	t.Helper()
	before, seen := maps.Clone(m), map[uint64]int{}
	for pos, n := from, 1; n > 0; {
		n = 0
		size := page()
		for e := range x.After(pos) {
			require.Greater(t, e.Pos, pos)
			pos = e.Pos
			seen[e.Node]++
			if n++; n == size {
				break
			}
		}
		m.churn(t, x, rnd, pos)
	}
	for name, e := range before {
		if m[name] == e && e.Pos > from {
			require.Equal(t, 1, seen[e.Node], "%v lived through a scan from %d", e, from)
		}
	}
	for node, times := range seen {
		require.Equal(t, 1, times, "node %d", node)
	}
}

// hashes go from one that has no collisions to one that has nothing else: its
// names overflow the low range of their bucket.
var hashes = []struct {
	name string
	hash hashpos.Hash
}{
	{"keyed", hashpos.Keyed(hashpos.Key{1})},
	{"64 values", few(64)},
	{"7 values", few(7)},
	{"2 values", few(2)},
	{"1 value", few(1)},
}

// few returns a hash of n values, which have neighbouring buckets.
func few(n uint64) hashpos.Hash {
	keyed := hashpos.Keyed(hashpos.Key{2})
	return func(name string) uint64 { return keyed(name) % n }
}

// model is what an index has to equal.
type model map[string]Entry

func (m model) sorted() []Entry { return sorted(slices.Collect(maps.Values(m))) }

func sorted(entries []Entry) []Entry {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Pos, b.Pos) })
	return entries
}

// insertAll puts n entries into an empty model and an empty index.
func (m model) insertAll(t testing.TB, x Index, n int) {
	t.Helper()
	batch := someEntries(0, n)
	require.NoError(t, x.InsertAll(batch))
	for _, e := range batch {
		m[e.Name] = e
	}
}

// step does one random operation, on few enough names that all cases occur.
func (m model) step(t testing.TB, x Index, rnd *rand.Rand) {
	t.Helper()
	name, node := someName(rnd.IntN(80)), rnd.Uint64()
	old, existed := m[name]
	switch op := rnd.IntN(40); {
	case op < 18:
		e, err := x.Insert(Entry{Name: name, Node: node, Type: syscall.DT_DIR})
		require.Equal(t, existed, err != nil)
		if !existed {
			m[name] = e
		}
	case op < 34:
		e, ok := x.Remove(name)
		require.Equal(t, existed, ok)
		require.Equal(t, old, e)
		delete(m, name)
	case op < 38:
		e, ok := x.Update(name, node)
		require.Equal(t, existed, ok)
		require.Equal(t, old, e)
		if existed {
			old.Node = node
			m[name] = old
		}
	case op < 39:
		m.removeSome(t, x, rnd, 1+rnd.IntN(60))
	default:
		m.insertSome(x, rnd, 1+rnd.IntN(60))
	}
}

func (m model) removeSome(t testing.TB, x Index, rnd *rand.Rand, n int) {
	t.Helper()
	names := make([]string, 0, n)
	for range n {
		names = append(names, someName(rnd.IntN(80)))
	}
	for _, e := range x.RemoveAll(names) {
		require.Equal(t, m[e.Name], e)
		delete(m, e.Name)
	}
	for _, name := range names {
		require.NotContains(t, m, name)
	}
}

func (m model) insertSome(x Index, rnd *rand.Rand, n int) {
	batch := make([]Entry, n)
	for i := range batch {
		batch[i] = Entry{Name: someName(rnd.IntN(80)), Node: rnd.Uint64(), Type: syscall.DT_LNK}
	}
	_ = x.InsertAll(batch) // Nearly always some exist.
	for _, e := range batch {
		if e.Pos != 0 {
			m[e.Name] = e
		}
	}
}

// churn adds and removes a few entries, with a liking for the one at pos, where a
// scan stands, and leaves some 60.
func (m model) churn(t testing.TB, x Index, rnd *rand.Rand, pos hashpos.Pos) {
	t.Helper()
	for name, e := range m {
		if e.Pos == pos && rnd.IntN(2) == 0 {
			x.Remove(name)
			delete(m, name)
		}
	}
	if rnd.IntN(6) == 0 {
		m.removeSome(t, x, rnd, 8)
		m.insertSome(x, rnd, 12)
	}
	for range rnd.IntN(4) {
		name := someName(rnd.IntN(120))
		if _, ok := m[name]; ok {
			x.Remove(name)
			delete(m, name)
			continue
		}
		m[name] = mustInsert(t, x, Entry{Name: name, Node: rnd.Uint64(), Type: syscall.DT_DIR})
	}
}

func someName(i int) string { return "veth" + strconv.Itoa(i) }

// someEntries returns n entries for names from the first on.
func someEntries(first, n int) []Entry {
	types := []uint8{syscall.DT_DIR, syscall.DT_LNK, syscall.DT_REG}
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Name: someName(first + i), Node: uint64(first + i), Type: types[i%3]}
	}
	return entries
}

func mustNew(t testing.TB, kind string, hash hashpos.Hash) Index {
	t.Helper()
	x, err := New(kind, hash)
	require.NoError(t, err)
	return x
}

func mustInsert(t testing.TB, x Index, e Entry) Entry {
	t.Helper()
	e, err := x.Insert(e)
	require.NoError(t, err)
	return e
}

// reader is what an index and a view have in common.
type reader interface {
	Lookup(name string) (Entry, bool)
	Len() int
}

// assertIndex checks that x has the entries of m and nothing else.
func assertIndex(t testing.TB, x Index, m model) {
	t.Helper()
	require.NoError(t, x.Check())
	assertEntries(t, m.sorted(), slices.Collect(x.After(0)))
	assertLookups(t, x, m)
}

func assertLookups(t testing.TB, x reader, m model) {
	t.Helper()
	require.Equal(t, len(m), x.Len())
	for i := range 130 {
		want, exists := m[someName(i)]
		got, ok := x.Lookup(someName(i))
		if ok != exists || got != want {
			t.Fatalf("lookup of %s: %v %v, want %v %v", someName(i), got, ok, want, exists)
		}
	}
}

// assertEntries is assert.Equal, fast.
func assertEntries(t testing.TB, want, got []Entry) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Fatalf("entries differ:\nwant %v\ngot  %v", want, got)
	}
}
