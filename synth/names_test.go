package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamesAreTheLowestFreeOnes(t *testing.T) {
	s := newNames(t, "veth%d")
	for i := range 100 {
		require.Equal(t, fmt.Sprintf("veth%d", i), give(t, s, 0, uint32(i+1)))
	}
	s.free("veth42")
	s.free("veth7")
	assert.Equal(t, "veth7", give(t, s, 0, 200))
	assert.Equal(t, "veth42", give(t, s, 0, 201))
	assert.Equal(t, "veth100", give(t, s, 0, 202))
}

func TestNamesTakenByARenameAreNotGivenOut(t *testing.T) {
	s := newNames(t, "veth%d")
	s.take("veth0", 1)
	s.take("veth2", 2)
	assert.Equal(t, "veth1", give(t, s, 0, 3))
	assert.Equal(t, "veth3", give(t, s, 0, 4))
	s.free("veth0")
	assert.Equal(t, "veth0", give(t, s, 0, 5))
}

func TestNamesOfOverlappingPatternsStayApart(t *testing.T) {
	s := newNames(t, "eth%d", "eth1%d")
	seen := make(map[string]bool)
	for i := range 400 {
		name := give(t, s, i%2, uint32(i+1))
		require.False(t, seen[name], name)
		seen[name] = true
	}
	s.free("eth11") // either may have it
	assert.Equal(t, "eth11", give(t, s, 1, 1000))
	s.free("eth11")
	assert.Equal(t, "eth11", give(t, s, 0, 1001))
}

func TestNamesFarOutCostNoTable(t *testing.T) {
	s := newNames(t, "veth%d")
	s.take("veth999999999", 7)
	assert.Empty(t, s.patterns[0].owners)
	index, ok := s.find("veth999999999")
	assert.True(t, ok)
	assert.EqualValues(t, 7, index)
	s.free("veth999999999")
	_, ok = s.find("veth999999999")
	assert.False(t, ok)
}

// The name is first far out, then reached by the table that grows to it.
func TestNamesFarOutAreSkippedWhenReached(t *testing.T) {
	s := newNames(t, "v%d")
	far := fmt.Sprintf("v%d", sparse+10)
	s.take(far, 1)
	for i := range sparse + 10 {
		require.Equal(t, fmt.Sprintf("v%d", i), give(t, s, 0, uint32(i+2)))
	}
	assert.Equal(t, fmt.Sprintf("v%d", sparse+11), give(t, s, 0, 1<<20))
	s.free(far)
	assert.Equal(t, far, give(t, s, 0, 1<<20+1))
}

func TestNamesRunOut(t *testing.T) {
	s := newNames(t, "fourteenletters"[:14]+"%d")
	for i := range 10 {
		give(t, s, 0, uint32(i+1))
	}
	_, _, err := s.lowest(nil, s.patterns[0])
	assert.ErrorContains(t, err, "all 10 names are taken")
}

func TestNamesAgreeWithAMap(t *testing.T) {
	for seed := range uint64(8) {
		s := newNames(t, "a%d", "a1%d", "b%dx")
		r := rand.New(rand.NewPCG(seed, 0))
		model := make(map[string]uint32)
		for i := range uint32(3000) {
			switch r.IntN(4) {
			case 0, 1:
				k := r.IntN(3)
				want := lowestIn(s.patterns[k], model)
				require.Equal(t, want, give(t, s, k, i+1))
				model[want] = i + 1
			case 2:
				for name := range model {
					s.free(name)
					delete(model, name)
					break
				}
			case 3:
				name := fmt.Sprintf("%s%d", []string{"a", "a1", "c"}[r.IntN(3)], r.IntN(3000))
				if _, taken := model[name]; !taken {
					s.take(name, i+1)
					model[name] = i + 1
				}
			}
		}
		for name, index := range model {
			got, ok := s.find(name)
			require.True(t, ok, name)
			require.Equal(t, index, got, name)
		}
	}
}

func TestPatternsMustMakeLegalNames(t *testing.T) {
	for _, bad := range []string{"", "veth", "veth%s", "%d%d", "a/%d", "a b%d", "a:%d", "a%%d", "fifteenletterss%d", "\x00%d"} {
		_, err := newPattern(bad)
		assert.ErrorContains(t, err, "name pattern", bad)
	}
	for _, good := range []string{"%d", "veth%d", "a%dz", "é%d", "e=%d"} {
		_, err := newPattern(good)
		assert.NoError(t, err, good)
	}
}

func TestNumbersHaveOneForm(t *testing.T) {
	p, err := newPattern("a%dz")
	require.NoError(t, err)
	for _, bad := range []string{"", "az", "a01z", "a+1z", "a1", "1z", "a1234567890z", "a-1z", "a 1z"} {
		_, ok := p.number(bad)
		assert.False(t, ok, bad)
	}
	n, ok := p.number("a10z")
	assert.True(t, ok)
	assert.Equal(t, 10, n)
}

func BenchmarkNames(b *testing.B) {
	for _, n := range []int{1e3, 1e4, 1e5, 1e6} {
		b.Run(fmt.Sprintf("freeAndGive/%d", n), func(b *testing.B) {
			s := newNames(b, "veth%d", "dummy%d", "br%d")
			for i := range n {
				give(b, s, 0, uint32(i+1))
			}
			r := rand.New(rand.NewPCG(1, 2))
			names := make([]string, 1024)
			for i := range names {
				names[i] = fmt.Sprintf("veth%d", r.IntN(n))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.free(names[i%len(names)])
				give(b, s, 0, 1)
			}
		})
		b.Run(fmt.Sprintf("find/%d", n), func(b *testing.B) {
			s := newNames(b, "veth%d", "dummy%d", "br%d")
			for i := range n {
				give(b, s, 0, uint32(i+1))
			}
			for i := 0; b.Loop(); i++ {
				s.find("br17")
			}
		})
	}
}

func newNames(tb testing.TB, formats ...string) *names {
	tb.Helper()
	s := &names{}
	for _, f := range formats {
		p, err := newPattern(f)
		require.NoError(tb, err)
		s.patterns = append(s.patterns, p)
	}
	separate(s.patterns)
	return s
}

func give(tb testing.TB, s *names, pattern int, index uint32) string {
	tb.Helper()
	p := s.patterns[pattern]
	b, n, err := s.lowest(nil, p)
	if err != nil {
		tb.Fatal(err)
	}
	name := string(b)
	p.own(n, index)
	return name
}

func lowestIn(p *pattern, model map[string]uint32) string {
	for n := 0; ; n++ {
		name := strings.Clone(string(p.format(nil, n)))
		if _, taken := model[name]; !taken {
			return name
		}
	}
}
