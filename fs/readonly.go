package fs

import "github.com/hanwen/go-fuse/v2/fuse"

// readOnly refuses all that would change the tree. The mount is read-only, so
// the kernel asks only where somebody has remounted it.
type readOnly struct{ fuse.RawFileSystem }

func (readOnly) Mknod(<-chan struct{}, *fuse.MknodIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EROFS
}

func (readOnly) Mkdir(<-chan struct{}, *fuse.MkdirIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EROFS
}

func (readOnly) Unlink(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return fuse.EROFS }

func (readOnly) Rmdir(<-chan struct{}, *fuse.InHeader, string) fuse.Status { return fuse.EROFS }

func (readOnly) Rename(<-chan struct{}, *fuse.RenameIn, string, string) fuse.Status {
	return fuse.EROFS
}

func (readOnly) Link(<-chan struct{}, *fuse.LinkIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.EROFS
}

func (readOnly) Symlink(<-chan struct{}, *fuse.InHeader, string, string, *fuse.EntryOut) fuse.Status {
	return fuse.EROFS
}

func (readOnly) Create(<-chan struct{}, *fuse.CreateIn, string, *fuse.CreateOut) fuse.Status {
	return fuse.EROFS
}

func (readOnly) Tmpfile(<-chan struct{}, *fuse.CreateIn, *fuse.CreateOut) fuse.Status {
	return fuse.EROFS
}

func (readOnly) SetAttr(<-chan struct{}, *fuse.SetAttrIn, *fuse.AttrOut) fuse.Status {
	return fuse.EROFS
}

func (readOnly) Write(<-chan struct{}, *fuse.WriteIn, []byte) (uint32, fuse.Status) {
	return 0, fuse.EROFS
}

func (readOnly) Fallocate(<-chan struct{}, *fuse.FallocateIn) fuse.Status { return fuse.EROFS }

// Forget is free: nothing is remembered of a node.
func (readOnly) Forget(uint64, uint64) {}

// Access is asked only where the kernel doesn't check the modes itself.
func (readOnly) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }

// StatFs answers as sysfs does: there are no blocks.
func (readOnly) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	const block, nameMax = 4096, 255
	*out = fuse.StatfsOut{Bsize: block, Frsize: block, NameLen: nameMax}
	return fuse.OK
}
