package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/fs"
	"github.com/sysfsd/sysfsd/hashpos"
	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/nlinkcount"
	"github.com/sysfsd/sysfsd/tree"
)

// mountFlags are the flags of "sysfsd mount".
type mountFlags struct {
	source     sourceFlags
	nlinkBits  int
	hashKey    string
	allowOther bool
	daemon     bool
	logLevel   string
	debug      bool
}

func newMount() *cobra.Command {
	var f mountFlags
	c := &cobra.Command{
		Use:   "mount [flags] DIR",
		Short: "Serve a tree on a directory until SIGINT or SIGTERM",
		Long: `Serve a tree shaped like sysfs on a directory: class/net, devices/virtual/net and
the directories of physical devices. It mirrors the network devices of this
namespace, or of --netns, or has --devices synthetic ones. The mount is
read-only; no read of it waits for the kernel's RTNL mutex.

Exit status: 0 after a clean unmount; 3 if the mount was in use at the end, so
that it had to be detached; 1 for any error.`,
		Args: exactly(1, "the directory to mount on"),
		RunE: func(c *cobra.Command, args []string) error {
			f.source.synthetic = c.Flags().Changed("devices")
			return f.run(c.Context(), args[0])
		},
	}
	f.source.register(c.Flags())
	fl := c.Flags()
	fl.IntVar(&f.nlinkBits, "nlink-bits", 16, "width of a directory's link count, 16 or 32; what doesn't fit reads 0")
	fl.StringVar(&f.hashKey, "hash-key", "", "key of the directories' order, 32 hex digits (default: random)")
	fl.BoolVar(&f.allowOther, "allow-other", false, "let other users in; root's mounts always do")
	fl.BoolVarP(&f.daemon, "daemon", "d", false, "return when ready and serve in the background")
	fl.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fl.BoolVar(&f.debug, "debug-fuse", false, "log each FUSE request")
	return c
}

// exactly is cobra.ExactArgs with a message that says what is missing.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%d arguments where one is wanted: %s", len(args), what)
		}
		return nil
	}
}

func (f *mountFlags) run(ctx context.Context, dir string) error {
	log, err := newLogger(f.logLevel, f.debug)
	if err != nil {
		return err
	}
	options, err := f.treeOptions(log)
	if err != nil {
		return err
	}
	if err := f.source.check(); err != nil {
		return err
	}
	if err := prepareMountpoint(dir, log); err != nil {
		return err
	}
	if f.daemon && !isChild() {
		return startChild()
	}
	raisePriority()
	return f.serve(ctx, dir, options, log)
}

func (f *mountFlags) treeOptions(log *slog.Logger) (tree.Options, error) {
	width, err := nlinkcount.ParseWidth(f.nlinkBits)
	if err != nil {
		return tree.Options{}, fmt.Errorf("--nlink-bits: %w", err)
	}
	key := hashpos.RandomKey()
	if f.hashKey != "" {
		if key, err = hashpos.ParseKey(f.hashKey); err != nil {
			return tree.Options{}, fmt.Errorf("--hash-key: %w", err)
		}
	}
	return tree.Options{Logger: log, Width: width, Hash: hashpos.Keyed(key)}, nil
}

// serve runs the mirror and the mount until one of them or a signal ends.
func (f *mountFlags) serve(ctx context.Context, dir string, options tree.Options, log *slog.Logger) error {
	began := time.Now()
	collectLess()
	src, files, err := f.source.open(log)
	if err != nil {
		return err
	}
	options.Files, options.Trusted = files, f.source.synthetic
	t, err := tree.New(options)
	if err != nil {
		return err
	}
	stop := newStopper()
	defer stop.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, err := awaitReady(ctx, t, src, stop)
	if err != nil {
		return err
	}
	m, err := fs.Mount(dir, fs.New(t, files, log), fs.MountOptions{
		AllowOther: f.allowOther, Debug: f.debug, Logger: log,
	})
	if err != nil {
		return explainMount(err, dir)
	}
	announce(dir, t.Snapshot().Len(), time.Since(began), log)
	collectMore()
	return stop.wait(m, ended)
}

// errStopped means that a signal came before there was anything to stop.
var errStopped = errors.New("stopped before it was ready")

// modesWait bounds the wait for speed and duplex of all devices, which are asked
// for under RTNL: a host that is tearing down devices should not delay the start.
const modesWait = 2 * time.Second

// awaitReady starts the mirror and waits until it has all devices. The channel
// tells how it ends.
func awaitReady(ctx context.Context, t *tree.Tree, src netdev.Source, stop *stopper) (<-chan error, error) {
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- t.Run(ctx, src, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		return nil, err
	case <-stop.signals:
		return nil, errStopped
	}
	if s, ok := src.(interface{ ModesReady() <-chan struct{} }); ok {
		select {
		case <-s.ModesReady():
		case <-time.After(modesWait):
		case <-stop.signals:
			return nil, errStopped
		}
	}
	return ended, nil
}

// announce says that the mount is ready, to whoever waits for it.
func announce(dir string, devices int, took time.Duration, log *slog.Logger) {
	fmt.Fprintf(os.Stderr, "sysfsd: ready: %d devices on %s after %.3f s\n", devices, dir, took.Seconds())
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		log.Warn("systemd wasn't told", "err", err)
	}
	childIsReady()
}

// explainMount makes one clear line of what mount(2) answered.
func explainMount(err error, dir string) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("no /dev/fuse: load the kernel's fuse module, or give the container the device (%w)", err)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("no permission to mount on %s: be root, or install fuse3 (%w)", dir, err)
	}
	return err
}
