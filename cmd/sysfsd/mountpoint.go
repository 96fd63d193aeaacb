package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// answerTimeout is how long a mount that is there already may take to answer
// before it counts as served: its daemon may be stopped.
const answerTimeout = 2 * time.Second

// prepareMountpoint makes sure that a tree can be mounted on a directory. The
// dead mount of a daemon that was killed is taken away, never stacked upon.
func prepareMountpoint(dir string, log *slog.Logger) error {
	at, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("mount point %s: %w", dir, unwrapPath(err))
	}
	if err := recoverDead(at, log); err != nil {
		return err
	}
	st, err := os.Stat(at)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("mount point %s does not exist", dir)
	case err != nil:
		return fmt.Errorf("mount point %s: %w", dir, unwrapPath(err))
	case !st.IsDir():
		return fmt.Errorf("mount point %s is not a directory", dir)
	}
	if !isEmpty(at) {
		log.Warn("the mount point is not empty, what it holds is hidden", "dir", dir)
	}
	return nil
}

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
		top, err := ourMount(at)
		if err != nil || top != nil {
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

// recoverDead detaches dead mounts of ours from a directory. One that lives is
// an error.
func recoverDead(at string, log *slog.Logger) error {
	for {
		top, err := ourMount(at)
		if err != nil || top == nil {
			return err
		}
		if !isDead(at) {
			return fmt.Errorf("%s is already served by a sysfsd", at)
		}
		log.Warn("taking away the mount that a killed daemon left", "dir", at)
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("taking away the dead mount on %s: %w", at, err)
		}
	}
}

// ourMount returns the mount of a sysfsd that is the topmost on a directory.
func ourMount(at string) (*mountinfo.Info, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != at, false })
	if err != nil {
		return nil, fmt.Errorf("reading the mount table: %w", err)
	}
	if len(mounts) == 0 {
		return nil, nil
	}
	top := mounts[len(mounts)-1]
	if top.FSType != "fuse.sysfsd" {
		return nil, nil
	}
	return top, nil
}

// isDead reports that nobody serves a mount any more.
func isDead(at string) bool {
	answer := make(chan error, 1)
	go func() {
		var st unix.Stat_t
		answer <- unix.Stat(at, &st)
	}()
	select {
	case err := <-answer:
		return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
	case <-time.After(answerTimeout):
		return false
	}
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
