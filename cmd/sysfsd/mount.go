package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

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
		Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c, args[0])
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

func (f *mountFlags) run(c *cobra.Command, dir string) error {
	level, err := parseLevel(f.logLevel, f.debug)
	if err != nil {
		return err
	}
	options, err := f.treeOptions()
	if err != nil {
		return err
	}
	if err := f.source.check(c.Flags().Changed); err != nil {
		return err
	}
	if f.daemon && !isChild() {
		return startChild() // It says once what is to be said of the rest.
	}
	options.Logger = newLogger(level)
	point, err := prepareMountpoint(dir, options.Logger)
	if err != nil {
		return err
	}
	defer point.release()
	raisePriority()
	return f.serve(c.Context(), point, options)
}

func (f *mountFlags) treeOptions() (tree.Options, error) {
	width, err := nlinkcount.ParseWidth(f.nlinkBits)
	if err != nil {
		return tree.Options{}, fmt.Errorf("--nlink-bits: %d is neither 16 nor 32", f.nlinkBits)
	}
	key := hashpos.RandomKey()
	if f.hashKey != "" {
		if key, err = hashpos.ParseKey(f.hashKey); err != nil {
			return tree.Options{}, fmt.Errorf("--hash-key: %q is not 32 hex digits", f.hashKey)
		}
	}
	return tree.Options{Width: width, Hash: hashpos.Keyed(key)}, nil
}

// serve runs the mirror and the mount until one of them or a signal ends.
func (f *mountFlags) serve(ctx context.Context, point *mountpoint, options tree.Options) error {
	began, log := time.Now(), options.Logger
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
	stop := newStopper(log)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, err := awaitReady(ctx, t, src, stop)
	if err != nil {
		return err
	}
	m, err := fs.Mount(point.at, fs.New(t, files, log), fs.MountOptions{
		AllowOther: f.allowOther, Debug: f.debug, Logger: log,
	})
	if err != nil {
		return explainMount(err, point.at)
	}
	point.release()
	if err := announce(point.at, t.Snapshot().Len(), time.Since(began), log); err != nil {
		return both(err, m.Unmount())
	}
	collectMore()
	err = stop.wait(m, ended)
	if err != nil && isChild() {
		log.Error("ended", "err", err) // Nobody sees its stderr any more.
	}
	return err
}

// errStopped means that a mount wasn't wanted any more before it was ready.
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
