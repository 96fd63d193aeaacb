package sysfs

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// inNamespace calls f on a thread in the namespace, that of the calling thread
// where netns isn't a descriptor of one (0, -1).
func inNamespace(netns int, f func() error) error {
	if netns <= 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- onLostThread(netns, f) }()
	return <-done
}

// onLostThread calls f on a thread that enters the namespace and is not used for
// anything else afterwards.
//
// Preconditions: the calling goroutine ends with this call.
func onLostThread(netns int, f func() error) error {
	// Not unlocked, so that the thread ends with the goroutine.
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// All but the main thread, which would sleep in the namespace for ever. While
		// this goroutine has that one, the next gets another.
		defer runtime.UnlockOSThread()
		return inNamespace(netns, f)
	}
	if err := unix.Setns(netns, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", os.NewSyscallError("setns", err))
	}
	return f()
}

// mountDetached returns a mount of the sysfs of the calling thread's network
// namespace. It ends with the descriptor.
func mountDetached() (int, error) {
	fs, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen", err)
	}
	defer func() { _ = unix.Close(fs) }()
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, os.NewSyscallError("fsconfig", err)
	}
	// The mount is read-only, not the superblock: other mounts share that.
	const attributes = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	return fd, os.NewSyscallError("fsmount", err)
}

// openHost returns what is mounted on /sys now.
func openHost() (int, error) {
	fd, err := unix.Open("/sys", unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return fd, os.NewSyscallError("open /sys", err)
}

var errNotSysfs = errors.New("not a sysfs")

// usable returns nil where a root is a sysfs and openat2 can be called.
func usable(root int) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(root, &st); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	if st.Type != unix.SYSFS_MAGIC {
		return errNotSysfs
	}
	fd, err := openat2(root, ".", unix.O_PATH)
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("openat2: %w, as before Linux 5.6", err)
	}
	if err != nil {
		return os.NewSyscallError("openat2", err)
	}
	return unix.Close(fd)
}
