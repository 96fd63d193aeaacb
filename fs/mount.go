package fs

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// MountOptions say how a tree is mounted.
type MountOptions struct {
	// AllowOther lets users other than the one who mounts in. Root's mounts are
	// for all in any case: /sys is.
	AllowOther bool
	Debug      bool // trace the protocol
	Logger     *slog.Logger
}

// Mounted is a file system that is served.
type Mounted struct {
	server *fuse.Server
	dir    string
	id     int  // of the mount, in mountinfo
	helper bool // fusermount3 made the mount and has to undo it
	done   chan struct{}
}

// ErrBusy means that the mount was in use: it was detached, so that nobody finds
// it any more, and ends with its last user.
var ErrBusy = errors.New("the mount is in use, it was detached")

// flags of the mount, as those of /sys in a container.
const mountFlags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// requestSize bounds requests, and so the buffers that those that wait hold.
const requestSize = 64 << 10

// Mount serves f on a directory until it is unmounted. It answers requests when
// it returns.
func Mount(dir string, f *FS, o MountOptions) (*Mounted, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("fs: mount: %w", err)
	}
	m := &Mounted{dir: dir, done: make(chan struct{})}
	opts := &fuse.MountOptions{
		FsName: "sysfsd", Name: "sysfsd",
		MaxWrite: requestSize, DisableXAttrs: true, DisableSplice: true,
		// A node number isn't for keeping: name_to_handle_at(2) fails, as on sysfs.
		ExtraCapabilities: fuse.CAP_NO_EXPORT_SUPPORT,
		Debug:             o.Debug,
		Logger:            log.New(slogWriter{o.Logger}, "", 0),
	}
	fd, err := mountDirect(dir, o)
	switch {
	case err == nil:
		m.server, err = fuse.NewServer(f, fmt.Sprintf("/dev/fd/%d", fd), opts)
		if err != nil {
			err = errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH))
		}
	case errors.Is(err, unix.EPERM):
		m.helper = true
		opts.AllowOther = o.AllowOther
		opts.Options = []string{"ro", "nosuid", "nodev", "noexec", "default_permissions"}
		m.server, err = mountByHelper(dir, f, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("fs: mount on %s: %w", dir, err)
	}
	go m.serve()
	if err := m.server.WaitMount(); err != nil {
		return nil, fmt.Errorf("fs: mount on %s: %w", dir, err)
	}
	m.id = topMount(m.dir)
	return m, nil
}

// topMount returns the ID of what is mounted on a directory, topmost; 0: nothing,
// or the table can't be read. It asks nobody who serves a mount.
func topMount(dir string) int {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != dir, false })
	if err != nil || len(mounts) == 0 {
		return 0
	}
	return mounts[len(mounts)-1].ID
}

func (m *Mounted) serve() {
	defer close(m.done)
	m.server.Serve()
}

// mountDirect mounts by mount(2) and returns the descriptor of /dev/fuse.
func mountDirect(dir string, o MountOptions) (int, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open /dev/fuse: %w", err)
	}
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,default_permissions,max_read=%d",
		fd, os.Geteuid(), os.Getegid(), requestSize)
	if o.AllowOther || os.Geteuid() == 0 {
		data += ",allow_other"
	}
	if err := unix.Mount("sysfsd", dir, "fuse.sysfsd", mountFlags, data); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// mountByHelper lets fusermount3 mount, which may where we may not.
func mountByHelper(dir string, f *FS, opts *fuse.MountOptions) (*fuse.Server, error) {
	if _, err := exec.LookPath("fusermount3"); err != nil {
		return nil, fmt.Errorf("not permitted, and no fusermount3 to do it (package fuse3): %w", unix.EPERM)
	}
	return fuse.NewServer(f, dir, opts)
}

// Done is closed when the file system isn't served any more.
func (m *Mounted) Done() <-chan struct{} { return m.done }

// Unmount ends the mount. ErrBusy says that it had to be detached.
func (m *Mounted) Unmount() error {
	select {
	case <-m.done:
		return nil // Somebody else has unmounted it.
	default:
	}
	if topMount(m.dir) != m.id {
		return nil // Somebody has detached it; what is there now is another's.
	}
	if m.helper {
		return m.unmountByHelper()
	}
	err := unix.Unmount(m.dir, 0)
	if errors.Is(err, unix.EBUSY) {
		return m.Detach()
	}
	if err != nil {
		return fmt.Errorf("fs: unmount %s: %w", m.dir, err)
	}
	return nil
}

// Detach takes the mount away without waiting for anything and returns ErrBusy,
// or why it couldn't.
func (m *Mounted) Detach() error {
	var err error
	if m.helper {
		err = fusermount("-u", "-z", m.dir)
	} else {
		err = unix.Unmount(m.dir, unix.MNT_DETACH)
	}
	if err != nil {
		return fmt.Errorf("fs: detach %s: %w", m.dir, err)
	}
	return ErrBusy
}

func (m *Mounted) unmountByHelper() error {
	if err := fusermount("-u", "-q", m.dir); err == nil || topMount(m.dir) != m.id {
		return nil
	}
	return m.Detach()
}

// fusermount runs the helper in a process group of its own: a Ctrl-C that is meant
// for us would end it half-way.
func fusermount(args ...string) error {
	cmd := exec.Command("fusermount3", args...)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	return cmd.Run()
}

// slogWriter passes go-fuse's own messages on.
type slogWriter struct{ log *slog.Logger }

func (w slogWriter) Write(b []byte) (int, error) {
	w.log.Debug("go-fuse", "message", string(b))
	return len(b), nil
}
