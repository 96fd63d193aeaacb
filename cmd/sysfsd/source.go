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
	synthetic bool
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

// check finds what is wrong with the flags before anything is done.
func (s *sourceFlags) check() error {
	if !s.synthetic {
		if s.names != "" || s.kinds != "" {
			return errors.New("--names and --kinds are for synthetic devices: say how many with --devices")
		}
		_, err := sysfs.ParseMode(s.sysfs)
		return err
	}
	if s.netns != "" {
		return errors.New("--devices and --netns exclude each other")
	}
	s.config = synth.Config{Devices: s.devices, Seed: s.seed, Rate: s.rate}
	var err error
	if s.kinds != "" {
		if s.config.Kinds, err = synth.ParseKinds(s.kinds); err != nil {
			return err
		}
	}
	if s.names != "" {
		if s.config.Names, err = synth.ParseNames(s.names); err != nil {
			return err
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
		return nil, nil, err
	}
	mode, err := sysfs.ParseMode(s.sysfs)
	if err != nil {
		return nil, nil, err
	}
	files, err := sysfs.Open(sysfs.Options{
		Mode: mode, NetNS: ns, Logger: log,
		Check: func(names []string) error { return sameNames(ns, names) },
	})
	return src, files, err
}

// sameNames reports an error unless these are the names of the devices of a
// namespace, 0 for our own.
func sameNames(ns int, names []string) error {
	devices, err := interfaces(ns)
	if err != nil {
		return err
	}
	slices.Sort(devices)
	slices.Sort(names)
	if !slices.Equal(devices, names) {
		return errors.New("/sys/class/net has other devices")
	}
	return nil
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
