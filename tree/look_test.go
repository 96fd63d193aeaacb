package tree

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/dirent"
)

// look helps tests to look at a snapshot by path.
type look struct {
	testing.TB
	*Snapshot
}

func lookAt(t testing.TB, tr *Tree) look { return look{t, tr.Snapshot()} }

// placeOf walks to a place.
func (l look) placeOf(path string) *Place {
	l.Helper()
	p, ok := l.Place(0)
	require.True(l, ok)
	for name := range strings.SplitSeq(path, "/") {
		e, ok := p.Entries.Lookup(name)
		require.True(l, ok, "%s has no %s", p.Path, name)
		p, ok = l.Place(Node(e.Node).Serial())
		require.True(l, ok)
	}
	return p
}

func (l look) device(name string) *Device {
	l.Helper()
	e, ok := l.placeOf(classPath).Entries.Lookup(name)
	require.True(l, ok, "no device %s", name)
	d, ok := l.Device(Node(e.Node).Serial())
	require.True(l, ok)
	return d
}

func (l look) names(path string) []string { return namesOf(l.placeOf(path).Entries) }

func namesOf(v dirent.View) []string {
	names := []string{}
	for e := range v.After(0) {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// relationsOf returns the relations' names of a device, with what they point to.
func (l look) relationsOf(name string) []string {
	l.Helper()
	d := l.device(name)
	var all []string
	for e := range d.Names().After(0) {
		all = append(all, e.Name+" -> "+l.text(Node(e.Node)))
	}
	for e := range d.Ports().After(0) {
		all = append(all, "brif/"+e.Name+" -> "+l.text(Node(e.Node)))
	}
	if d.Master != 0 {
		m, ok := l.Device(d.Master)
		require.True(l, ok)
		all = append(all, "master -> "+d.MasterLink(m))
	}
	slices.Sort(all)
	return all
}

func (l look) text(n Node) string {
	l.Helper()
	_, upper, lower, ok := l.Edge(n.Serial())
	require.True(l, ok)
	text, ok := RelationLink(n.Slot(), upper, lower)
	require.True(l, ok)
	return text
}

// sound checks what holds for every snapshot: a name that resolves has a device,
// which has that name, in both directories; an edge has both its ends.
func (l look) sound() {
	l.Helper()
	class := l.placeOf(classPath).Entries
	require.Equal(l, l.Len(), class.Len())
	for e := range class.After(0) {
		d, ok := l.Device(Node(e.Node).Serial())
		require.True(l, ok, e.Name)
		require.Equal(l, e.Name, d.Link.Name)
		home, ok := l.Place(d.Home.Serial)
		require.True(l, ok, e.Name)
		own, ok := home.Entries.Lookup(e.Name)
		require.True(l, ok, e.Name)
		require.Equal(l, NodeOf(d.Serial, attr.SlotDir, TypeDir), Node(own.Node))
		l.soundRelations(d)
	}
}

func (l look) soundRelations(d *Device) {
	l.Helper()
	for r := range d.Names().After(0) {
		n := Node(r.Node)
		_, upper, lower, ok := l.Edge(n.Serial())
		require.True(l, ok, "%s/%s", d.Link.Name, r.Name)
		want := map[attr.Slot]string{attr.SlotUpper: "upper_" + upper.Link.Name, attr.SlotLower: "lower_" + lower.Link.Name}
		assert.Equal(l, want[n.Slot()], r.Name)
	}
}
