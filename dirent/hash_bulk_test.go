package dirent

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBulkWithThousandsOfEqualHashesIsRight(t *testing.T) {
	const n = 2000
	x := mustNew(t, "hash", few(1))
	require.NoError(t, x.InsertAll(someEntries(0, n)))
	require.NoError(t, x.Check())

	names := make([]string, 0, n)
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
		names = append(names, someName(i))
	}
	assert.Len(t, x.RemoveAll(names[:n-10]), n-10)
	assert.NoError(t, x.Check())
	assert.Len(t, x.RemoveAll(names), 10)
	assert.Zero(t, x.Len())
}

func TestRebuildKeepsOverflowedSurvivorsInPlace(t *testing.T) {
	x := mustNew(t, "hash", few(2))
	require.NoError(t, x.InsertAll(someEntries(0, 200)))
	all := slices.Collect(x.After(0))
	names := make([]string, 0, 150)
	for _, e := range all[:150] { // All of the low ranges and most of the high ones.
		names = append(names, e.Name)
	}

	assertEntries(t, all[:150], x.RemoveAll(names))
	assertEntries(t, all[150:], slices.Collect(x.After(0)))
	assert.NoError(t, x.Check())
}

func TestMembersKeepTheOrderOfTheBatchInABucket(t *testing.T) {
	x := newHash(few(3)).(*hashIndex)
	batch := someEntries(0, 300)
	all := x.members(len(batch), func(i int) string { return batch[i].Name })

	for i, m := range all {
		require.Equal(t, x.hash.Bucket(batch[m.index()].Name), m.bucket())
		if i > 0 && all[i-1].bucket() == m.bucket() {
			require.Less(t, all[i-1].index(), m.index())
		}
	}
}

func TestBulkLeavesOlderClonesAlone(t *testing.T) {
	x := mustNew(t, "hash", few(64))
	m := model{}
	m.insertAll(t, x, 120)
	old := x.Clone()

	require.NoError(t, x.InsertAll(someEntries(1000, 5000)))
	assertIndex(t, old, m)
	names := make([]string, 0, 5000)
	for e := range x.After(0) {
		names = append(names, e.Name)
	}
	x.RemoveAll(names)
	assertIndex(t, old, m)
	assertIndex(t, x, nil)
}
