package dirent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/sysfsd/sysfsd/hashpos"
)

func TestPositionIsTheLowestFreeOneOfTheBucket(t *testing.T) {
	x, b := mustNew(t, "hash", few(1)), few(1).Bucket("")
	lo, hi := b.Low().Lo, b.High().Lo
	insert := func(name string) hashpos.Pos { return mustInsert(t, x, Entry{Name: name}).Pos }
	for i := range 16 {
		assert.Equal(t, lo+hashpos.Pos(i), insert(someName(i)))
	}
	assert.Equal(t, hi, insert("first to overflow"))
	assert.Equal(t, hi+1, insert("second to overflow"))

	for _, i := range []int{3, 9} {
		_, ok := x.Remove(someName(i))
		require.True(t, ok)
	}
	x.Remove("first to overflow")
	assert.Equal(t, lo+3, insert("a"))
	assert.Equal(t, lo+9, insert("b"))
	assert.Equal(t, hi, insert("c"))
	assert.Equal(t, hi+2, insert("d"))
	assert.NoError(t, x.Check())
}

func TestOverflowedEntryStaysWhereItIsWhenTheLowRangeEmpties(t *testing.T) {
	x := mustNew(t, "hash", few(1))
	require.NoError(t, x.InsertAll(someEntries(0, 18)))
	want, ok := x.Lookup(someName(17))
	require.True(t, ok)
	require.True(t, want.Pos.IsHigh())
	for i := range 16 {
		x.Remove(someName(i))
	}

	got, ok := x.Lookup(someName(17))
	assert.True(t, ok)
	assert.Equal(t, want, got)
	_, err := x.Insert(Entry{Name: someName(17)})
	assert.ErrorIs(t, err, ErrExist)
	assert.NoError(t, x.Check())
}

func TestTiesOfOneBucketNeverReachTheNext(t *testing.T) {
	x := mustNew(t, "hash", few(2))
	require.NoError(t, x.InsertAll(someEntries(0, 500)))
	assert.NoError(t, x.Check())
	for e := range x.After(0) {
		b := few(2).Bucket(e.Name)
		require.True(t, b.Low().Contains(e.Pos) || b.High().Contains(e.Pos))
	}
}

func TestPositionsOfOrdinaryNamesFitInto31Bits(t *testing.T) {
	x := mustNew(t, "hash", nil)
	require.NoError(t, x.InsertAll(someEntries(0, 100_000)))
	for e := range x.After(1<<31 - 2) {
		t.Fatalf("%q is at %d", e.Name, e.Pos)
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	for _, h := range hashes {
		t.Run(h.name, func(t *testing.T) {
			d := newDir(t, h.hash)
			require.NoError(t, d.InsertAll(someEntries(0, 1000)))
			v, name := d.View(), someName(7)
			assert.Zero(t, testing.AllocsPerRun(10, func() {
				v.Lookup(name)
				v.Lookup("nosuchdev")
			}))
		})
	}
}

func TestCheckFindsWhatIsBroken(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		damage     func(*hashIndex)
	}{
		{"nothing", "", func(*hashIndex) {}},
		{"an entry in a strange bucket", "outside of its bucket", func(x *hashIndex) {
			x.entries.put(Entry{Name: "eth0", Pos: few(7).Bucket("eth0").Low().Hi + 200})
		}},
		{"a wrong count of overflowed entries", "are said to be 1", func(x *hashIndex) { x.high++ }},
		{"a name twice", "two entries have the name", func(x *hashIndex) {
			e, _ := x.Lookup(someName(1))
			for e.Pos = range x.vacant(e.Pos.Bucket()) {
				x.put(e)
				return
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newHash(few(7)).(*hashIndex)
			require.NoError(t, x.InsertAll(someEntries(0, 20)))
			tt.damage(x)
			if tt.want == "" {
				assert.NoError(t, x.Check())
				return
			}
			assert.ErrorContains(t, x.Check(), tt.want)
		})
	}
}
