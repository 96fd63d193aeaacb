package sysfs

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// desc is a file descriptor that several goroutines use. It is closed by the
// last of them, so that no number is used after it became another file's.
type desc struct {
	fd    int
	users atomic.Int32
}

// newDesc returns a desc with one user: the caller.
func newDesc(fd int) *desc {
	d := &desc{fd: fd}
	d.users.Store(1)
	return d
}

// acquire adds a user, unless the descriptor is closed already.
func (d *desc) acquire() bool {
	if d == nil {
		return false
	}
	for {
		users := d.users.Load()
		if users == 0 {
			return false
		}
		if d.users.CompareAndSwap(users, users+1) {
			return true
		}
	}
}

// release takes a user away. A nil desc has none.
func (d *desc) release() {
	if d == nil {
		return
	}
	users := d.users.Add(-1)
	if users < 0 {
		panic("sysfs: release of a descriptor without users")
	}
	if users == 0 {
		_ = unix.Close(d.fd) // Nothing was written to it.
	}
}
