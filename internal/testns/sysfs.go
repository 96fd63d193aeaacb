package testns

import (
	"os"

	"golang.org/x/sys/unix"
)

// Sysfs returns a directory with the namespace's real sysfs, mounted
// ro,nosuid,nodev,noexec: the reference that sysfsd is compared with. It is
// unmounted when the test ends.
func (ns *NS) Sysfs() string {
	ns.tb.Helper()
	dir := ns.WritableSysfs()
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|flags, ""); err != nil {
		ns.tb.Fatalf("testns: make sysfs read-only: %v", err)
	}
	return dir
}

// WritableSysfs is Sysfs for tests that change devices by writing to it.
//
// The superblock is made writable in both cases, and shared by all mounts of
// one namespace: were the first of them read-only, all would be for good.
func (ns *NS) WritableSysfs() string {
	ns.tb.Helper()
	dir, err := os.MkdirTemp("", "testns-sysfs-")
	if err != nil {
		ns.tb.Fatalf("testns: %v", err)
	}
	ns.tb.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			ns.tb.Errorf("testns: %v", err)
		}
	})
	ns.Do(func() { err = unix.Mount("sysfs", dir, "sysfs", 0, "") })
	if err != nil {
		ns.tb.Fatalf("testns: mount sysfs: %v", err)
	}
	ns.tb.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			ns.tb.Errorf("testns: unmount %s: %v", dir, err)
		}
	})
	// Otherwise a systemd machine copies the mount into every service's
	// namespace, where it would outlive the test.
	if err := unix.Mount("", dir, "", unix.MS_PRIVATE, ""); err != nil {
		ns.tb.Fatalf("testns: make sysfs private: %v", err)
	}
	return dir
}
