package fs

import (
	"path"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/tree"
)

func TestLinksBetweenDevicesFollowARename(t *testing.T) {
	w := newWorld(t, 300)
	b := w.crowd(2)
	port := w.device(func(d *tree.Device) bool { return d.Master == b.Serial && d.Link.Kind != "veth" })
	up, down := w.node(port.Path()+"/upper_"+b.Link.Name), w.node(b.Path()+"/lower_"+port.Link.Name)
	master, class := w.node(port.Path()+"/master"), w.node("class/net/"+b.Link.Name)
	brif := w.node(b.Path() + "/brif/" + port.Link.Name)
	require.NoError(t, w.pop.Rename(b.Link.Index, "newbridge"))
	w.apply()
	require.NoError(t, w.pop.Rename(port.Link.Index, "newport"))
	w.apply()
	for node, want := range map[uint64]string{
		up: "../newbridge", master: "../newbridge", down: "../newport", brif: "../../newport/brport",
		class: "../../devices/virtual/net/newbridge",
	} {
		text, status := w.readlink(node)
		assert.Equal(t, fuse.OK, status)
		assert.Equal(t, want, text)
	}
	assert.Equal(t, []uint64{up, down, brif}, []uint64{
		w.node("devices/virtual/net/newport/upper_newbridge"),
		w.node("devices/virtual/net/newbridge/lower_newport"), w.node("devices/virtual/net/newbridge/brif/newport"),
	}, "an edge keeps its numbers")
}

func TestLinksOfWhatIsGoneAreNotThere(t *testing.T) {
	w := newWorld(t, 150)
	d := w.device(hardware)
	var nodes []uint64
	for _, at := range []string{d.Path() + "/subsystem", d.Path() + "/device", "class/net/" + d.Link.Name, path.Dir(d.Home.Path) + "/driver"} {
		nodes = append(nodes, w.node(at))
	}
	w.del(d.Link.Name)
	for _, node := range nodes {
		_, status := w.readlink(node)
		assert.Equal(t, fuse.ENOENT, status)
	}
}

func TestWhatIsNoLinkHasNoText(t *testing.T) {
	w := newWorld(t, 30)
	for _, at := range []string{"devices/virtual/net/lo/mtu", "devices/virtual/net/lo", "devices/virtual/net/lo/queues"} {
		text, status := w.readlink(w.node(at))
		assert.Equal(t, fuse.EINVAL, status, at)
		assert.Empty(t, text, at)
	}
}
