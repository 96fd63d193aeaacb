package fs

import (
	"time"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/tree"
)

// What the kernel may keep, and how long. Nothing here needs a notification to
// stay right; ARCHITECTURE.md has the table.
const (
	// forever is for names that always mean the same node. Whether the node is
	// still there is asked for at each use of it, by OPEN, READLINK or GETATTR.
	forever = 24 * time.Hour
	// moment is for attributes; the kernel wants those of a directory for each
	// component of each path. A change has to be visible 50 ms after it was
	// announced, and this is the larger part of that.
	moment = 20 * time.Millisecond
)

// nameValidity returns how long the kernel may take the name of s in parent for
// granted. Names of devices and relations change hands, so they are never; nor
// are those of other directories, because a directory that is gone still has to
// answer whoever has it open, nor names that only one device has: what they mean
// is its driver's affair.
func (s spot) nameValidity(parent spot) time.Duration {
	isDir := s.node.Type() == tree.TypeDir
	switch {
	case isDir && s.place != nil && s.place.Fixed:
		return forever
	case !isDir && s.node.Serial() == parent.node.Serial() && s.node.Slot() < attr.FirstPrivate:
		return forever
	}
	return 0
}
