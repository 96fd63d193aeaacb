package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// announce says that the mount is ready, to whoever waits for it. An error says
// that nobody does any more.
func announce(at string, devices int, took time.Duration, log *slog.Logger) error {
	fmt.Fprintf(os.Stderr, "sysfsd: ready: %d devices on %s after %.3f s\n", devices, shown(at), took.Seconds())
	status := fmt.Sprintf("STATUS=%d devices when it was ready", devices)
	tellSystemd(daemon.SdNotifyReady+"\n"+status, log)
	return childIsReady()
}

// tellSystemd is sd_notify(3), which does nothing where nobody asked for it.
func tellSystemd(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd wasn't told", "err", err)
	}
}
