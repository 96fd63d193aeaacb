package tree

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABagIsASetHoweverManyItHolds(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var b bag[int]
		model := map[int]bool{}
		for range 500 {
			v := rnd.IntN(3 * fewest)
			if rnd.IntN(2) == 0 {
				b.add(v)
				model[v] = true
			} else {
				require.Equal(t, model[v], b.remove(v))
				delete(model, v)
			}
			require.Equal(t, len(model), b.len())
			members := slices.Collect(b.each())
			require.Len(t, members, len(model))
			for _, m := range members {
				require.True(t, model[m])
			}
		}
	}
}

func TestEmptyBagsAreNotKept(t *testing.T) {
	m := bags[string, int]{}
	m.add("a", 1)
	m.add("a", 1)
	m.add("a", 2)
	assert.ElementsMatch(t, []int{1, 2}, m.all("a"))
	m.remove("a", 1)
	m.remove("a", 2)
	m.remove("a", 3)
	m.remove("b", 1)
	assert.Empty(t, m)
	assert.Empty(t, m.all("a"))
}
