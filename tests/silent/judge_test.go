package silent_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// look is what was known, and then what was true.
type look struct {
	view
	real snapshot
}

// tables are the claims to hold against the kernel.
type tables struct {
	rows  map[string]*attr.Row
	names map[string]attr.NameSource
}

func tablesOf(rows []attr.Row) tables {
	t := tables{map[string]*attr.Row{}, map[string]attr.NameSource{}}
	for i := range rows {
		t.rows[rows[i].Path] = &rows[i]
	}
	for _, n := range attr.Names {
		t.names[n.Path] = n.Names
	}
	return t
}

// violation is a claim that didn't hold.
type violation struct {
	scene, knob, device, path string
	up                        bool
	why                       string
}

func (v violation) String() string {
	return fmt.Sprintf("%s, knob %q: %s of %s (UP %t) %s", v.scene, v.knob, v.path, v.device, v.up, v.why)
}

// observation is one change of one file or name.
type observation struct {
	scene, knob, via string
	device, kind     string
	up               bool // after the change
	path, class      string
	announced        bool
	heard            heard
}

var (
	queue     = regexp.MustCompile(`^queues/([rt]x)-\d+`)
	relations = regexp.MustCompile(`^(upper_|lower_|brif/).+`)
	charDev   = regexp.MustCompile(`^(macvtap/)?tap\d+`)
	// drifting files move on their own, so that only a knob made for them counts.
	drifting = regexp.MustCompile(`^statistics/|_timer$|^brforward$`)
)

// pattern returns what the tables call a path.
func pattern(path string) string {
	if p, ok := patterns.Load(path); ok {
		return p.(string)
	}
	p := queue.ReplaceAllString(path, "queues/$1-*")
	p = charDev.ReplaceAllString(p, "${1}tap*")
	p = relations.ReplaceAllString(p, "$1*")
	patterns.Store(path, p)
	return p
}

// patterns remembers what pattern returned: each path is asked for a thousand
// times.
var patterns sync.Map

// judge compares two looks with a knob turned in between. It returns each
// change, and each claim of the tables that didn't hold.
type judge struct {
	tables
	before, after look
	seen          []observation
	bad           []violation
}

func (j *judge) run() {
	for index, d := range j.after.real {
		if j.after.links[index] == nil {
			j.violate(index, ".", "is there, but was not announced")
			continue
		}
		for path := range d.files {
			j.file(index, path)
		}
		j.namesOf(index)
	}
	for index, d := range j.before.real {
		if j.after.real[index] == nil && j.after.links[index] != nil {
			j.violate(index, ".", "is gone, but "+d.name+" was not announced as gone")
		}
	}
}

func (j *judge) violate(index uint32, path, why string) {
	v := violation{device: fmt.Sprintf("ifindex %d", index), path: path, why: why}
	if l := j.after.links[index]; l != nil {
		v.device, v.up = l.Name, l.Up()
	}
	v.why += fmt.Sprintf(" (heard of it: %+v)", j.after.heard[index])
	j.bad = append(j.bad, v)
}

// file holds one file against its row.
func (j *judge) file(index uint32, path string) {
	row := j.rows[pattern(path)]
	now := j.after.real[index].files[path]
	changed := false
	if was := j.before.real[index]; was != nil {
		content, was := was.files[path]
		changed = was && content != now
	}
	class := j.class(row, index, path)
	if !changed && class != attr.Mirrored {
		return
	}
	announced := j.announced(index, path)
	switch class {
	case attr.Mirrored:
		mirrored := show(row, j.after, index)
		if mirrored != now {
			announced = false
			if !j.blamed(row, index, path) {
				j.violate(index, path, fmt.Sprintf("is mirrored as %q, but is %q", mirrored, now))
			}
		}
	case attr.Kept:
		if !announced {
			j.violate(index, path, fmt.Sprintf("is kept as %q, but is %q", j.before.real[index].files[path], now))
		}
	default:
		if row != nil && row.Decode != nil {
			announced = announced && show(row, j.after, index) == now
		}
	}
	if changed {
		j.observe(index, path, class.String(), announced)
	}
}

// class returns the class of a file. Speed and duplex are polled also above a device
// that stands on one in another namespace: the row sees only its own device.
func (j *judge) class(row *attr.Row, index uint32, path string) attr.Class {
	class := row.ClassOf(j.after.links[index])
	if (path == "speed" || path == "duplex") && class == attr.Mirrored && j.standsAbroad(index) {
		return attr.Polled
	}
	return class
}

// standsAbroad reports that something below the device, at any depth, stands on a
// device in another namespace.
func (j *judge) standsAbroad(index uint32) bool {
	if l := j.after.links[index]; l != nil && l.Abroad {
		return true
	}
	d := j.after.real[index]
	if d == nil {
		return false
	}
	for name := range d.names {
		if below, ok := strings.CutPrefix(name, "lower_"); ok && j.standsAbroad(j.after.real.index(below)) {
			return true
		}
	}
	return false
}

// blamed reports that the mirror had the same wrong value already before.
func (j *judge) blamed(row *attr.Row, index uint32, path string) bool {
	link, was := j.before.links[index], j.before.real[index]
	if link == nil || was == nil || j.class(row, index, path) != attr.Mirrored {
		return false
	}
	mirrored := show(row, j.before, index)
	return mirrored != was.files[path] && mirrored == show(row, j.after, index)
}

// announced reports that a message named the device or, where its value is
// made of a device below, that one.
func (j *judge) announced(index uint32, path string) bool {
	if j.after.heard[index].any() {
		return true
	}
	if path != "speed" && path != "duplex" {
		return false
	}
	for _, l := range []look{j.before, j.after} {
		if d := l.real[index]; d != nil {
			for name := range d.names {
				below, ok := strings.CutPrefix(name, "lower_")
				if ok && j.announced(l.real.index(below), path) {
					return true
				}
			}
		}
	}
	return false
}

// show returns the text that a mirrored file would have.
func show(row *attr.Row, l look, index uint32) string {
	link := l.links[index]
	if row.Path == "uevent" {
		// What stands before INTERFACE belongs to the shape, learned from the file.
		prefix, _, _ := strings.Cut(l.real[index].files["uevent"], "INTERFACE=")
		return string(attr.AppendUevent(nil, prefix, link))
	}
	if row.Show == nil {
		return "(the row can't show it)"
	}
	b, err := row.Show(nil, &attr.Values{Link: link, Modes: l.modes[index]})
	if err != nil {
		return errnoText(err)
	}
	return string(b)
}

// namesOf holds the names that came, went or changed against their source.
func (j *judge) namesOf(index uint32) {
	was, now := j.before.real[index], j.after.real[index]
	if was == nil {
		if !j.after.heard[index].any() {
			j.violate(index, ".", "is new, but was not announced")
		}
		return
	}
	if was.name != now.name {
		j.observe(index, "(its name)", "mirrored", j.after.heard[index].link > 0)
	}
	for path, what := range now.names {
		if was.names[path] != what {
			j.oneName(index, path, what)
		}
	}
	for path, what := range was.names {
		if _, ok := now.names[path]; !ok {
			j.oneName(index, path, what)
		}
	}
}

// oneName judges a name by the message that its source waits for.
func (j *judge) oneName(index uint32, path, what string) {
	p := pattern(path)
	source, known := j.names[p]
	if !known {
		source = attr.FromListing
	}
	top, _, below := strings.Cut(path, "/")
	if !known && (!below || j.names[top] == attr.FromShape) || known && !below && source == attr.FromListing {
		// The directory of a device is never listed live.
		source = attr.FromShape
	}
	announced := false
	switch source {
	case attr.FromRelation:
		other := strings.TrimSuffix(strings.TrimPrefix(what, "-> "), "/brport")
		other = other[strings.LastIndex(other, "/")+1:]
		announced = j.after.heard[index].link > 0
		for _, l := range []look{j.before, j.after} {
			announced = announced || j.after.heard[l.real.index(other)].link > 0
		}
	default:
		announced = j.after.heard[index].link > 0
	}
	if !announced && source != attr.FromListing {
		j.violate(index, path, fmt.Sprintf("came, went or changed (now %q), its source is %s", j.after.real[index].names[path], source))
	}
	j.observe(index, path, source.String(), announced)
}

func (j *judge) observe(index uint32, path, class string, announced bool) {
	l := j.after.links[index]
	j.seen = append(j.seen, observation{
		device: l.Name, kind: kindOf(l), up: l.Up(), path: pattern(path), class: class,
		announced: announced, heard: j.after.heard[index],
	})
}

func kindOf(l *netdev.Link) string {
	kind := l.Kind
	if kind == "" {
		kind = "lo"
	}
	if l.Slave == "bridge" {
		kind += ", port"
	}
	return kind
}
