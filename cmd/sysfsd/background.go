package main

import (
	"errors"
	"fmt"
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
	cmd.Args = os.Args // Of mount(8) too, with its name for us.
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
	return endAs(cmd.Wait())
}

// endAs ends the program with the exit status of a child that has said why it
// failed, or returns why it couldn't say.
func endAs(err error) error {
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() > 0 {
		os.Exit(status.ExitCode())
	}
	return fmt.Errorf("the daemon ended before it was ready: %w", err)
}

// childIsReady tells the process that started us, and lets go of its stderr and
// of its directory: whoever waits for the end of that output, or wants to unmount
// what that directory is on, shouldn't wait for the daemon's end.
func childIsReady() error {
	if !isChild() {
		return nil
	}
	w := os.NewFile(readyFD, "ready")
	defer w.Close()
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(int(null.Fd()), fd, 0)
		}
		_ = null.Close()
	}
	_ = os.Chdir("/")
	if _, err := w.Write([]byte{1}); err != nil {
		return errStopped // Whoever started us is gone, by Ctrl-C as a rule.
	}
	return nil
}
