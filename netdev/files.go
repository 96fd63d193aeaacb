package netdev

// Dir names one directory of the tree behind the mirror: a device's, or one
// that a device hangs below.
type Dir struct {
	Path   string // relative to the root of sysfs: "devices/virtual/net/eth0"
	Serial Serial // of the device; descriptors may be held under it
	Index  uint32 // its ifindex, 0: not a device's directory
}

// Stat is what stat(2) says of a file behind the mirror.
type Stat struct {
	Ino   uint64
	Size  int64
	Mode  uint32
	Nlink uint32
	UID   uint32
	GID   uint32
}

// Dirent is one entry of a directory behind the mirror.
type Dirent struct {
	Name string
	Type uint8 // DT_DIR, DT_REG, DT_LNK
}

// Files reads, at the moment of the call, what the mirror doesn't hold: from
// the kernel's own sysfs, or from the synthetic population. A path is relative
// to its Dir, "" is the Dir itself. A device's Dir is answered for by that very
// device or not at all, whatever its path names meanwhile.
//
// Errors are syscall.Errno; ENOENT also stands for a device that is gone.
// Methods may be called from any goroutine.
type Files interface {
	Stat(d Dir, path string) (Stat, error)
	List(d Dir, path string) ([]Dirent, error)
	// Read fills p from off on. A text file's content is made anew by each call.
	Read(d Dir, path string, p []byte, off int64) (int, error)
	Readlink(d Dir, path string) (string, error)
	// Forget drops what is held for a device that is gone.
	Forget(s Serial)
}
