package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/nlinkcount"
)

func TestAnEmptyTreeHasItsDirectories(t *testing.T) {
	l := lookAt(t, newTree(t, &fakeFiles{}))
	assert.Empty(t, l.names(classPath))
	assert.Equal(t, []string{"virtual"}, l.names("devices"))
	assert.Equal(t, uint32(2), l.placeOf(virtualPath).Entries.Nlink())
}

func TestDevicesComeChangeAndGo(t *testing.T) {
	files := &fakeFiles{}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "lo")), set(link(2, "a"))))
	before := lookAt(t, tr)
	a := before.device("a")
	tr.Apply(batch(set(link(2, "a", func(l *netdev.Link) { l.MTU = 9000 }))))
	after := lookAt(t, tr)
	assert.Equal(t, uint32(1500), before.device("a").Link.MTU, "what was published never changes")
	assert.Equal(t, uint32(9000), after.device("a").Link.MTU)
	assert.Equal(t, a.Serial, after.device("a").Serial)
	assert.Equal(t, uint32(4), after.placeOf(virtualPath).Entries.Nlink())
	assert.Equal(t, uint32(2), after.placeOf(classPath).Entries.Nlink(), "class/net has links only")

	tr.Apply(batch(goneAt(2), goneAt(77)))
	assert.Equal(t, []string{"lo"}, lookAt(t, tr).names(classPath))
	assert.Equal(t, []netdev.Serial{a.Serial}, files.forgotten)
}

func TestARenameKeepsTheSerialARecreationDoesNot(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	tr.Apply(full(set(link(2, "a"))))
	serial := lookAt(t, tr).device("a").Serial
	tr.Apply(batch(set(link(2, "b"))))
	assert.Equal(t, serial, lookAt(t, tr).device("b").Serial)
	tr.Apply(batch(goneAt(2), set(link(2, "b"))))
	assert.NotEqual(t, serial, lookAt(t, tr).device("b").Serial, "same name, same ifindex, another device")
	lookAt(t, tr).sound()
}

func TestNamesChangeHandsWithinABatch(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	tr.Apply(full(set(link(2, "a")), set(link(3, "b")), set(link(4, "c"))))
	l := lookAt(t, tr)
	a, b := l.device("a").Serial, l.device("b").Serial
	tr.Apply(batch(set(link(2, "tmp")), set(link(3, "a")), set(link(2, "b"))))
	l = lookAt(t, tr)
	assert.Equal(t, a, l.device("b").Serial)
	assert.Equal(t, b, l.device("a").Serial)

	tr.Apply(batch(goneAt(2), set(link(9, "b"))))
	l = lookAt(t, tr)
	assert.NotEqual(t, a, l.device("b").Serial)
	assert.Equal(t, []string{"a", "b", "c"}, l.names(virtualPath))
	l.sound()
}

func TestWhatAFullBatchDoesNotHaveIsGone(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	tr.Apply(full(set(link(2, "a")), set(link(3, "b"))))
	b := lookAt(t, tr).device("b").Serial
	tr.Apply(full(set(link(3, "b")), set(link(4, "d"))))
	l := lookAt(t, tr)
	assert.Equal(t, []string{"b", "d"}, l.names(classPath))
	assert.Equal(t, b, l.device("b").Serial)
}

func TestALostReplacementIsSeenByTheRealInode(t *testing.T) {
	files := &fakeFiles{inos: map[string]uint64{virtualPath + "/a": 100, virtualPath + "/b": 200}}
	tr := newTree(t, files)
	tr.Apply(full(set(link(2, "a")), set(link(3, "b"))))
	tr.compare(tr.checks.take(9))
	l := lookAt(t, tr)
	a, b := l.device("a").Serial, l.device("b").Serial
	files.mu.Lock()
	files.inos[virtualPath+"/a"] = 101
	files.mu.Unlock()
	tr.Apply(netdev.Batch{Full: true, Recheck: true, Changes: []netdev.Change{set(link(2, "a")), set(link(3, "b"))}})
	l = lookAt(t, tr)
	assert.NotEqual(t, a, l.device("a").Serial)
	assert.Equal(t, b, l.device("b").Serial)
}

func TestADeviceWhoseNameIsTakenGivesWay(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	tr.Apply(full(set(link(2, "a")), set(link(3, "b"))))
	tr.Apply(batch(set(link(4, "a"))))
	l := lookAt(t, tr)
	assert.Equal(t, uint32(4), l.device("a").Link.Index)
	assert.Equal(t, []string{"a", "b"}, l.names(classPath))
	l.sound()
}

func TestPhysicalDevicesStandBelowTheirParent(t *testing.T) {
	files := &fakeFiles{parents: map[string]string{"eth0": "devices/pci0/virtio2/net/eth0"}}
	tr := newTree(t, files)
	tr.Apply(full(set(link(1, "lo")), set(link(2, "eth0", parent("virtio2")))))
	l := lookAt(t, tr)
	assert.Equal(t, "devices/pci0/virtio2/net/eth0", l.device("eth0").Path())
	assert.Equal(t, "../../devices/pci0/virtio2/net/eth0", l.device("eth0").ClassLink())
	assert.Equal(t, []string{"eth0"}, l.names("devices/pci0/virtio2/net"))
	assert.NotEmpty(t, l.placeOf("devices/pci0/virtio2").Files)
	assert.Empty(t, l.placeOf("devices/pci0/virtio2/net").Files)

	tr.Apply(batch(goneAt(2)))
	assert.Equal(t, []string{"virtual"}, lookAt(t, tr).names("devices"), "the kernel removes the directory too")
}

func TestAnnouncementsDropWhatWasKept(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	tr.Apply(full(set(link(2, "a"))))
	row := tr.Paths.Get(tr.Paths.Known("dev_id")).Row
	d := lookAt(t, tr).device("a")
	require.Nil(t, d.Kept(row))
	tr.Keep(d, row, Answer{Text: "0x0\n"})
	assert.Equal(t, &Answer{Text: "0x0\n"}, lookAt(t, tr).device("a").Kept(row))
	for _, change := range []netdev.Change{set(link(2, "a")), {Op: netdev.Touched, Index: 2}} {
		tr.Keep(lookAt(t, tr).device("a"), row, Answer{Text: "0x0\n"})
		tr.Apply(batch(change))
		assert.Nil(t, lookAt(t, tr).device("a").Kept(row))
	}
}

func TestModesAreAskedForAllThatStandAbove(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	up := func(l *netdev.Link) { l.Flags = 1 }
	down := func(l *netdev.Link) { l.Flags = 0 }
	assert.Empty(t, tr.Apply(full(
		set(link(2, "a", master(5), up)), set(link(3, "m", kind("macvlan"), lower(5), up)),
		set(link(4, "n", kind("macvlan"), lower(3), down)), set(link(5, "br", kind("bridge"), up)), set(link(6, "other", up)),
	)), "after a dump the source asks by itself")
	assert.Equal(t, []uint32{2, 3, 5}, tr.Apply(batch(set(link(2, "a", master(5), up)))))
	modes := netdev.Modes{State: netdev.ModesKnown, Speed: 100}
	assert.Empty(t, tr.Apply(batch(netdev.Change{Op: netdev.SetModes, Index: 5, Modes: modes})))
	assert.Equal(t, modes, lookAt(t, tr).device("br").Modes)
}

func TestLinkCountOutgrowsItsWidth(t *testing.T) {
	for _, c := range []struct {
		name  string
		width nlinkcount.Width
		want  uint32
	}{{"16 bits", nlinkcount.Width16, 0}, {"32 bits", nlinkcount.Width32, 70002}} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree(t, &fakeFiles{}, func(o *Options) { o.Width = c.width })
			var changes []netdev.Change
			for i := range uint32(70000) {
				changes = append(changes, set(link(i+1, fmt.Sprint("v", i))))
			}
			tr.Apply(full(changes...))
			assert.Equal(t, c.want, lookAt(t, tr).placeOf(virtualPath).Entries.Nlink())
		})
	}
}

// TestRandomBatchesLeaveASoundTree drives a model of a kernel, whose states are
// all legal, and compares the tree with it after each batch.
func TestRandomBatchesLeaveASoundTree(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		tr, model := newTree(t, &fakeFiles{}), map[uint32]*netdev.Link{}
		tr.Apply(full())
		for range 200 {
			var b netdev.Batch
			for range 1 + rnd.IntN(6) {
				b.Changes = append(b.Changes, step(rnd, model)...)
			}
			tr.Apply(b)
			l := lookAt(t, tr)
			l.sound()
			require.Len(t, model, l.Len())
			for _, m := range model {
				require.Equal(t, m, l.device(m.Name).Link)
				require.Equal(t, relationsIn(model, m), namesOf(l.device(m.Name).Names()), m.Name)
			}
		}
	}
}

// relationsIn returns the relations' names that a device of the model has.
func relationsIn(model map[uint32]*netdev.Link, of *netdev.Link) []string {
	names := []string{}
	for _, index := range []uint32{of.Master, of.Lower} {
		m, ok := model[index]
		if !ok {
			continue
		}
		if index == of.Master {
			names = append(names, "upper_"+m.Name)
		} else {
			names = append(names, "lower_"+m.Name)
		}
	}
	for _, m := range model {
		if m.Master == of.Index {
			names = append(names, "lower_"+m.Name)
		}
		if m.Lower == of.Index {
			names = append(names, "upper_"+m.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const modelSize = 12

// step makes one change of the model and returns what the kernel would announce.
func step(rnd *rand.Rand, model map[uint32]*netdev.Link) []netdev.Change {
	index := 1 + rnd.Uint32N(modelSize)
	old, ok := model[index]
	if !ok {
		model[index] = link(index, freeName(rnd, model))
		return []netdev.Change{set(model[index])}
	}
	n := *old
	switch rnd.IntN(6) {
	case 0:
		return vanish(model, index)
	case 1:
		n.Name = freeName(rnd, model)
	case 2:
		return swap(rnd, model, old)
	case 3: // Masters are above all ports, so that there are no loops, as in the kernel.
		n.Master = above(rnd, model, index)
	case 4:
		n.Lower = below(rnd, model, index)
	default:
		n.MTU++
	}
	model[index] = &n
	return []netdev.Change{set(&n)}
}

// vanish removes a device; the kernel first releases what stands on it.
func vanish(model map[uint32]*netdev.Link, index uint32) []netdev.Change {
	var changes []netdev.Change
	for i, m := range model {
		if m.Master == index || m.Lower == index {
			n := *m
			if n.Master == index {
				n.Master = 0
			}
			if n.Lower == index {
				n.Lower = 0
			}
			model[i] = &n
			changes = append(changes, set(&n))
		}
	}
	delete(model, index)
	return append(changes, goneAt(index))
}

func swap(rnd *rand.Rand, model map[uint32]*netdev.Link, a *netdev.Link) []netdev.Change {
	for i, b := range model {
		if i == a.Index || rnd.IntN(2) == 0 {
			continue
		}
		tmp, x, y := *a, *a, *b
		tmp.Name, x.Name, y.Name = "tmp", b.Name, a.Name
		model[a.Index], model[i] = &x, &y
		return []netdev.Change{set(&tmp), set(&y), set(&x)}
	}
	return nil
}

func freeName(rnd *rand.Rand, model map[uint32]*netdev.Link) string {
	for {
		name := fmt.Sprint("n", rnd.IntN(2*modelSize))
		if !slices.ContainsFunc(slices.Collect(values(model)), func(l *netdev.Link) bool { return l.Name == name }) {
			return name
		}
	}
}

func values(m map[uint32]*netdev.Link) func(func(*netdev.Link) bool) {
	return func(yield func(*netdev.Link) bool) {
		for _, l := range m {
			if !yield(l) {
				return
			}
		}
	}
}

func above(rnd *rand.Rand, model map[uint32]*netdev.Link, index uint32) uint32 {
	if i := index + 1 + rnd.Uint32N(modelSize); model[i] != nil && model[i].Lower != index {
		return i
	}
	return 0
}

func below(rnd *rand.Rand, model map[uint32]*netdev.Link, index uint32) uint32 {
	if i := rnd.Uint32N(index); model[i] != nil && model[i].Master != index {
		return i
	}
	return 0
}
