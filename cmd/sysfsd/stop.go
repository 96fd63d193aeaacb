package main

import (
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/fs"
)

// stopper knows when the daemon is to end.
type stopper struct {
	signals chan os.Signal
	log     *slog.Logger
}

// newStopper catches what would end the program and leave a dead mount: also the
// end of its terminal, unless nohup(1) said not to mind, and of the reader of its
// log, which is no reason to end. It does so for good: a signal that comes when all
// is over must not change the exit status.
func newStopper(log *slog.Logger) *stopper {
	s := &stopper{signals: make(chan os.Signal, 4), log: log}
	signal.Notify(s.signals, unix.SIGINT, unix.SIGTERM)
	if !signal.Ignored(unix.SIGHUP) {
		signal.Notify(s.signals, unix.SIGHUP)
	}
	signal.Ignore(unix.SIGPIPE)
	return s
}

// patience is how long an unmount may still take after the second signal.
const patience = time.Second

var errSourceEnded = errors.New("the source of devices ended")

// wait serves until a signal, until somebody unmounts, or until the mirror
// fails, and leaves no mount behind.
func (s *stopper) wait(m mounted, mirror <-chan error) error {
	var failed error
	select {
	case <-s.signals:
	case <-m.Done():
		return nil
	case failed = <-mirror:
		if failed == nil {
			failed = errSourceEnded
		}
	}
	tellSystemd(daemon.SdNotifyStopping, s.log)
	return both(failed, s.unmount(m))
}

// mounted is the part of fs.Mounted that ends it.
type mounted interface {
	Done() <-chan struct{}
	Unmount() error
	Detach() error
}

var _ mounted = (*fs.Mounted)(nil)

// unmount waits for the unmount. A second signal bounds that.
func (s *stopper) unmount(m mounted) error {
	unmounted := make(chan error, 1)
	go func() { unmounted <- m.Unmount() }()
	select {
	case err := <-unmounted:
		return err
	case <-s.signals:
	}
	select {
	case err := <-unmounted:
		return err
	case <-time.After(patience):
		return m.Detach()
	}
}
