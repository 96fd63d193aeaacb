// Package dirent keeps the entries of a directory: lookup by name and readdir
// from one ordered index, and the link count beside them.
//
// What it guarantees: a scan, interrupted anywhere, resumed from any position,
// sees every entry that lives through the scan exactly once, whatever is added or
// removed meanwhile, also when hashes collide. It follows from two rules: the
// position of an entry is nobody else's, and it is fixed for the entry's life.
// A scan goes up strictly, so nothing else has to be remembered.
package dirent

import (
	"errors"

	"github.com/sysfsd/sysfsd/hashpos"
)

// Entry is one name in a directory. A million in each of two directories are
// ordinary, so nothing is in it that can be computed: 40 bytes beside the name.
type Entry struct {
	Name string
	Pos  hashpos.Pos // Set by the index; readdir resumes strictly past it.
	Node uint64      // The caller's node number.
	Type uint8       // DT_DIR, DT_LNK or DT_REG.
}

var (
	// ErrExist means that the directory has an entry of that name already.
	ErrExist = errors.New("the name exists already")
	// ErrKind means that there is no index variant of that name.
	ErrKind = errors.New("no such kind of index")
)
