package fs

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
)

func TestAllThatWouldChangeTheTreeIsRefused(t *testing.T) {
	w := newWorld(t, 10)
	h := fuse.InHeader{NodeId: w.node("devices/virtual/net/lo")}
	var entry fuse.EntryOut
	for name, do := range map[string]func() fuse.Status{
		"mknod":   func() fuse.Status { return w.Mknod(nil, &fuse.MknodIn{InHeader: h}, "x", &entry) },
		"mkdir":   func() fuse.Status { return w.Mkdir(nil, &fuse.MkdirIn{InHeader: h}, "x", &entry) },
		"unlink":  func() fuse.Status { return w.Unlink(nil, &h, "mtu") },
		"rmdir":   func() fuse.Status { return w.Rmdir(nil, &h, "statistics") },
		"rename":  func() fuse.Status { return w.Rename(nil, &fuse.RenameIn{InHeader: h}, "mtu", "x") },
		"link":    func() fuse.Status { return w.Link(nil, &fuse.LinkIn{InHeader: h}, "x", &entry) },
		"symlink": func() fuse.Status { return w.Symlink(nil, &h, "mtu", "x", &entry) },
		"create":  func() fuse.Status { return w.Create(nil, &fuse.CreateIn{InHeader: h}, "x", &fuse.CreateOut{}) },
		"tmpfile": func() fuse.Status { return w.Tmpfile(nil, &fuse.CreateIn{InHeader: h}, &fuse.CreateOut{}) },
		"setattr": func() fuse.Status { return w.SetAttr(nil, &fuse.SetAttrIn{}, &fuse.AttrOut{}) },
		"write": func() fuse.Status {
			n, status := w.Write(nil, &fuse.WriteIn{InHeader: h}, []byte("1"))
			assert.Zero(t, n)
			return status
		},
		"fallocate": func() fuse.Status { return w.Fallocate(nil, &fuse.FallocateIn{InHeader: h}) },
	} {
		assert.Equal(t, fuse.EROFS, do(), name)
	}
	assert.Zero(t, entry)
}

func TestStatfsHasNoBlocks(t *testing.T) {
	w := newWorld(t, 1)
	out := fuse.StatfsOut{Blocks: 7, Files: 7}
	assert.Equal(t, fuse.OK, w.StatFs(nil, &fuse.InHeader{NodeId: 1}, &out))
	assert.Equal(t, fuse.StatfsOut{Bsize: 4096, Frsize: 4096, NameLen: 255}, out)
}

func TestEveryoneMayLookAndNothingIsRememberedOfANode(t *testing.T) {
	w := newWorld(t, 1)
	assert.Equal(t, fuse.OK, w.Access(nil, &fuse.AccessIn{InHeader: fuse.InHeader{NodeId: 1}, Mask: fuse.R_OK}))
	node := w.node("class/net/lo")
	w.Forget(node, 1)
	_, status := w.getattr(node)
	assert.Equal(t, fuse.OK, status)
}
