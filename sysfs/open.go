package sysfs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Options say which sysfs is read, and how.
type Options struct {
	Mode Mode // empty: Auto
	// NetNS is a descriptor of the namespace, 0 or -1 for that of the calling
	// thread. Open is done with it when it returns.
	NetNS int
	// HeldDirs bounds the descriptors of device directories. 0 is a quarter of
	// RLIMIT_NOFILE, at most 1024; a negative number is none.
	HeldDirs int
	// Check says whether these, the names in /sys/class/net, are the namespace's
	// devices. Devices come and go, so it is to look anew at each call; three
	// refusals are final. Without it Host is refused.
	Check func(names []string) error
	// Name returns the present name of the device with that ifindex; any error
	// says that there is none. Nil asks the kernel, by a socket in the namespace,
	// which keeps the namespace alive until Close.
	Name   func(index uint32) (string, error)
	Logger *slog.Logger // nil: nothing is logged
}

// Open gets hold of the namespace's sysfs. In mode Auto it fails only where the
// namespace can't be entered; one line of the log says what is missing, and why.
func Open(o Options) (*Files, error) {
	if o.Mode == "" {
		o.Mode = Auto
	}
	if _, err := ParseMode(string(o.Mode)); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Files{
		held:    newHeld(heldBound(o.HeldDirs)),
		buffers: sync.Pool{New: func() any { return new([direntBuffer]byte) }},
	}
	if err := inNamespace(o.NetNS, func() error { return f.open(o) }); err != nil {
		f.Close()
		return nil, fmt.Errorf("sysfs: %w", err)
	}
	return f, nil
}

// open does Open on a thread in the namespace.
func (f *Files) open(o Options) error {
	if err := f.reach(o); err != nil || f.mode == None {
		return err
	}
	if o.Name != nil {
		f.name = o.Name
		return nil
	}
	// Unlike AF_INET, every kernel and every sandbox has this family; SIOCGIFNAME
	// is the same for all.
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	f.socket = newDesc(fd)
	f.name = f.askName
	return nil
}

// reach sets mode and root.
func (f *Files) reach(o Options) error {
	switch o.Mode {
	case None:
		f.mode = None
		return nil
	case Detached:
		return f.use(Detached, mountDetached, nil)
	case Host:
		return f.use(Host, openHost, o.Check)
	}
	detached := f.use(Detached, mountDetached, nil)
	if detached == nil {
		return nil
	}
	host := f.use(Host, openHost, o.Check)
	if host == nil {
		o.Logger.Info("live values are read from /sys, for want of a sysfs mount of our own", "reason", detached)
		return nil
	}
	f.mode = None
	o.Logger.Warn("no live values, only what the kernel announces: no sysfs can be read",
		"detached", detached, "host", host)
	return nil
}

// use takes the root that open returns, where it is one that can be used.
func (f *Files) use(mode Mode, open func() (int, error), check func([]string) error) error {
	fd, err := open()
	if err != nil {
		return fmt.Errorf("%s: %w", mode, err)
	}
	f.mode, f.root = mode, newDesc(fd)
	err = usable(fd)
	if err == nil && mode == Host {
		err = f.sameDevices(check)
	}
	if err != nil {
		f.root.release()
		f.root = nil
		return fmt.Errorf("%s: %w", mode, err)
	}
	return nil
}

// errUnchecked is why Host needs Options.Check: /sys shows the namespace of
// whoever mounted it, and nothing else tells which one that is.
var errUnchecked = errors.New("nothing to compare the devices in /sys/class/net with")

// sameDevices returns nil where check accepts the names in class/net.
func (f *Files) sameDevices(check func([]string) error) error {
	if check == nil {
		return errUnchecked
	}
	const tries = 3
	var err error
	for range tries {
		var names []string
		if names, err = f.deviceNames(); err != nil {
			return fmt.Errorf("/sys/class/net: %w", err)
		}
		if err = check(names); err == nil {
			return nil
		}
	}
	return fmt.Errorf("/sys/class/net has other devices: %w", err)
}

// heldBound returns how many directories to hold.
func heldBound(wanted int) int {
	const (
		most  = 1024
		share = 4 // of RLIMIT_NOFILE; the rest is for readers and for the other packages
	)
	if wanted != 0 {
		return max(wanted, 0)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return most / share
	}
	return int(min(most, limit.Cur/share))
}
