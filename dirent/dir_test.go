package dirent

import (
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/sysfsd/sysfsd/hashpos"
	"github.com/sysfsd/sysfsd/nlinkcount"
)

func TestNlinkCountsEntriesThatAreDirectories(t *testing.T) {
	d := newDir(t, nil)
	nlink := func() uint32 { return d.View().Nlink() }
	assert.Equal(t, uint32(2), nlink())

	for name, typ := range map[string]uint8{"dir": syscall.DT_DIR, "link": syscall.DT_LNK, "file": syscall.DT_REG} {
		e, err := d.Insert(name, 7, typ)
		require.NoError(t, err)
		assert.Equal(t, Entry{Name: name, Pos: e.Pos, Node: 7, Type: typ}, e)
	}
	assert.Equal(t, uint32(3), nlink())
	_, err := d.Insert("dir", 8, syscall.DT_DIR)
	require.ErrorIs(t, err, ErrExist)
	assert.Equal(t, uint32(3), nlink(), "what was not inserted does not count")

	d.Remove("link")
	d.Update("dir", 9)
	assert.Equal(t, uint32(3), nlink())
	d.Remove("dir")
	d.Remove("dir")
	assert.Equal(t, uint32(2), nlink())
}

func TestNlinkThatOutgrewItsWidthStaysZero(t *testing.T) {
	for _, tt := range []struct {
		name   string
		width  nlinkcount.Width
		most   uint32
		beyond uint32
	}{
		{"16 bits", nlinkcount.Width16, 65_535, 0},
		{"32 bits", nlinkcount.Width32, 65_535, 65_536},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDir(mustNew(t, Default, nil), tt.width)
			names := insertDirs(t, d, 65_533)
			assert.Equal(t, tt.most, d.View().Nlink())
			_, err := d.Insert("one more", 1, syscall.DT_DIR)
			require.NoError(t, err)
			assert.Equal(t, tt.beyond, d.View().Nlink())
			require.NoError(t, d.Check())

			assert.Len(t, d.RemoveAll(names), len(names))
			want := uint32(3)
			if tt.beyond == 0 {
				want = 0
			}
			assert.Equal(t, want, d.View().Nlink())
			assert.NoError(t, d.Check())
		})
	}
}

func TestRandomOperationsKeepTheInvariants(t *testing.T) {
	for _, h := range hashes {
		t.Run(h.name, func(t *testing.T) {
			for seed := range uint64(10) {
				ops := make([]byte, 400)
				rnd := rand.New(rand.NewPCG(seed, 6))
				for i := range ops {
					ops[i] = byte(rnd.Uint32())
				}
				runOps(t, newDir(t, h.hash), ops)
			}
		})
	}
}

func TestBulkOfADirEqualsOneByOne(t *testing.T) {
	for _, h := range hashes {
		t.Run(h.name, func(t *testing.T) {
			bulk, single := newDir(t, h.hash), newDir(t, h.hash)
			batch := append(someEntries(0, 100), someEntries(50, 100)...)
			require.ErrorIs(t, bulk.InsertAll(batch), ErrExist)
			for _, e := range batch {
				_, _ = single.Insert(e.Name, e.Node, e.Type)
			}
			assertSameDirs(t, single, bulk)

			var names []string
			for i := 20; i < 170; i++ {
				names = append(names, someName(i))
			}
			assert.Len(t, bulk.RemoveAll(names), 130)
			for _, name := range names {
				single.Remove(name)
			}
			assertSameDirs(t, single, bulk)
		})
	}
}

func TestViewIsTheSameUntilSomethingChanges(t *testing.T) {
	d := newDir(t, nil)
	assert.Equal(t, View{}, d.View())
	insertDirs(t, d, 3)

	for _, tt := range []struct {
		name    string
		changes bool
		do      func()
	}{
		{"nothing", false, func() {}},
		{"insert", true, func() { _, _ = d.Insert("eth0", 1, syscall.DT_DIR) }},
		{"insert of what exists", false, func() { _, _ = d.Insert("eth0", 1, syscall.DT_DIR) }},
		{"update", true, func() { d.Update("eth0", 2) }},
		{"update to the same node", false, func() { d.Update("eth0", 2) }},
		{"update of what does not exist", false, func() { d.Update("eth1", 2) }},
		{"remove", true, func() { d.Remove("eth0") }},
		{"remove of what does not exist", false, func() { d.Remove("eth0") }},
		{"bulk insert", true, func() { _ = d.InsertAll(someEntries(1000, 2)) }},
		{"bulk insert of what exists", false, func() { _ = d.InsertAll(someEntries(1000, 2)) }},
		{"bulk insert of nothing", false, func() { _ = d.InsertAll(nil) }},
		{"bulk remove", true, func() { d.RemoveAll([]string{someName(1000)}) }},
		{"bulk remove of what does not exist", false, func() { d.RemoveAll([]string{someName(1000)}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := d.View()
			tt.do()
			assert.Equal(t, tt.changes, before != d.View())
		})
	}
}

func TestDirTakesOnlyAnEmptyIndex(t *testing.T) {
	x := mustNew(t, Default, nil)
	mustInsert(t, x, Entry{Name: "eth0"})
	assert.PanicsWithValue(t, "dirent: NewDir with an index in use", func() { NewDir(x, nlinkcount.Width16) })
}

func TestCheckFindsAWrongLinkCount(t *testing.T) {
	d := newDir(t, nil)
	insertDirs(t, d, 3)
	require.NoError(t, d.Check())
	d.nlink.Dec()
	assert.ErrorContains(t, d.Check(), "a link count of 4")
}

// FuzzDir takes the first byte as the choice of a hash, the others as operations.
func FuzzDir(f *testing.F) {
	f.Add([]byte{0, 0x01, 0x21, 0x01})
	f.Add([]byte{4, 0x80, 0x9f, 0xa3, 0xc1, 0xe0, 0x85})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 0 {
			runOps(t, newDir(t, hashes[int(ops[0])%len(hashes)].hash), ops[1:])
		}
	})
}

// runOps does an operation for each byte, on d and on a model, and compares. The
// upper three bits choose what is done, the others the name.
func runOps(t *testing.T, d *Dir, ops []byte) {
	t.Helper()
	m := model{}
	var views []View
	var models []model
	for i, op := range ops {
		views, models = append(views, d.View()), append(models, nil)
		runOp(t, d, m, op>>5, int(op&31), uint64(i))
		if i%16 == 0 {
			models[i] = maps.Clone(m)
			views[i] = d.View()
			require.NoError(t, d.Check())
		}
	}
	for i, v := range views {
		if models[i] != nil {
			assertView(t, v, models[i])
		}
	}
	require.NoError(t, d.Check())
	assertView(t, d.View(), m)
}

func runOp(t *testing.T, d *Dir, m model, what byte, arg int, node uint64) {
	t.Helper()
	name := someName(arg)
	old, existed := m[name]
	switch what {
	case 0, 1:
		e, err := d.Insert(name, node, []uint8{syscall.DT_DIR, syscall.DT_LNK}[what])
		require.Equal(t, existed, err != nil)
		require.True(t, !existed || e == old)
		m[name] = e
	case 2, 3:
		e, ok := d.Remove(name)
		require.Equal(t, existed, ok)
		require.Equal(t, old, e)
		delete(m, name)
	case 4:
		e, ok := d.Update(name, node)
		require.Equal(t, existed, ok)
		require.Equal(t, old, e)
		if existed {
			old.Node = node
			m[name] = old
		}
	case 5, 6:
		runInsertAll(t, d, m, someEntries(arg, 5+arg*int(what-5)))
	default:
		runRemoveAll(t, d, m, arg, 1+arg)
	}
	got, ok := d.Lookup(name)
	want, exists := m[name]
	require.Equal(t, exists, ok)
	require.Equal(t, want, got)
	require.Equal(t, len(m), d.Len())
}

func runInsertAll(t *testing.T, d *Dir, m model, batch []Entry) {
	t.Helper()
	err := d.InsertAll(batch)
	all := true
	for _, e := range batch {
		_, existed := m[e.Name]
		require.Equal(t, existed, e.Pos == 0)
		all = all && !existed
		if !existed {
			m[e.Name] = e
		}
	}
	require.Equal(t, all, err == nil)
}

func runRemoveAll(t *testing.T, d *Dir, m model, first, n int) {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, someName(first+i))
	}
	for _, e := range d.RemoveAll(names) {
		require.Equal(t, m[e.Name], e)
		delete(m, e.Name)
	}
	for _, name := range names {
		require.NotContains(t, m, name)
	}
}

func newDir(t testing.TB, hash hashpos.Hash) *Dir {
	t.Helper()
	return NewDir(mustNew(t, Default, hash), nlinkcount.Width16)
}

// insertDirs gives d n subdirectories and returns their names.
func insertDirs(t testing.TB, d *Dir, n int) []string {
	t.Helper()
	batch, names := someEntries(0, n), make([]string, n)
	for i := range batch {
		batch[i].Type, names[i] = syscall.DT_DIR, batch[i].Name
	}
	require.NoError(t, d.InsertAll(batch))
	return names
}

func assertSameDirs(t testing.TB, want, got *Dir) {
	t.Helper()
	require.NoError(t, got.Check())
	assertEntries(t, slices.Collect(want.View().After(0)), slices.Collect(got.View().After(0)))
	assert.Equal(t, want.View().Nlink(), got.View().Nlink())
}
