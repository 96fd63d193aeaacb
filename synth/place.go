package synth

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
)

// place is what a path of a device's directory leads to.
type place struct {
	pattern string // the path as the tables have it, queue numbers as '*'
	typ     uint8  // DT_*
	queue   uint64 // the number that a '*' stood for
	other   uint32 // the device that a relation's link leads to
}

// find walks a path below a device's directory.
// Preconditions: mu is held, as for all methods of this file.
func (p *Population) find(d *device, path string) (place, bool) {
	if path == "" {
		return place{typ: unix.DT_DIR}, true
	}
	if at, ok := p.relation(d, path); ok {
		return at, true
	}
	at := place{pattern: path}
	if rest, ok := strings.CutPrefix(path, "queues/"); ok {
		if at.pattern, at.queue, ok = d.queuePattern(rest); !ok {
			return at, false
		}
	}
	at.typ = typeOf(at.pattern)
	return at, at.typ != unix.DT_UNKNOWN && p.shapeKey(d).has(at.pattern)
}

// typeOf returns what a path of the tables is, DT_UNKNOWN if it isn't there.
func typeOf(pattern string) uint8 {
	if _, ok := files[pattern]; ok {
		return unix.DT_REG
	}
	if _, ok := dirs[pattern]; ok {
		return unix.DT_DIR
	}
	for i := range attr.Names {
		if attr.Names[i].Path == pattern && !strings.Contains(pattern, "*") {
			return attr.Names[i].Type
		}
	}
	return unix.DT_UNKNOWN
}

// queuePattern turns rx-3/rps_cpus into queues/rx-*/rps_cpus and 3, if the
// device shows that queue.
func (d *device) queuePattern(path string) (pattern string, queue uint64, ok bool) {
	name, rest, deeper := strings.Cut(path, "/")
	n, ok := strings.CutPrefix(name, "rx-")
	if !ok {
		n, ok = strings.CutPrefix(name, "tx-")
	}
	queue, err := strconv.ParseUint(n, 10, 16)
	if err != nil || !ok || queue >= uint64(d.queues()) || strconv.FormatUint(queue, 10) != n {
		return "", 0, false
	}
	pattern = "queues/" + name[:len("rx-")] + "*"
	if deeper {
		pattern += "/" + rest
	}
	return pattern, queue, true
}

// relation finds the links that follow other devices: master, upper_X, lower_X
// and, of a bridge, brif/X.
func (p *Population) relation(d *device, path string) (place, bool) {
	at := place{typ: unix.DT_LNK}
	if path == "master" {
		at.pattern, at.other = path, d.link.Master
		return at, d.link.Master != 0
	}
	for _, r := range [...]struct{ prefix, pattern string }{
		{"upper_", "upper_*"}, {"lower_", "lower_*"}, {"brif/", "brif/*"},
	} {
		name, ok := strings.CutPrefix(path, r.prefix)
		if !ok {
			continue
		}
		at.pattern = r.pattern
		at.other, ok = p.names.find(name)
		return at, ok && p.related(d, r.pattern, at.other)
	}
	return at, false
}

// related reports that a device stands to another as the pattern of a link says.
func (p *Population) related(d *device, pattern string, other uint32) bool {
	o := p.devices.get(other)
	self := d.link.Index
	switch pattern {
	case "upper_*":
		return d.link.Master == other || o.under() == self
	case "lower_*":
		return d.under() == other || o.link.Master == self
	}
	return o.link.Master == self
}

// nlink returns the link count of a directory of a device: two, and its
// directories.
func (p *Population) nlink(d *device, at place) uint32 {
	n := uint32(2)
	if at.pattern == "queues" {
		return n + 2*d.queues()
	}
	key := p.shapeKey(d)
	for _, e := range dirs[at.pattern] {
		if e.Type == unix.DT_DIR && key.has(under(at.pattern, e.Name)) {
			n++
		}
	}
	return n
}
