package fs

import (
	"errors"
	"log/slog"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

// FS is a tree as a FUSE file system. All methods may be called at any time
// from any goroutine.
type FS struct {
	readOnly
	tree  *tree.Tree
	files netdev.Files
	log   *slog.Logger
	open  *handles
	waits pool
	// listers are who lists with attributes.
	listers listers

	born time.Time // stands in for times that nobody knows

	slotMaster, slotStatistics, slotBrif attr.Slot
}

// New returns the file system of a tree. Files is what stands behind it.
func New(t *tree.Tree, files netdev.Files, log *slog.Logger) *FS {
	return &FS{
		readOnly:       readOnly{fuse.NewDefaultRawFileSystem()},
		tree:           t,
		files:          files,
		log:            log,
		born:           time.Now(),
		open:           newHandles(),
		waits:          newPool(waitingReads),
		slotMaster:     t.Paths.Known("master"),
		slotStatistics: t.Paths.Known("statistics"),
		slotBrif:       t.Paths.Known("brif"),
	}
}

// String names the file system in go-fuse's messages.
func (f *FS) String() string { return "sysfsd" }

// spot is a node in a snapshot: one of place, device and edge is there, unless
// the object is gone.
type spot struct {
	snap   *tree.Snapshot
	node   tree.Node
	place  *tree.Place
	device *tree.Device
}

// at finds the object of a node in the tree as it is now.
func (f *FS) at(id uint64) spot { return spotOf(f.tree.Snapshot(), tree.Node(id)) }

// spotOf finds the object of a node. Edges are found by who needs them: they
// have links only.
func spotOf(snap *tree.Snapshot, node tree.Node) spot {
	s := spot{snap: snap, node: node}
	if d, ok := snap.Device(node.Serial()); ok {
		s.device = d
	} else if p, ok := snap.Place(node.Serial()); ok {
		s.place = p
	}
	return s
}

// dir returns where the tree behind the mirror has the object.
func (s spot) dir() (netdev.Dir, error) {
	switch {
	case s.device != nil:
		return s.device.Dir(), nil
	case s.place != nil:
		return s.place.Dir(), nil
	}
	return netdev.Dir{}, syscall.ENOENT
}

// status turns an error into what the kernel is told. A device that is gone is
// ENOENT, never ENODEV: for readers it is a file that isn't there.
func (f *FS) status(err error) fuse.Status {
	if err == nil {
		return fuse.OK
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		f.log.Error("an error that is no errno", "err", err)
		return fuse.EIO
	}
	switch errno {
	case syscall.ENODEV, syscall.ESTALE, syscall.ENOTDIR:
		return fuse.ENOENT
	}
	return fuse.Status(errno)
}
