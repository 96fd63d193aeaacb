package testns

import (
	"os"

	"golang.org/x/sys/unix"
)

// OpenTun attaches to a tun or tap device as its program does, which gives the
// device a carrier; closing the file takes it away, and with it a device that
// is not persistent. Flags are those of TUNSETIFF (IFF_TAP, IFF_NO_PI, ...).
func (ns *NS) OpenTun(name string, flags uint16) *os.File {
	ns.tb.Helper()
	var fd int
	var err error
	// The namespace is that of the thread that opens the control device.
	ns.Do(func() { fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0) })
	if err != nil {
		unavailable(ns.tb, "no /dev/net/tun: "+err.Error())
	}
	file := os.NewFile(uintptr(fd), "tun "+name)
	ns.tb.Cleanup(func() { _ = file.Close() }) // Often closed by the test already.
	req, err := unix.NewIfreq(name)
	if err != nil {
		ns.tb.Fatalf("testns: device name %q: %v", name, err)
	}
	req.SetUint16(flags)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		ns.tb.Fatalf("testns: attach to %s: %v", name, err)
	}
	return file
}

// OpenTap is OpenTun with the flags that ip tuntap gives a plain tap.
func (ns *NS) OpenTap(name string) *os.File {
	ns.tb.Helper()
	return ns.OpenTun(name, unix.IFF_TAP|unix.IFF_NO_PI)
}
