package tree

import (
	"iter"

	"github.com/google/btree"

	"github.com/sysfsd/sysfsd/netdev"
)

// table finds objects by serial. A clone is cheap and independent, which is what
// makes a snapshot of a million devices the matter of a microsecond.
type table[T any] struct{ items *btree.BTreeG[item[T]] }

type item[T any] struct {
	value  *T
	serial netdev.Serial
}

// degree of the B-trees, as for the directories.
const degree = 32

func newTable[T any]() table[T] {
	return table[T]{btree.NewG(degree, func(a, b item[T]) bool { return a.serial < b.serial })}
}

func (t table[T]) get(s netdev.Serial) (*T, bool) {
	i, ok := t.items.Get(item[T]{serial: s})
	return i.value, ok
}

func (t table[T]) set(s netdev.Serial, v *T) { t.items.ReplaceOrInsert(item[T]{v, s}) }
func (t table[T]) remove(s netdev.Serial)    { t.items.Delete(item[T]{serial: s}) }
func (t table[T]) clone() table[T]           { return table[T]{t.items.Clone()} }
func (t table[T]) len() int                  { return t.items.Len() }

// all yields the objects in the order of their serials.
func (t table[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		t.items.Ascend(func(i item[T]) bool { return yield(i.value) })
	}
}
