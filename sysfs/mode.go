package sysfs

import (
	"fmt"
	"slices"
)

// Mode says which sysfs is read.
type Mode string

// The modes, in the order in which Auto tries them.
const (
	// Auto is the first of the others that works here.
	Auto Mode = "auto"
	// Detached is a mount of our own that has no place in any tree of mounts:
	// nobody sees it, nothing covers it, and it doesn't keep the namespace alive.
	// It needs CAP_SYS_ADMIN over the namespace.
	Detached Mode = "detached"
	// Host is what is mounted on /sys when Open is called. What is mounted over
	// parts of it later is not entered: EXDEV.
	Host Mode = "host"
	// None is no sysfs at all: everything is ENOENT.
	None Mode = "none"
)

// modes lists the words that a user may choose from.
var modes = []Mode{Auto, Detached, Host, None}

// ParseMode returns the mode of that name.
func ParseMode(s string) (Mode, error) {
	if m := Mode(s); slices.Contains(modes, m) {
		return m, nil
	}
	return "", fmt.Errorf("sysfs: mode %q is none of %q", s, modes)
}
