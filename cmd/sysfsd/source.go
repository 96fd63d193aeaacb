package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/rtnl"
	"github.com/sysfsd/sysfsd/synth"
	"github.com/sysfsd/sysfsd/sysfs"
)

// sourceFlags say which devices a tree has.
type sourceFlags struct {
	synthetic bool // set by check, as config is
	devices   int
	names     string
	kinds     string
	seed      uint64
	rate      uint64
	netns     string
	sysfs     string
	config    synth.Config
}

func (s *sourceFlags) register(f *pflag.FlagSet) {
	f.StringVar(&s.netns, "netns", "", "mirror another network namespace: a name of ip-netns(8), a path or a process ID")
	f.StringVar(&s.sysfs, "sysfs", string(sysfs.Auto), "where live values come from: detached, host, none, or auto for the first that works")
	f.IntVar(&s.devices, "devices", 0, "serve so many synthetic devices instead of the kernel's")
	f.StringVar(&s.names, "names", "", "patterns of synthetic names, such as veth%d,dummy%d or veth%d=3,dummy%d=1")
	f.StringVar(&s.kinds, "kinds", "", "kinds of synthetic devices and their weights, such as veth=60,bridge=2")
	f.Uint64Var(&s.seed, "seed", 1, "what synthetic devices are made from: same seed, same devices")
	f.Uint64Var(&s.rate, "rate", 1000, "packets a second that a synthetic device receives on average, 0: none")
}

// check finds what is wrong with the flags before anything is done. changed
// reports a flag that was given.
func (s *sourceFlags) check(changed func(string) bool) error {
	s.synthetic = changed("devices")
	wrong, why := []string{"names", "kinds", "seed", "rate"}, "is for synthetic devices: say how many with --devices"
	if s.synthetic {
		wrong, why = []string{"netns", "sysfs"}, "is for the kernel's devices, --devices for synthetic ones"
	}
	if i := slices.IndexFunc(wrong, changed); i >= 0 {
		return fmt.Errorf("--%s %s", wrong[i], why)
	}
	if s.synthetic {
		return s.configure(changed)
	}
	if changed("netns") && s.netns == "" {
		return errors.New("--netns: the name is empty")
	}
	if _, err := sysfs.ParseMode(s.sysfs); err != nil {
		return fmt.Errorf("--sysfs: %q is none of auto, detached, host, none", s.sysfs)
	}
	return nil
}

// configure reads the flags of synthetic devices.
func (s *sourceFlags) configure(changed func(string) bool) error {
	if s.devices < 1 || s.devices > synth.MaxDevices {
		return fmt.Errorf("--devices: %d is not between 1 and %d", s.devices, synth.MaxDevices)
	}
	s.config = synth.Config{Devices: s.devices, Seed: s.seed, Rate: s.rate}
	var err error
	if changed("kinds") {
		if s.config.Kinds, err = synth.ParseKinds(s.kinds); err != nil {
			return fmt.Errorf("--%w", err) // It begins with the word kinds.
		}
	}
	if changed("names") {
		if s.config.Names, err = synth.ParseNames(s.names); err != nil {
			return fmt.Errorf("--%w", err) // It begins with the word names.
		}
	}
	return nil
}

// open returns the source of devices and what stands behind it.
func (s *sourceFlags) open(log *slog.Logger) (netdev.Source, netdev.Files, error) {
	if s.synthetic {
		p, err := synth.New(s.config)
		return p, p, err
	}
	ns := 0
	if s.netns != "" {
		var err error
		if ns, err = openNetns(s.netns); err != nil {
			return nil, nil, err
		}
	}
	src, err := rtnl.Open(rtnl.Options{NetNS: ns, Logger: log})
	if err != nil {
		return nil, nil, s.explainNetlink(err)
	}
	files, err := sysfs.Open(sysfs.Options{
		Mode: sysfs.Mode(s.sysfs), NetNS: ns, Logger: log,
		Check: func(names []string) error { return sameNames(ns, names) },
	})
	if err != nil {
		return nil, nil, fmt.Errorf("--%w", err) // It begins with the word sysfs.
	}
	if sysfs.Mode(s.sysfs) == sysfs.None {
		log.Info("no live values, only what the kernel announces, as --sysfs says")
	}
	return src, files, nil
}

// explainNetlink says what was wanted of the kernel, and what can be done.
func (s *sourceFlags) explainNetlink(err error) error {
	if s.netns != "" && errors.Is(err, unix.EPERM) {
		return fmt.Errorf("--netns %s: no permission to enter it: be root in the user namespace that it belongs to (%w)",
			s.netns, err)
	}
	if errors.Is(err, rtnl.ErrUnavailable) {
		return fmt.Errorf("no list of the kernel's devices; --devices N makes synthetic ones (%w)", err)
	}
	return err
}

// sameNames reports an error unless these are the names of the devices of a
// namespace, 0 for our own.
func sameNames(ns int, names []string) error {
	devices, err := interfaces(ns)
	if err != nil {
		return err
	}
	if name, ok := oneMissing(devices, names); ok {
		return fmt.Errorf("%q is missing", name)
	}
	if name, ok := oneMissing(names, devices); ok {
		return fmt.Errorf("%q is of another namespace", name)
	}
	return nil
}

// oneMissing returns one of the names that others lack, if there is one.
func oneMissing(names, others []string) (string, bool) {
	known := make(map[string]bool, len(others))
	for _, name := range others {
		known[name] = true
	}
	i := slices.IndexFunc(names, func(name string) bool { return !known[name] })
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// interfaces returns the names of a namespace's devices.
func interfaces(ns int) ([]string, error) {
	type result struct {
		names []string
		err   error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread ends with us.
		var r result
		if ns != 0 {
			if r.err = unix.Setns(ns, unix.CLONE_NEWNET); r.err != nil {
				done <- r
				return
			}
		}
		links, err := net.Interfaces()
		r.err = err
		for _, l := range links {
			r.names = append(r.names, l.Name)
		}
		done <- r
	}()
	r := <-done
	if r.err != nil {
		return nil, fmt.Errorf("listing the devices: %w", r.err)
	}
	return r.names, nil
}
