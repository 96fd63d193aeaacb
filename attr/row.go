package attr

import (
	"io/fs"
	"syscall"

	"github.com/sysfsd/sysfsd/netdev"
)

// Values is what the text of a mirrored file is made of. It is immutable.
type Values struct {
	Link  *netdev.Link
	Modes netdev.Modes
}

// Row declares one file.
type Row struct {
	// Path is relative to the device's directory. A '*' stands for a queue's number.
	Path string
	// Mode holds the permission bits the kernel gives the file. They are for
	// the documentation and for a tree without a kernel behind it; a real
	// tree's own bits win.
	Mode fs.FileMode
	// Class holds while While does; While is nil where it always does. Else is
	// the class that the file has otherwise.
	Class Class
	While *Condition
	Else  Class
	// Source is where the value comes from, for the documentation.
	Source string
	// IFLA is the attribute of RTM_NEWLINK that Decode takes, 0 for none.
	IFLA   uint16
	Decode func(l *netdev.Link, data []byte)
	// Show appends the file's text, or returns the errno that a read of it gets.
	// Mirrored files have it.
	Show func(b []byte, v *Values) ([]byte, error)
	// Keep numbers the Kept files from 0 up, it is of no meaning for others.
	Keep int
	// Format describes the text.
	Format string
}

// ClassOf returns the class the row has for a device.
func (r *Row) ClassOf(l *netdev.Link) Class {
	if r == nil {
		return Waits
	}
	if r.While != nil && !r.While.Holds(l) {
		return r.Else
	}
	return r.Class
}

// Supported reports false for a file that a driver has to support, and doesn't as
// far as the link tells.
func (r *Row) Supported(l *netdev.Link) bool {
	if r.Show == nil {
		return true
	}
	_, err := r.Show(nil, &Values{Link: l})
	return err != syscall.EOPNOTSUPP //nolint:errorlint // Show returns bare errnos.
}
