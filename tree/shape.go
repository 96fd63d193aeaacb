package tree

import (
	"encoding/binary"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// shapeKey is the state that decides which files a device has. Devices below a
// bus device have a key of their own: what their driver adds is its affair.
type shapeKey struct {
	kind, slave string
	parent      string
	typ         uint16
}

func keyOf(l *netdev.Link) shapeKey {
	k := shapeKey{kind: l.Kind, slave: l.Slave, typ: l.Type}
	if l.HasParent() {
		k.parent = l.More.ParentBus + "/" + l.More.ParentName
	}
	return k
}

// shapes are what was learned, by key; equal ones are shared.
type shapes struct {
	byKey map[shapeKey]*attr.Shape
	equal map[string]*attr.Shape
	votes map[shapeKey]vote
}

// vote counts devices in a row that were found to have another shape than their
// key says.
type vote struct {
	shape *attr.Shape
	n     int
}

// majority is how many devices it takes to change what a key says. One may have
// been looked at while its files came or went.
const majority = 3

func newShapes() shapes {
	return shapes{
		byKey: make(map[shapeKey]*attr.Shape), equal: make(map[string]*attr.Shape), votes: make(map[shapeKey]vote),
	}
}

func (s *shapes) vote(key shapeKey, found *attr.Shape) {
	v := s.votes[key]
	if v.shape != found {
		v = vote{shape: found}
	}
	if v.n++; v.n < majority {
		s.votes[key] = v
		return
	}
	s.byKey[key] = found
	delete(s.votes, key)
}

// shapeOf returns the shape of a device. A kind that nobody has met yet is
// learned now, so that a device never shows without its files; that a device
// differs from its kind is found out by the check that follows each message.
func (t *Tree) shapeOf(d *Device) *attr.Shape {
	key := keyOf(d.Link)
	if s, ok := t.shapes.byKey[key]; ok {
		return s
	}
	s, err := t.learn(d)
	if err != nil {
		// The device went or was renamed meanwhile; its next message tells.
		return t.makeshift(key, d.Link)
	}
	if t.isOrdinary(s) {
		t.shapes.byKey[key] = s
	} else {
		t.shapes.vote(key, s)
	}
	return s
}

// isOrdinary reports that nobody has changed mode or owner of a device's files:
// that must not show on others of its kind.
func (t *Tree) isOrdinary(s *attr.Shape) bool {
	for _, e := range slices.Concat(s.Top, s.Statistics) {
		row := t.Paths.Get(e.Slot).Row
		odd := row != nil && e.Mode&0o7777 != uint32(row.Mode)
		if odd || e.UID != s.Self.UID || e.GID != s.Self.GID {
			return false
		}
	}
	return s.Self.Mode&0o7777 == 0o755
}

// learn reads the shape of a device from the tree behind the mirror.
func (t *Tree) learn(d *Device) (*attr.Shape, error) {
	entries, err := t.options.Files.List(d.Dir(), "")
	if err != nil {
		return nil, err
	}
	s := &attr.Shape{}
	if s.Self, err = t.static(d, "", attr.SlotDir); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if isRelation(e.Name) {
			continue
		}
		if err := t.learnEntry(d, s, e); err != nil {
			return nil, err
		}
	}
	if s.Uevent, err = t.ueventPrefix(d); err != nil {
		return nil, err
	}
	return t.shapes.intern(s), nil
}

// learnEntry adds one entry of a device's directory to its shape.
func (t *Tree) learnEntry(d *Device, s *attr.Shape, e netdev.Dirent) error {
	slot, ok := t.Paths.Top(e.Name, d.Link)
	if !ok {
		t.log.Warn("no number left for a file, it isn't shown", "file", e.Name, "device", d.Link.Name)
		return nil
	}
	st, err := t.static(d, e.Name, slot)
	if err != nil {
		return err
	}
	s.Top = append(s.Top, st)
	if e.Type == unix.DT_DIR {
		s.Subdirs++
	}
	if e.Name == "statistics" {
		return t.learnStatistics(d, s, slot)
	}
	return nil
}

func (t *Tree) learnStatistics(d *Device, s *attr.Shape, dir attr.Slot) error {
	entries, err := t.options.Files.List(d.Dir(), "statistics")
	if err != nil {
		return err
	}
	for _, e := range entries {
		slot, ok := t.Paths.Child(dir, e.Name)
		if !ok {
			// A statistic that this version doesn't know keeps the directory from
			// being answered from memory: it is listed live as any other.
			s.Statistics = nil
			return nil
		}
		st, err := t.static(d, "statistics/"+e.Name, slot)
		if err != nil {
			return err
		}
		s.Statistics = append(s.Statistics, st)
	}
	return nil
}

func (t *Tree) static(d *Device, path string, slot attr.Slot) (attr.Static, error) {
	st, err := t.options.Files.Stat(d.Dir(), path)
	return attr.Static{Slot: slot, Mode: st.Mode, UID: st.UID, GID: st.GID, Size: st.Size}, err
}

// ueventPrefix returns the lines that the kernel puts before the name.
func (t *Tree) ueventPrefix(d *Device) (string, error) {
	buf := make([]byte, 4096)
	n, err := t.options.Files.Read(d.Dir(), "uevent", buf, 0)
	if err != nil {
		return "", err
	}
	prefix, _, ok := strings.Cut(string(buf[:n]), "INTERFACE=")
	if !ok {
		return "", syscall.ENOENT
	}
	return prefix, nil
}

// isRelation reports a name that an edge makes.
func isRelation(name string) bool {
	return name == "master" || strings.HasPrefix(name, "upper_") || strings.HasPrefix(name, "lower_")
}

// intern sorts a shape and returns the one that equals it, if there is one.
func (s *shapes) intern(n *attr.Shape) *attr.Shape {
	var key []byte
	for _, list := range [...][]attr.Static{{n.Self}, n.Top, n.Statistics} {
		slices.SortFunc(list, func(a, b attr.Static) int { return int(a.Slot) - int(b.Slot) })
		for _, e := range list {
			key, _ = binary.Append(key, binary.NativeEndian, e)
		}
	}
	key = append(key, n.Uevent...)
	if old, ok := s.equal[string(key)]; ok {
		return old
	}
	s.equal[string(key)] = n
	return n
}

// makeshift returns a shape for a device whose own can't be read: that of its
// kind in another state, else what the tables hold in memory.
func (t *Tree) makeshift(key shapeKey, l *netdev.Link) *attr.Shape {
	for k, s := range t.shapes.byKey {
		if k.kind == key.kind && k.typ == key.typ {
			return s
		}
	}
	s := &attr.Shape{Self: attr.Static{Slot: attr.SlotDir, Mode: unix.S_IFDIR | 0o755}, Uevent: attr.UeventOf(l)}
	for i := range attr.Rows {
		r := &attr.Rows[i]
		if !r.ClassOf(l).InMemory() || !r.Supported(l) {
			continue
		}
		slot, _ := t.Paths.Top(r.Path, l)
		s.Top = append(s.Top, attr.Static{Slot: slot, Mode: unix.S_IFREG | uint32(r.Mode), Size: 4096})
	}
	return t.shapes.intern(s)
}
