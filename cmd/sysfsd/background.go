package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"log/syslog"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// readyEnv has the descriptor by which a daemon tells the process that started
// it that the mount is ready.
const readyEnv = "SYSFSD_READY_FD"

// readyFD is the first of exec.Cmd's ExtraFiles.
const readyFD = 3

func isChild() bool { return os.Getenv(readyEnv) != "" }

// startChild runs this command again in a session of its own, and returns when
// it is ready or has failed. What it has to say until then goes to our stderr.
func startChild() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Args = os.Args
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", readyEnv, readyFD))
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = w.Close()
	if _, err := r.Read(make([]byte, 1)); err == nil {
		return cmd.Process.Release()
	}
	err = cmd.Wait()
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() > 0 {
		os.Exit(status.ExitCode()) // It has said why.
	}
	return fmt.Errorf("the daemon ended before it was ready: %w", err)
}

// childIsReady tells the process that started us, and lets go of its stderr:
// whoever waits for the end of that output shouldn't wait for the daemon's.
func childIsReady() {
	if !isChild() {
		return
	}
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(int(null.Fd()), fd, 0)
		}
		_ = null.Close()
	}
	w := os.NewFile(readyFD, "ready")
	_, _ = w.Write([]byte{1})
	_ = w.Close()
}

// newLogger returns the log on stderr. A daemon's goes to syslog too, because
// its stderr ends when it is ready.
func newLogger(level string, debug bool) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level: %q is none of debug, info, warn, error", level)
	}
	if debug {
		l = slog.LevelDebug
	}
	var out io.Writer = os.Stderr
	if isChild() {
		if w, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_NOTICE, "sysfsd"); err == nil {
			out = io.MultiWriter(os.Stderr, w)
		}
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: l}))
	log.DebugContext(context.Background(), "started", "version", version(), "args", os.Args[1:])
	return log, nil
}
