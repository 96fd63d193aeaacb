package hashpos

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBucketsReachFromFirstToIntMaxAndLeaveBothFree(t *testing.T) {
	first, last := Bucket(firstBucket), Bucket(lastBucket)

	assert.Equal(t, First, first.Low().Lo)
	assert.Equal(t, Pos(math.MaxInt32-15), last.Low().Hi)
	assert.Less(t, last.Low().Hi-1, Pos(math.MaxInt32))
	assert.Greater(t, first.High().Lo, Pos(1<<31))
	assert.Less(t, last.High().Hi, Pos(1<<63))
	assert.EqualValues(t, (1<<27)-1-(1<<13), buckets)
}

func TestBucketOwnsTheRangesItSays(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bucket Bucket
	}{
		{"the first", Bucket(firstBucket)},
		{"the second", Bucket(firstBucket + 1)},
		{"one in the middle", 1 << 26},
		{"the last", Bucket(lastBucket)},
	} {
		t.Run(tt.name, func(t *testing.T) { assertBucket(t, tt.bucket) })
	}
}

func TestRandomNamesGetSoundBuckets(t *testing.T) {
	h := Keyed(RandomKey())
	for i := range 100_000 {
		assertBucket(t, h.Bucket("veth"+strconv.Itoa(i)))
	}
}

func TestBucketsAreDisjointAndInOrderInBothRegions(t *testing.T) {
	h := Keyed(Key{1})
	all := make([]Bucket, 0, 20_000)
	for i := range cap(all) {
		all = append(all, h.Bucket(strconv.Itoa(i)))
	}
	slices.Sort(all)
	all = slices.Compact(all)

	for i, b := range all[1:] {
		require.LessOrEqual(t, all[i].Low().Hi, b.Low().Lo)
		require.LessOrEqual(t, all[i].High().Hi, b.High().Lo)
	}
	assert.Less(t, all[len(all)-1].Low().Hi, all[0].High().Lo, "all low ranges come before all high ones")
}

func TestAnyHashValueFallsIntoABucketInUse(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	values := []uint64{0, 1, buckets - 1, buckets, math.MaxUint64, math.MaxUint64 - 1}
	for range 10_000 {
		values = append(values, rnd.Uint64())
	}
	for _, v := range values {
		assertBucket(t, constant(v).Bucket("eth0"))
	}
}

func TestSmallHashValuesGetNeighbouringBuckets(t *testing.T) {
	assert.Equal(t, constant(6).Bucket("a")+1, constant(7).Bucket("a"))
}

func TestNamesSpreadEvenly(t *testing.T) {
	const names, parts = 160_000, 16
	h := Keyed(Key{3})
	var count [parts]int
	for i := range names {
		count[(uint64(h.Bucket("dummy"+strconv.Itoa(i)))-firstBucket)*parts/buckets]++
	}
	for i, n := range count {
		assert.InDelta(t, names/parts, n, 600, "part %d", i) // Six standard deviations.
	}
}

func FuzzBucket(f *testing.F) {
	f.Add("", uint64(0), "")
	f.Add("eth0", uint64(1), "lo")
	f.Fuzz(func(t *testing.T, name string, k uint64, other string) {
		h := Keyed(Key{byte(k), byte(k >> 8), byte(k >> 16)})
		a, b := h.Bucket(name), h.Bucket(other)
		assertBucket(t, a)
		assert.Equal(t, a, h.Bucket(name))
		if a != b {
			assert.False(t, a.Low().Contains(b.Low().Lo) || a.High().Contains(b.High().Lo))
		}
		assertBucket(t, constant(k).Bucket(name))
	})
}

func constant(v uint64) Hash { return func(string) uint64 { return v } }

// assertBucket checks everything that is promised of each single bucket.
func assertBucket(t testing.TB, b Bucket) {
	t.Helper()
	low, high := b.Low(), b.High()
	ok := low.Lo%16 == 0 && low.Hi == low.Lo+16 && low.Lo >= First && low.Hi-1 < math.MaxInt32 &&
		high.Lo%(1<<32) == 0 && high.Hi == high.Lo+(1<<32) && high.Lo > 1<<31 && high.Hi < 1<<63
	if !ok {
		t.Errorf("bucket %d has the ranges %v and %v", b, low, high)
	}
	for _, p := range []Pos{low.Lo, low.Hi - 1, high.Lo, high.Hi - 1} {
		if p.Bucket() != b || p.IsHigh() != high.Contains(p) || p.IsHigh() == low.Contains(p) {
			t.Errorf("position %d is said to be in bucket %d, not in %d", p, p.Bucket(), b)
		}
	}
}
