package netdev

import (
	"context"
	"iter"
)

// Op is the kind of a Change.
type Op uint8

// The kinds of change.
const (
	// Set says that the device Link.Index is now as Link says.
	Set Op = iota
	// Gone says that no device has the ifindex any more in this namespace.
	Gone
	// SetModes brings speed and duplex of Index.
	SetModes
	// Touched says that something of Index changed that Link doesn't hold, such
	// as a bridge port's options: whatever was kept of it is asked for again.
	Touched
)

// Change is one change of one device.
type Change struct {
	Link  *Link // only Set; immutable
	Modes Modes // only SetModes
	Index uint32
	Op    Op
}

// Batch is a run of changes in the order of the kernel's announcements. It is
// applied as a whole: nobody sees a part of it.
type Batch struct {
	Changes []Change
	// Full says that the changes are the result of a dump: a device that they
	// don't set is gone.
	Full bool
	// Recheck says that announcements may have been lost before this batch, so
	// that a device may have been replaced by another with the same ifindex.
	Recheck bool
}

// Source tells of all devices of one namespace.
type Source interface {
	// Batches yields a Full batch first, then changes as they come, until ctx
	// ends or the source can't go on; the error says why. One caller at a time.
	Batches(ctx context.Context) iter.Seq2[Batch, error]
	// Ask requests SetModes for devices, in some later batch. It never blocks;
	// asking twice before the answer is asking once.
	Ask(indexes []uint32)
}
