package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mountpoint is a directory that a tree can be mounted on.
type mountpoint struct {
	at string // where it really is: a link may lead elsewhere when it is unmounted
	// lock keeps other daemons away until this one has mounted.
	lock *os.File
}

// prepareMountpoint makes sure that a tree can be mounted on a directory. The dead
// mount of a daemon that was killed is taken away, never stacked upon.
func prepareMountpoint(dir string, log *slog.Logger) (*mountpoint, error) {
	if dir == "" {
		return nil, errors.New("the mount point is an empty string")
	}
	at, err := resolve(dir)
	if err != nil {
		return nil, fmt.Errorf("mount point %s: %w", shown(dir), unwrapPath(err))
	}
	if err := recoverDead(at, log); err != nil {
		return nil, err
	}
	if err := checkDir(dir, at); err != nil {
		return nil, err
	}
	m := &mountpoint{at: at}
	if err := m.claim(); err != nil {
		return nil, err
	}
	if !isEmpty(at) {
		log.Warn("the mount point is not empty, what it holds is hidden", "dir", dir)
	}
	return m, nil
}

// checkDir returns nil for a directory. The user knows it as dir.
func checkDir(dir, at string) error {
	st, err := os.Stat(at)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("mount point %s does not exist", shown(dir))
	case err != nil:
		return fmt.Errorf("mount point %s: %w", shown(dir), unwrapPath(err))
	case !st.IsDir():
		return fmt.Errorf("mount point %s is not a directory", shown(dir))
	}
	return nil
}

// claim sees to it that of several daemons that start at once one mounts. A
// directory that can't be opened is left to mount(2) to judge.
func (m *mountpoint) claim() error {
	lock, err := os.Open(m.at)
	if err != nil {
		return nil
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		_ = lock.Close()
		return fmt.Errorf("another sysfsd is about to mount on %s", shown(m.at))
	}
	m.lock = lock
	ours, err := isOurs(m.at)
	if ours {
		err = fmt.Errorf("%s is already served by a sysfsd", shown(m.at))
	}
	if err != nil {
		m.release()
	}
	return err
}

// release is for when something is mounted there, or nothing will be.
func (m *mountpoint) release() { _ = m.lock.Close() }

// resolve returns the absolute path of a mount point, symbolic links followed,
// without looking at what is mounted there, which may hang or be dead.
func resolve(dir string) (string, error) {
	const maxLinks = 40 // As the kernel.
	for range maxLinks {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", err
		}
		at := filepath.Join(parent, filepath.Base(abs))
		served, err := isOurs(at)
		if err != nil || served {
			return at, err // Nothing is mounted on a link.
		}
		target, err := os.Readlink(at)
		if err != nil {
			return at, nil // No link, or not there: for the caller to see.
		}
		if dir = target; !filepath.IsAbs(target) {
			dir = filepath.Join(parent, target)
		}
	}
	return "", unix.ELOOP
}

func isEmpty(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return true // Not ours to see; mounting will tell.
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// unwrapPath takes the path out of an error that names it elsewhere.
func unwrapPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
