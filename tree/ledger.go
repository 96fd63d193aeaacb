package tree

import (
	"maps"
	"slices"

	"github.com/sysfsd/sysfsd/dirent"
)

// ledger is a directory with the changes of a batch that are still to be made.
// They are made at once, removals first: so names can change hands in a batch.
type ledger struct {
	dir     *dirent.Dir
	adds    []dirent.Entry
	removes []string
}

func entryOf(name string, n Node) dirent.Entry {
	return dirent.Entry{Name: name, Node: uint64(n), Type: n.Type().Dirent()}
}

// add and remove of one entry may not follow each other in a batch.
func (l *ledger) add(name string, n Node) { l.adds = append(l.adds, entryOf(name, n)) }
func (l *ledger) remove(name string)      { l.removes = append(l.removes, name) }

// settle makes the changes. It returns the entries that were refused because
// another still has the name.
func (l *ledger) settle() (refused []dirent.Entry) {
	l.dir.RemoveAll(l.removes)
	if l.dir.InsertAll(l.adds) != nil {
		for _, e := range l.adds {
			if e.Pos == 0 {
				refused = append(refused, e)
			}
		}
	}
	l.adds, l.removes = nil, nil
	return refused
}

// edgeLedger is a ledger for names that may come and go again within a batch, as
// those of edges do when both ends change.
type edgeLedger struct {
	ledger
	pending map[dirent.Entry]struct{}
}

func (l *edgeLedger) add(name string, n Node) {
	if l.pending == nil {
		l.pending = make(map[dirent.Entry]struct{})
	}
	l.pending[entryOf(name, n)] = struct{}{}
}

func (l *edgeLedger) remove(name string, n Node) {
	e := entryOf(name, n)
	if _, ok := l.pending[e]; ok {
		delete(l.pending, e)
		return
	}
	l.ledger.remove(name)
}

// settle makes the changes. Names of edges are never refused: they are made of
// names and kinds that are unique.
func (l *edgeLedger) settle() {
	l.adds = slices.Collect(maps.Keys(l.pending))
	l.pending = nil
	l.ledger.settle()
}
