package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"log/syslog"
	"os"
)

// parseLevel reads --log-level; to trace the protocol is to want all.
func parseLevel(level string, debug bool) (slog.Level, error) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	l, ok := levels[level]
	if !ok {
		return 0, fmt.Errorf("--log-level: %q is none of debug, info, warn, error", level)
	}
	if debug {
		l = slog.LevelDebug
	}
	return l, nil
}

// newLogger returns the log on stderr. A daemon's goes to syslog too, because
// its stderr ends when it is ready.
func newLogger(level slog.Level) *slog.Logger {
	var out io.Writer = os.Stderr
	if isChild() {
		if w, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_NOTICE, "sysfsd"); err == nil {
			out = io.MultiWriter(os.Stderr, w)
		}
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
	log.DebugContext(context.Background(), "started", "version", version(), "args", os.Args[1:])
	return log
}
