package tree

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/dirent"
	"github.com/sysfsd/sysfsd/hashpos"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/nlinkcount"
)

// Options say how a tree is built.
type Options struct {
	Files  netdev.Files // what stands behind the mirror
	Logger *slog.Logger
	// Hash orders the directories; nil is a hash under a random key.
	Hash  hashpos.Hash
	Index string // kind of directory index, empty: dirent.Default
	Width nlinkcount.Width
	// Trusted says that Files never differs from what the tables and the source
	// say, so that devices needn't be checked: a synthetic population.
	Trusted bool
}

// Tree is one namespace. The fields below the snapshot belong to the writer: the
// goroutine in Run, or a test that calls Apply itself.
type Tree struct {
	options  Options
	log      *slog.Logger
	Paths    *attr.Paths
	snapshot atomic.Pointer[Snapshot]
	answers  interner
	private  privates

	next    *Snapshot // what will be published
	edition uint64    // counts publications
	serial  netdev.Serial
	byIndex map[uint32]*Device
	places  places
	edges   edges
	shapes  shapes
	now     func() time.Time
	dead    []netdev.Serial // objects that the next publication won't have
	checks  *checks
}

// New returns an empty tree: the directories that are always there.
func New(o Options) (*Tree, error) {
	if o.Index == "" {
		o.Index = dirent.Default
	}
	if o.Hash == nil {
		o.Hash = hashpos.Keyed(hashpos.RandomKey())
	}
	if _, err := dirent.New(o.Index, o.Hash); err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	t := &Tree{
		options: o,
		log:     o.Logger,
		Paths:   attr.NewPaths(),
		next:    &Snapshot{devices: newTable[Device](), places: newTable[Place](), edges: newTable[Edge]()},
		byIndex: make(map[uint32]*Device),
		places:  places{byPath: make(map[string]*place), changed: make(map[*place]struct{})},
		edges:   newEdges(),
		shapes:  newShapes(),
		now:     time.Now,
		checks:  newChecks(),
	}
	t.plant()
	t.settlePlaces()
	t.publish()
	return t, nil
}

// Snapshot returns the tree as it was last published.
func (t *Tree) Snapshot() *Snapshot { return t.snapshot.Load() }

// newSerial returns a number that no object had before.
func (t *Tree) newSerial() netdev.Serial {
	t.serial++
	if t.serial > maxSerial {
		panic("tree: no serials left")
	}
	return t.serial
}

// newDir returns an empty directory.
func (t *Tree) newDir() *dirent.Dir {
	index, err := dirent.New(t.options.Index, t.options.Hash)
	if err != nil {
		panic("tree: New has tried this kind of index: " + err.Error())
	}
	return dirent.NewDir(index, t.options.Width)
}

// publish makes what was prepared visible, at once.
func (t *Tree) publish() {
	t.freezePlaces()
	t.freezeRelations()
	published := t.next
	t.next = published.clone() // While it is still nobody's but ours.
	t.edition++
	t.snapshot.Store(published)
	t.private.drop(t.dead)
	t.dead = t.dead[:0]
}
