package fs

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sysfsd/sysfsd/tree"
)

func TestNoAttributesAreGoodForLongerThanAChangeMayTakeToShow(t *testing.T) {
	w := newWorld(t, 100)
	const promised = 50 * time.Millisecond
	for at, n := range w.walk() {
		assert.LessOrEqual(t, n.found.AttrTimeout(), 20*time.Millisecond, at)
		out, _ := w.getattr(n.found.NodeId)
		assert.LessOrEqual(t, out.Timeout(), 20*time.Millisecond, at)
	}
	assert.Less(t, moment, promised/2)
}

func TestNamesAreGoodForeverOnlyWhereTheyAlwaysMeanTheSameNode(t *testing.T) {
	w := newWorld(t, 150)
	b := w.crowd(3)
	port := w.device(func(d *tree.Device) bool { return d.Master == b.Serial })
	card := w.device(hardware)
	for at, want := range map[string]time.Duration{
		"class": forever, "class/net": forever, "devices": forever, "devices/virtual": forever, "devices/virtual/net": forever,

		b.Path() + "/mtu": forever, b.Path() + "/subsystem": forever, b.Path() + "/statistics/rx_bytes": forever,
		b.Path() + "/queues/tx-0/xps_cpus": forever, b.Path() + "/bridge/bridge_id": forever, b.Path() + "/brforward": forever,
		port.Path() + "/brport/state": forever, card.Path() + "/device": forever,

		"class/net/" + b.Link.Name: 0, b.Path(): 0, card.Path(): 0, card.Home.Path: 0,
		b.Path() + "/statistics": 0, b.Path() + "/queues": 0, b.Path() + "/queues/tx-0": 0, b.Path() + "/brif": 0, b.Path() + "/bridge": 0,
		b.Path() + "/lower_" + port.Link.Name: 0, b.Path() + "/brif/" + port.Link.Name: 0, port.Path() + "/upper_" + b.Link.Name: 0,
	} {
		out := w.entry(at)
		assert.Equal(t, want, out.EntryTimeout(), at)
	}
}

func TestANameThatIsGoodForeverMeansTheSameNodeAfterAllChanges(t *testing.T) {
	w := newWorld(t, 100)
	before := w.walk()
	for d := range w.tree.Snapshot().Devices() {
		if d.Link.Name != "lo" && d.Link.Index%3 == 0 {
			assert.NoError(t, w.pop.Rename(d.Link.Index, "new"+decimal(d.Link.Index)))
			w.apply()
		}
	}
	w.crowd(3)
	for at, n := range w.walk() {
		old, ok := before[at]
		if ok && old.found.EntryTimeout() == forever && old.found.NodeId != n.found.NodeId {
			// Only with its directory, whose name was looked up again.
			assert.NotEqual(t, tree.Node(old.found.NodeId).Serial(), tree.Node(n.found.NodeId).Serial(), at)
			assert.NotEqual(t, uint32(syscall.S_IFDIR), n.entry.Mode, at)
		}
	}
}
