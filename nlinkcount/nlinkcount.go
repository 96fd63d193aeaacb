// Package nlinkcount keeps the link count of a directory, 2 and one for each
// subdirectory, so that stat need not count children.
//
// The idea is Eric Biederman's and Benjamin LaHaise's for sysfs (2009): a count
// that its field can't hold is given as 0, and 0 for good, which find and fts
// take as "infer nothing". A wrong small count would make them skip directories.
package nlinkcount

import "fmt"

// Width is the size in bits of the field that st_nlink is kept in. The zero
// Width is Width16.
type Width uint8

const (
	// Width16 is what was proposed for sysfs: 65,533 subdirectories at most.
	Width16 Width = 16
	// Width32 is what the kernel has today.
	Width32 Width = 32
)

// ParseWidth returns the width of so many bits.
func ParseWidth(bits int) (Width, error) {
	if bits != int(Width16) && bits != int(Width32) {
		return 0, fmt.Errorf("nlinkcount: a link count has %d or %d bits, not %d", Width16, Width32, bits)
	}
	return Width(bits), nil
}

// max is the largest link count that fits.
func (w Width) max() uint64 {
	if w == 0 {
		w = Width16
	}
	return 1<<w - 1
}

// own is what a directory has without subdirectories: its name and its dot.
const own = 2

// Count is the link count of one directory. It is a plain value: one writer
// changes it, and a copy is a snapshot. The zero Count is New(Width16).
//
// Invariant: subdirs >= 0; outgrown once subdirs+2 did not fit into width.
type Count struct {
	subdirs  int
	width    Width
	outgrown bool
}

// New returns the count of a directory without subdirectories.
//
// Preconditions: w is Width16, Width32 or 0.
func New(w Width) Count {
	if w != 0 && w != Width16 && w != Width32 {
		panic(fmt.Sprintf("nlinkcount: New with a width of %d bits", w))
	}
	return Count{width: w}
}

// Inc counts a new subdirectory.
func (c *Count) Inc() { c.Add(1) }

// Dec forgets a subdirectory.
func (c *Count) Dec() { c.Add(-1) }

// Add counts n subdirectories at once, or forgets -n. Only the outcome has to
// fit: what comes and goes within one batch is never seen.
func (c *Count) Add(n int) {
	if c.subdirs+n < 0 {
		panic("nlinkcount: Dec without Inc")
	}
	c.subdirs += n
	c.outgrown = c.outgrown || uint64(c.subdirs)+own > c.width.max()
}

// Load returns st_nlink: exact, or 0 from when it first did not fit.
func (c Count) Load() uint32 {
	if c.outgrown {
		return 0
	}
	return uint32(c.subdirs + own)
}

// Subdirs returns the subdirectories counted, whatever Load says.
func (c Count) Subdirs() int { return c.subdirs }
