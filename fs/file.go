package fs

import (
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// handle is one open file.
type handle struct {
	// turn is held by the one read(2) that is served; a channel, because the
	// wait for it can be interrupted.
	turn   chan struct{}
	text   []byte // since the last read at 0
	node   uint64
	filled bool
	binary bool // has no text to hold: each read is passed on
}

// handles are the open files by number.
type handles struct {
	mu sync.RWMutex
	// +checklocks:mu
	last uint64
	// +checklocks:mu
	open map[uint64]*handle
	// +checklocks:mu
	nodes map[uint64]int // how many handles a node has
}

func newHandles() *handles {
	return &handles{open: make(map[uint64]*handle), nodes: make(map[uint64]int)}
}

func (t *handles) add(h *handle) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	t.open[t.last] = h
	t.nodes[h.node]++
	return t.last
}

func (t *handles) get(fh uint64) (*handle, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	h, ok := t.open[fh]
	return h, ok
}

func (t *handles) remove(fh uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok := t.open[fh]
	if !ok {
		return
	}
	delete(t.open, fh)
	if t.nodes[h.node]--; t.nodes[h.node] == 0 {
		delete(t.nodes, h.node)
	}
}

// has reports that somebody has a node open.
func (t *handles) has(node uint64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.nodes[node] > 0
}

const readable = 0o444

// Open makes a handle. Files are opened with direct I/O: what read(2) returns is
// what Read returned, never a page that is older or longer.
func (f *FS) Open(_ <-chan struct{}, input *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if input.Flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return fuse.EROFS
	}
	s := f.at(input.NodeId)
	st, err := f.attributes(s)
	if err != nil {
		return f.status(err)
	}
	if st.Mode&readable == 0 {
		return fuse.EACCES // As sysfs, to root too: the file has no show method.
	}
	h := &handle{turn: make(chan struct{}, 1), node: input.NodeId, binary: f.isBinary(s, st)}
	out.Fh = f.open.add(h)
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return fuse.OK
}

// isBinary reports a file that is read in pieces. All text files that aren't in
// memory have the size of a page, as in sysfs.
func (f *FS) isBinary(s spot, st netdev.Stat) bool {
	row := f.tree.PathOf(s.node.Serial(), s.node.Slot()).Row
	if s.device != nil {
		if c := row.ClassOf(s.device.Link); c.InMemory() || c == attr.Kept {
			return false
		}
	}
	return st.Size != sysfsSize
}

// take waits for a place in a channel and reports false if cancel is closed before
// there is one. A place that is free is taken in any case: a signal interrupts
// only who waits.
func take(places chan<- struct{}, cancel <-chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	select {
	case places <- struct{}{}:
		return true
	case <-cancel:
		return false
	}
}

// Release ends a handle.
func (f *FS) Release(_ <-chan struct{}, input *fuse.ReleaseIn) { f.open.remove(input.Fh) }

// Read serves a file from the text that its handle holds. A read at 0 makes the
// text anew, as it does in sysfs; where the device is gone the old text stays.
func (f *FS) Read(cancel <-chan struct{}, input *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	h, ok := f.open.get(input.Fh)
	if !ok {
		return nil, fuse.EBADF
	}
	if h.binary {
		data, err := f.readBinary(f.at(input.NodeId), cancel, buf, int64(input.Offset))
		if err != nil {
			return nil, f.status(err) // go-fuse takes any result for a success.
		}
		return fuse.ReadResultData(data), fuse.OK
	}
	if !take(h.turn, cancel) {
		return nil, fuse.EINTR
	}
	defer func() { <-h.turn }()
	if input.Offset == 0 || !h.filled {
		text, err := f.text(f.at(input.NodeId), cancel)
		switch status := f.status(err); {
		case status == fuse.OK:
			h.text, h.filled = text, true
		case !h.filled || status != fuse.ENOENT:
			return nil, status
		}
	}
	rest := h.text[min(int(input.Offset), len(h.text)):]
	return fuse.ReadResultData(rest[:min(len(rest), len(buf))]), fuse.OK
}

// readBinary passes a read on. One that may wait fills a buffer of its own, for
// it goes on when its reader has given it up.
func (f *FS) readBinary(s spot, cancel <-chan struct{}, buf []byte, off int64) ([]byte, error) {
	dir, err := s.dir()
	if err != nil {
		return nil, err
	}
	p := f.tree.PathOf(s.node.Serial(), s.node.Slot())
	read := func(b []byte) ([]byte, error) {
		n, err := f.files.Read(dir, p.Full, b, off)
		return b[:n], err
	}
	if s.device != nil && p.Row.ClassOf(s.device.Link) == attr.Live {
		return read(buf)
	}
	return f.waits.read(cancel, func() ([]byte, error) { return read(make([]byte, len(buf))) })
}
