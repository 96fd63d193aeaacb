package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// answerTimeout is how long a mount that is there already may take to answer
// before it counts as served: its daemon may be stopped.
const answerTimeout = 2 * time.Second

// recoverDead detaches dead mounts of ours from a directory. One that lives is
// an error.
func recoverDead(at string, log *slog.Logger) error {
	for {
		ours, err := isOurs(at)
		if err != nil || !ours {
			return err
		}
		switch err := ask(at); {
		case errors.Is(err, unix.EACCES):
			return fmt.Errorf("%s is already served by a sysfsd of another user", shown(at))
		case !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED):
			return fmt.Errorf("%s is already served by a sysfsd", shown(at))
		}
		log.Warn("taking away the mount that a killed daemon left", "dir", at)
		if err := detach(at); err != nil {
			return fmt.Errorf("the dead mount on %s can't be taken away: %w", shown(at), err)
		}
	}
}

// isOurs reports that the topmost mount on a path is one of a sysfsd.
func isOurs(at string) (bool, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != at, false })
	if err != nil {
		return false, fmt.Errorf("reading the mount table: %w", err)
	}
	return len(mounts) > 0 && mounts[len(mounts)-1].FSType == "fuse.sysfsd", nil
}

// ask returns what the daemon of a mount answers, in time. The kernel would
// answer stat(2) from its cache for a while after the daemon's death.
func ask(at string) error {
	answer := make(chan error, 1)
	go func() {
		answer <- unix.Statx(unix.AT_FDCWD, at, unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, &unix.Statx_t{})
	}()
	select {
	case err := <-answer:
		return err
	case <-time.After(answerTimeout):
		return unix.ETIMEDOUT
	}
}

// detach unmounts what is dead. Users other than root do it by fusermount3, as
// they mounted.
func detach(at string) error {
	err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EPERM) && exec.Command("fusermount3", "-u", "-z", at).Run() == nil {
		return nil
	}
	return err
}
