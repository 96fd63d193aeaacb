package main

import (
	"errors"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/fs"
)

// stopper knows when the daemon is to end.
type stopper struct{ signals chan os.Signal }

func newStopper() *stopper {
	s := &stopper{signals: make(chan os.Signal, 4)}
	signal.Notify(s.signals, unix.SIGINT, unix.SIGTERM)
	return s
}

func (s *stopper) end() { signal.Stop(s.signals) }

// patience is how long an unmount may still take after the second signal.
const patience = time.Second

var errSourceEnded = errors.New("the source of devices ended")

// wait serves until a signal, until somebody unmounts, or until the mirror
// fails, and leaves no mount behind. A second signal ends the waiting for it.
func (s *stopper) wait(m *fs.Mounted, mirror <-chan error) error {
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
	unmounted := make(chan error, 1)
	go func() { unmounted <- m.Unmount() }()
	select {
	case err := <-unmounted:
		return errors.Join(failed, err)
	case <-s.signals:
	}
	select {
	case err := <-unmounted:
		return errors.Join(failed, err)
	case <-time.After(patience):
		return errors.Join(failed, m.Detach())
	}
}
