package fs

import (
	"os"
	"syscall"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/tree"
)

// pageSize is the most that a sysfs file shows.
var pageSize = os.Getpagesize()

// heldText returns the text of a file of a device's own directory that is held
// in memory; false if it isn't, or if a read of it fails.
func (f *FS) heldText(d *tree.Device, p attr.Path) ([]byte, bool) {
	if p.Row == nil {
		return nil, false
	}
	var text []byte
	var err error
	switch p.Row.ClassOf(d.Link) {
	case attr.Mirrored, attr.Polled:
		text, err = mirroredText(d, p.Row)
	case attr.Kept:
		text, err = f.keptText(d, p.Row)
	default:
		return nil, false
	}
	return text, err == nil
}

func mirroredText(d *tree.Device, r *attr.Row) ([]byte, error) {
	if r.Show == nil { // Only uevent: its first lines are a part of the shape.
		return attr.AppendUevent(nil, d.Shape.Uevent, d.Link), nil
	}
	return r.Show(nil, &d.Values)
}

// keptText returns what was read of a file since its device was last announced,
// reading it if it was not.
func (f *FS) keptText(d *tree.Device, r *attr.Row) ([]byte, error) {
	if a := d.Kept(r); a != nil {
		return []byte(a.Text), a.Err
	}
	text, err := f.readAll(d.Dir(), r.Path)
	if err == nil || err == syscall.EINVAL { //nolint:errorlint // Files returns bare errnos, and EINVAL is a file's own answer.
		f.tree.Keep(d, r, tree.Answer{Text: string(text), Err: err})
	}
	return text, err
}

// readAll reads a text file behind the mirror, as one snapshot.
func (f *FS) readAll(dir netdev.Dir, path string) ([]byte, error) {
	buf := make([]byte, pageSize)
	n, err := f.files.Read(dir, path, buf, 0)
	return buf[:n], err
}

// text returns the content of a file that isn't binary. It gives up with EINTR
// when cancel is closed while it waits.
func (f *FS) text(s spot, cancel <-chan struct{}) ([]byte, error) {
	dir, err := s.dir()
	if err != nil {
		return nil, err
	}
	p := f.tree.PathOf(s.node.Serial(), s.node.Slot())
	switch {
	case p.Full == "":
		return nil, syscall.ENOENT
	case s.place != nil:
		return f.waits.read(cancel, func() ([]byte, error) { return f.readAll(dir, p.Full) })
	}
	d := s.device
	switch p.Row.ClassOf(d.Link) {
	case attr.Mirrored, attr.Polled:
		return mirroredText(d, p.Row)
	case attr.Kept:
		return f.keptText(d, p.Row)
	case attr.Live:
		return f.readAll(dir, p.Full)
	}
	if attr.NeedsQueues(p.Name) && d.Link.NumTxQueues <= 1 {
		return nil, syscall.ENOENT
	}
	return f.waits.read(cancel, func() ([]byte, error) { return f.readAll(dir, p.Full) })
}
