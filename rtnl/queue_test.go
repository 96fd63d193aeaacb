package rtnl

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestQueueCoalesces(t *testing.T) {
	set := func(index uint32, name string, mtu uint32) netdev.Change {
		return netdev.Change{Op: netdev.Set, Index: index, Link: &netdev.Link{Index: index, Name: name, MTU: mtu}}
	}
	enslaved := func(index uint32, name string, master uint32) netdev.Change {
		return netdev.Change{Op: netdev.Set, Index: index, Link: &netdev.Link{Index: index, Name: name, Master: master}}
	}
	gone := func(index uint32) netdev.Change { return netdev.Change{Op: netdev.Gone, Index: index} }
	touched := func(index uint32) netdev.Change { return netdev.Change{Op: netdev.Touched, Index: index} }
	modes := func(index uint32) netdev.Change { return netdev.Change{Op: netdev.SetModes, Index: index} }
	for _, test := range []struct {
		name string
		in   []netdev.Change
		want string
	}{
		{"states of one device", []netdev.Change{set(1, "a", 1), set(2, "b", 1), set(1, "a", 2)}, "1=a/2 2=b/1"},
		{"renamed", []netdev.Change{set(1, "a", 1), set(1, "b", 1)}, "1=a/1 1=b/1"},
		{"swap", []netdev.Change{set(1, "x", 0), set(2, "a", 0), set(1, "b", 0)}, "1=x/0 2=a/0 1=b/0"},
		{"enslaved", []netdev.Change{set(1, "a", 0), set(2, "br", 0), enslaved(1, "a", 2)}, "1=a/0 2=br/0 1=a/0"},
		{"gone after states", []netdev.Change{set(1, "a", 1), touched(1), gone(1)}, "-1"},
		{"gone frees its name", []netdev.Change{set(1, "x", 1), set(2, "a", 1), gone(1)}, "-1 2=a/1"},
		{"replaced", []netdev.Change{gone(1), set(1, "a", 1)}, "-1 1=a/1"},
		{"replaced twice", []netdev.Change{gone(1), set(1, "a", 1), gone(1), set(1, "b", 1)}, "-1 1=b/1"},
		{"replaced and gone", []netdev.Change{gone(1), set(1, "a", 1), set(1, "b", 1), gone(1), gone(1)}, "-1"},
		{"touched", []netdev.Change{touched(1), touched(1), touched(2)}, "~1 ~2"},
		{"touched after a state", []netdev.Change{set(1, "a", 1), touched(1)}, "1=a/1"},
		{"state after touched", []netdev.Change{touched(1), set(1, "a", 1), set(1, "a", 2)}, "~1 1=a/2"},
		{"answers", []netdev.Change{modes(1), set(1, "a", 1), modes(1), gone(1), modes(1)}, "?1 -1 ?1 ?1"},
	} {
		q := newQueue()
		q.put(test.in...)
		assert.Equal(t, test.want, show(q.take().changes), test.name)
		assert.Empty(t, q.take().changes, test.name)
	}
}

func TestDiscardKeepsAnswers(t *testing.T) {
	q := newQueue()
	q.put(netdev.Change{Op: netdev.Gone, Index: 1}, netdev.Change{Op: netdev.SetModes, Index: 1})
	q.putModes([]netdev.Change{{Op: netdev.SetModes, Index: 2}})
	q.discard()
	q.put(netdev.Change{Op: netdev.Gone, Index: 1})
	got := q.take()
	assert.Equal(t, "?1 ?2 -1", show(got.changes))
	assert.True(t, got.modesEnd)
	assert.False(t, q.take().modesEnd)
}

// A random history, as a kernel could announce it, taken in random pieces: after
// each piece the consumer has what it had without coalescing, and on the way no
// name is ever that of two devices.
func TestQueueKeepsTheOutcomeAndTheNames(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		kernel, consumer := map[uint32]*netdev.Link{}, map[uint32]*netdev.Link{}
		q := newQueue()
		for range 200 {
			if c, ok := randomChange(rnd, kernel); ok {
				q.put(c)
			}
			if rnd.IntN(20) == 0 {
				for _, c := range q.take().changes {
					if fault := applyTo(consumer, c); fault != "" {
						t.Fatalf("seed %d: %s", seed, fault)
					}
				}
				assert.Equal(t, kernel, consumer, "seed %d", seed)
			}
		}
	}
}

func randomChange(rnd *rand.Rand, kernel map[uint32]*netdev.Link) (netdev.Change, bool) {
	index := uint32(1 + rnd.IntN(5))
	l := netdev.Link{Index: index, Name: string(rune('a' + rnd.IntN(7))), MTU: rnd.Uint32()}
	old := kernel[index]
	switch n := rnd.IntN(10); {
	case n == 0:
		return netdev.Change{Op: netdev.Touched, Index: index}, true
	case n < 3 && old != nil:
		delete(kernel, index)
		return netdev.Change{Op: netdev.Gone, Index: index}, true
	case n < 7 && old != nil:
		l.Name = old.Name
	}
	for _, other := range kernel {
		if other.Name == l.Name && other.Index != index {
			return netdev.Change{}, false
		}
	}
	kernel[index] = &l
	return netdev.Change{Op: netdev.Set, Index: index, Link: &l}, true
}

// applyTo returns what is wrong, or "".
func applyTo(links map[uint32]*netdev.Link, c netdev.Change) string {
	switch c.Op {
	case netdev.Gone:
		delete(links, c.Index)
	case netdev.Set:
		for _, other := range links {
			if other.Name == c.Link.Name && other.Index != c.Index {
				return fmt.Sprintf("%s is %d and %d", other.Name, other.Index, c.Index)
			}
		}
		links[c.Index] = c.Link
	case netdev.Touched:
	default:
		return fmt.Sprintf("op %d", c.Op)
	}
	return ""
}

func show(changes []netdev.Change) string {
	words := make([]string, len(changes))
	for i, c := range changes {
		switch c.Op {
		case netdev.Set:
			words[i] = fmt.Sprintf("%d=%s/%d", c.Index, c.Link.Name, c.Link.MTU)
		case netdev.Gone:
			words[i] = fmt.Sprintf("-%d", c.Index)
		case netdev.Touched:
			words[i] = fmt.Sprintf("~%d", c.Index)
		case netdev.SetModes:
			words[i] = fmt.Sprintf("?%d", c.Index)
		default:
			words[i] = fmt.Sprintf("op %d", c.Op)
		}
	}
	return strings.Join(words, " ")
}
