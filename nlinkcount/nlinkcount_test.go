package nlinkcount

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadIsExactWhileItFitsAndZeroAfter(t *testing.T) {
	for _, tt := range []struct {
		name  string
		width Width
		adds  []int
		want  uint32
	}{
		{"empty", Width16, nil, 2},
		{"one", Width16, []int{1}, 3},
		{"come and gone", Width16, []int{1, -1}, 2},
		{"the most 16 bits hold", Width16, []int{65_533}, 65_535},
		{"the most, one by one at the end", Width16, []int{65_532, 1}, 65_535},
		{"one too many", Width16, []int{65_534}, 0},
		{"one too many, and back", Width16, []int{65_533, 1, -1}, 0},
		{"too many, and all gone", Width16, []int{100_000, -100_000}, 0},
		{"too many, gone, and new", Width16, []int{100_000, -100_000, 1}, 0},
		{"the most of 16 bits in 32", Width32, []int{65_534}, 65_536},
		{"a million in 32", Width32, []int{1_000_000}, 1_000_002},
		{"the most 32 bits hold", Width32, []int{1<<32 - 3}, 1<<32 - 1},
		{"one too many for 32", Width32, []int{1<<32 - 2}, 0},
		{"one too many for 32, and back", Width32, []int{1<<32 - 2, -5}, 0},
		{"no width given", 0, []int{65_533}, 65_535},
		{"no width given, one too many", 0, []int{65_534, -1}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, sum := New(tt.width), 0
			for _, n := range tt.adds {
				c.Add(n)
				sum += n
			}
			assert.Equal(t, tt.want, c.Load())
			assert.Equal(t, sum, c.Subdirs())
		})
	}
}

func TestZeroCountIsAnEmptyDirectory(t *testing.T) {
	var c Count
	assert.Equal(t, uint32(2), c.Load())
	c.Inc()
	assert.Equal(t, uint32(3), c.Load())
}

func TestCopyIsASnapshot(t *testing.T) {
	c := New(Width16)
	c.Inc()
	snapshot := c
	c.Add(100_000)
	assert.Equal(t, uint32(3), snapshot.Load())
	assert.Zero(t, c.Load())
}

func TestCountFollowsRandomChanges(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		c, n, fitted := New(Width16), 0, true
		for range 2_000 {
			d := max(-n, rnd.IntN(2_001)-1_000+int(seed)) // Later seeds drift over the limit.
			c.Add(d)
			n += d
			fitted = fitted && n <= 65_533
			require.Equal(t, n, c.Subdirs())
			require.Equal(t, fitted, c.Load() != 0)
			require.True(t, !fitted || c.Load() == uint32(n+2))
		}
	}
}

func TestGoingBelowZeroPanics(t *testing.T) {
	const sentence = "nlinkcount: Dec without Inc"
	for _, tt := range []struct {
		name string
		do   func(*Count)
	}{
		{"Dec of an empty directory", func(c *Count) { c.Dec() }},
		{"Add of too few", func(c *Count) { c.Add(3); c.Add(-4) }},
		{"Dec of an outgrown and emptied one", func(c *Count) { c.Add(70_000); c.Add(-70_000); c.Dec() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Width16)
			assert.PanicsWithValue(t, sentence, func() { tt.do(&c) })
		})
	}
}

func TestParseWidthTakes16And32(t *testing.T) {
	for _, tt := range []struct {
		name string
		bits int
		want Width
	}{
		{"16", 16, Width16},
		{"32", 32, Width32},
		{"none", 0, 0},
		{"8", 8, 0},
		{"64", 64, 0},
		{"16 in the low byte", 256 + 16, 0},
		{"negative", -16, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := ParseWidth(tt.bits)
			assert.Equal(t, tt.want, w)
			if tt.want == 0 {
				assert.ErrorContains(t, err, "nlinkcount: a link count has 16 or 32 bits, not ")
				return
			}
			assert.NoError(t, err)
		})
	}
}

func TestNewRefusesOtherWidths(t *testing.T) {
	assert.PanicsWithValue(t, "nlinkcount: New with a width of 17 bits", func() { New(17) })
}
