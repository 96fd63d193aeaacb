package fs

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyWhoAskedForAttributesGetsThemWithTheNextListing(t *testing.T) {
	w := newWorld(t, 30)
	dir := w.node("devices/virtual/net/lo")
	assert.Zero(t, w.answersFor(1, dir), "nobody knows it yet")
	assert.Zero(t, w.answersFor(1, dir), "it asked for nothing")
	for _, e := range w.list(dir)[2:] {
		var out fuse.EntryOut
		h := &fuse.InHeader{NodeId: dir, Caller: fuse.Caller{Pid: 1}}
		require.Equal(t, fuse.OK, w.Lookup(nil, h, e.Name, &out))
	}
	assert.Zero(t, w.answersFor(2, dir), "another process")
	assert.Equal(t, len(w.list(dir))-2, w.answersFor(1, dir))
}

func TestWhoGetsAttributesIsTestedNowAndThen(t *testing.T) {
	l := &listers{}
	assert.False(t, l.lists(1, 7, 10))
	for range 10 {
		l.asks(1, 0)
	}
	for range retest - 1 {
		assert.True(t, l.lists(1, 7, 10))
		assert.True(t, l.continues(1, 7))
	}
	assert.False(t, l.lists(1, 7, 10))
	assert.False(t, l.continues(1, 7))
}

// answersFor counts the entries that a process's listing has attributes with.
func (w *world) answersFor(pid uint32, dir uint64) int {
	w.Helper()
	out := fuse.NewDirEntryList(make([]byte, roomy), 0)
	in := &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: dir, Caller: fuse.Caller{Pid: pid}}}
	require.Equal(w, fuse.OK, w.ReadDirPlus(nil, in, out))
	_, outs, err := fuse.ParseDirLookupEntries(out.Bytes())
	require.NoError(w, err)
	n := 0
	for _, o := range outs {
		if o.NodeId != 0 {
			n++
		}
	}
	return n
}
