package tree

import (
	"slices"

	"github.com/sysfsd/sysfsd/dirent"
)

// ledger has the changes of a batch to one directory. They are made at once, removals first: so names can change hands in a batch.
type ledger struct {
	adds    []dirent.Entry
	removes []string
}

func entryOf(name string, n Node) dirent.Entry {
	return dirent.Entry{Name: name, Node: uint64(n), Type: n.Type().Dirent()}
}

// add and remove of one entry may not follow each other in a batch.
func (l *ledger) add(name string, n Node) { l.adds = append(l.adds, entryOf(name, n)) }

// expect makes room for so many additions.
func (l *ledger) expect(n int) { l.adds = slices.Grow(l.adds, n) }

func (l *ledger) remove(name string) { l.removes = append(l.removes, name) }

// settle makes the changes. It returns the entries that were refused because
// another still has the name.
func (l *ledger) settle(dir *dirent.Dir) (refused []dirent.Entry) {
	dir.RemoveAll(l.removes)
	if dir.InsertAll(l.adds) != nil {
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
	pending bag[dirent.Entry]
}

func (l *edgeLedger) add(name string, n Node) {
	l.pending.add(entryOf(name, n))
}

func (l *edgeLedger) remove(name string, n Node) {
	if !l.pending.remove(entryOf(name, n)) {
		l.ledger.remove(name)
	}
}

// settle makes the changes. Names of edges are never refused: they are made of
// names and kinds that are unique.
func (l *edgeLedger) settle(dir *dirent.Dir) {
	l.adds = slices.Collect(l.pending.each())
	l.pending = bag[dirent.Entry]{}
	l.ledger.settle(dir)
}
