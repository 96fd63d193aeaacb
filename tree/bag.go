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

const fewest = 16

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

func (b *bag[T]) remove(v T) {
	if b.many != nil {
		delete(b.many, v)
	} else if i := slices.Index(b.few, v); i >= 0 {
		b.few = slices.Delete(b.few, i, i+1)
	}
}

func (b *bag[T]) len() int { return len(b.few) + len(b.many) }

// all yields the members as they were at the call; they may be removed meanwhile.
func (b *bag[T]) all() iter.Seq[T] {
	members := slices.Clone(b.few)
	if b.many != nil {
		members = slices.AppendSeq(make([]T, 0, len(b.many)), maps.Keys(b.many))
	}
	return slices.Values(members)
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

func (m bags[K, T]) all(k K) iter.Seq[T] {
	if b, ok := m[k]; ok {
		return b.all()
	}
	return func(func(T) bool) {}
}
