package tree

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestRelationsFollowTheDevices(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	// The port comes before its bridge, as in a dump by ifindex.
	tr.Apply(full(set(link(2, "p", master(9))), set(link(3, "mv", kind("macvlan"), lower(2)))))
	assert.Equal(t, []string{"upper_mv -> ../mv"}, lookAt(t, tr).relationsOf("p"))
	tr.Apply(batch(set(link(9, "br", kind("bridge")))))
	l := lookAt(t, tr)
	assert.Equal(t, []string{"master -> ../br", "upper_br -> ../br", "upper_mv -> ../mv"}, l.relationsOf("p"))
	assert.Equal(t, []string{"brif/p -> ../../p/brport", "lower_p -> ../p"}, l.relationsOf("br"))
	assert.Equal(t, []string{"lower_p -> ../p"}, l.relationsOf("mv"))

	tr.Apply(batch(set(link(2, "q", master(9)))))
	l = lookAt(t, tr)
	assert.Equal(t, []string{"brif/q -> ../../q/brport", "lower_q -> ../q"}, l.relationsOf("br"))
	assert.Equal(t, []string{"lower_q -> ../q"}, l.relationsOf("mv"))
	l.sound()

	tr.Apply(batch(set(link(2, "q"))))
	l = lookAt(t, tr)
	assert.Empty(t, l.relationsOf("br"))
	assert.Equal(t, []string{"upper_mv -> ../mv"}, l.relationsOf("q"))

	tr.Apply(batch(goneAt(2)))
	assert.Empty(t, lookAt(t, tr).relationsOf("mv"))
	tr.Apply(batch(set(link(2, "back"))))
	assert.Equal(t, []string{"lower_back -> ../back"}, lookAt(t, tr).relationsOf("mv"))
}

func TestEdgesAreFreedWithTheirNames(t *testing.T) {
	tr := newTree(t, &fakeFiles{})
	tr.Apply(full(set(link(2, "p")), set(link(9, "br", kind("bridge")))))
	for range 100 {
		tr.Apply(batch(set(link(2, "p", master(9)))))
		tr.Apply(batch(set(link(2, "p"))))
	}
	assert.Zero(t, tr.next.edges.len())
	for _, left := range []int{len(tr.edges.owned), len(tr.edges.touching), len(tr.edges.dirs), len(tr.edges.waiting)} {
		assert.Zero(t, left)
	}
}

func TestALinkToAPhysicalDeviceGoesUpToWhatIsShared(t *testing.T) {
	files := &fakeFiles{parents: map[string]string{"eth0": "devices/pci0/virtio2/net/eth0"}}
	tr := newTree(t, files)
	tr.Apply(full(set(link(2, "eth0", parent("virtio2"), master(9))), set(link(9, "br", kind("bridge")))))
	l := lookAt(t, tr)
	assert.Equal(t, []string{
		"master -> ../../../../virtual/net/br", "upper_br -> ../../../../virtual/net/br",
	}, l.relationsOf("eth0"))
	assert.Equal(t, []string{
		"brif/eth0 -> ../../../../pci0/virtio2/net/eth0/brport", "lower_eth0 -> ../../../pci0/virtio2/net/eth0",
	}, l.relationsOf("br"))
}

func TestRelationsOfUnknownKindsAreFoundInTheirDirectory(t *testing.T) {
	files := &fakeFiles{indexes: map[string]uint32{"a": 2, "b": 2, "odd": 3}}
	files.set("odd", append([]string{"lower_a"}, plain...)...)
	tr := newTree(t, files)
	tr.Apply(full(set(link(2, "a")), set(link(3, "odd", kind("odd")))))
	assert.Empty(t, lookAt(t, tr).relationsOf("odd"))
	lookTwice(tr)
	assert.Equal(t, []string{"lower_a -> ../a"}, lookAt(t, tr).relationsOf("odd"))
	assert.Equal(t, []string{"upper_odd -> ../odd"}, lookAt(t, tr).relationsOf("a"))

	tr.Apply(batch(set(link(2, "b"))))
	assert.Equal(t, []string{"lower_b -> ../b"}, lookAt(t, tr).relationsOf("odd"), "an edge follows a rename")
	files.set("odd", plain...)
	tr.Apply(batch(netdev.Change{Op: netdev.Touched, Index: 3}))
	lookTwice(tr)
	assert.Empty(t, lookAt(t, tr).relationsOf("odd"))
}

func TestNamesOfTheRealTreeMayBeAhead(t *testing.T) {
	// The names a and b were swapped, and the tree hasn't heard of it.
	files := &fakeFiles{indexes: map[string]uint32{"a": 5, "b": 2, "odd": 3}}
	files.set("odd", append([]string{"lower_b"}, plain...)...)
	tr := newTree(t, files)
	tr.Apply(full(set(link(2, "a")), set(link(3, "odd", kind("odd"))), set(link(5, "b"))))
	lookTwice(tr)
	tr.Apply(batch(set(link(2, "tmp")), set(link(5, "a")), set(link(2, "b"))))
	assert.Equal(t, []string{"lower_b -> ../b"}, lookAt(t, tr).relationsOf("odd"))
	assert.Empty(t, lookAt(t, tr).relationsOf("a"))
}
