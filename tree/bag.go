package tree

import (
	"iter"
	"maps"
	"slices"
)

// bag is a set that is small for most devices and huge for a few: a bridge has
// one port or ten thousand. Its zero value is empty.
type bag[T comparable] struct {
	few  []T
	many map[T]struct{} // instead of few, once there are more than fewest
}

const fewest = 8

// add puts v in, if it isn't.
func (b *bag[T]) add(v T) {
	switch {
	case b.many != nil:
		b.many[v] = struct{}{}
	case slices.Contains(b.few, v):
	case len(b.few) < fewest:
		b.few = append(b.few, v)
	default:
		b.many = make(map[T]struct{}, 2*fewest)
		for _, old := range b.few {
			b.many[old] = struct{}{}
		}
		b.few, b.many[v] = nil, struct{}{}
	}
}

// remove reports whether v was a member.
func (b *bag[T]) remove(v T) bool {
	if b.many != nil {
		n := len(b.many)
		delete(b.many, v)
		return len(b.many) < n
	}
	i := slices.Index(b.few, v)
	if i >= 0 {
		b.few = slices.Delete(b.few, i, i+1)
	}
	return i >= 0
}

func (b *bag[T]) len() int { return len(b.few) + len(b.many) }

// each yields the members, which must not change meanwhile.
func (b *bag[T]) each() iter.Seq[T] {
	if b.many != nil {
		return maps.Keys(b.many)
	}
	return slices.Values(b.few)
}

// bags are bags by key; empty ones aren't kept.
type bags[K, T comparable] map[K]*bag[T]

func (m bags[K, T]) add(k K, v T) {
	b, ok := m[k]
	if !ok {
		b = &bag[T]{}
		m[k] = b
	}
	b.add(v)
}

func (m bags[K, T]) remove(k K, v T) {
	b, ok := m[k]
	if !ok {
		return
	}
	if b.remove(v); b.len() == 0 {
		delete(m, k)
	}
}

// each yields the members of a bag, which must not change meanwhile.
func (m bags[K, T]) each(k K) iter.Seq[T] {
	if b, ok := m[k]; ok {
		return b.each()
	}
	return func(func(T) bool) {}
}

// all returns the members of a bag.
func (m bags[K, T]) all(k K) []T { return slices.Collect(m.each(k)) }
