package synth

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBitmapAgreesWithASet(t *testing.T) {
	for _, span := range []int{1, 63, 64, 65, 4096, 4097, 300_000} {
		t.Run(fmt.Sprint(span), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(span)))
			var b bitmap
			model := make(map[int]bool)
			for range min(4*span, 40_000) {
				n := r.IntN(span)
				if r.IntN(3) == 0 {
					b.clear(n)
					delete(model, n)
				} else {
					b.set(n)
					model[n] = true
				}
				require.Equal(t, model[n], b.has(n))
			}
			require.Equal(t, lowestMissing(model), b.lowest())
		})
	}
}

func TestBitmapFillsWithoutGap(t *testing.T) {
	var b bitmap
	const n = 300_000
	for i := range n {
		require.Equal(t, i, b.lowest())
		b.set(i)
	}
	for _, i := range []int{0, 63, 64, 4095, 4096, 262_143, 262_144, n - 1} {
		b.clear(i)
		require.Equal(t, i, b.lowest())
		b.set(i)
	}
	assert.Equal(t, n, b.lowest())
}

func TestBitmapClearsWhatItNeverHeld(t *testing.T) {
	var b bitmap
	b.clear(1 << 20)
	assert.False(t, b.has(1<<20))
	assert.Zero(t, b.lowest())
}

func lowestMissing(model map[int]bool) int {
	for i := 0; ; i++ {
		if !model[i] {
			return i
		}
	}
}
