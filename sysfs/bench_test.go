package sysfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

// BenchmarkRead opens, reads and closes one file of one of 100 devices. Mount is
// what any program does below a mounted sysfs.
func BenchmarkRead(b *testing.B) {
	ns := testns.New(b)
	dirs := addDevices(ns, 100)
	reference := ns.Sysfs()
	for _, file := range []string{"mtu", "statistics/rx_bytes"} {
		b.Run("mount/"+file, func(b *testing.B) {
			var paths []string
			for _, d := range dirs {
				paths = append(paths, filepath.Join(reference, d.Path, file))
			}
			for i := 0; b.Loop(); i++ {
				require.NoError(b, openReadClose(paths[i%len(paths)]))
			}
		})
		b.Run("held/"+file, func(b *testing.B) { benchmarkRead(b, openIn(b, ns, Options{}), dirs, file) })
		b.Run("first/"+file, func(b *testing.B) { benchmarkRead(b, openIn(b, ns, Options{HeldDirs: -1}), dirs, file) })
		b.Run("path/"+file, func(b *testing.B) {
			unidentified := make([]netdev.Dir, len(dirs))
			for i, d := range dirs {
				unidentified[i] = netdev.Dir{Path: d.Path}
			}
			benchmarkRead(b, openIn(b, ns, Options{}), unidentified, file)
		})
	}
}

func benchmarkRead(b *testing.B, f *Files, dirs []netdev.Dir, file string) {
	b.Helper()
	var p [4096]byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, err := f.Read(dirs[i%len(dirs)], file, p[:], 0)
		require.NoError(b, err)
	}
}

func BenchmarkReadParallel(b *testing.B) {
	ns := testns.New(b)
	dirs := addDevices(ns, 100)
	reference := ns.Sysfs()
	b.Run("mount", func(b *testing.B) {
		var paths []string
		for _, d := range dirs {
			paths = append(paths, filepath.Join(reference, d.Path, "mtu"))
		}
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				require.NoError(b, openReadClose(paths[i%len(paths)]))
			}
		})
	})
	b.Run("held", func(b *testing.B) {
		f := openIn(b, ns, Options{})
		b.RunParallel(func(pb *testing.PB) {
			var p [4096]byte
			for i := 0; pb.Next(); i++ {
				_, err := f.Read(dirs[i%len(dirs)], "mtu", p[:], 0)
				require.NoError(b, err)
			}
		})
	})
}

func openReadClose(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var p [4096]byte
	_, err = unix.Pread(fd, p[:], 0)
	_ = unix.Close(fd)
	return err
}

// BenchmarkDevice is what a device directory costs.
func BenchmarkDevice(b *testing.B) {
	ns := testns.New(b)
	dirs := addDevices(ns, 1)
	f := openIn(b, ns, Options{})
	for name, call := range map[string]func() error{
		"stat":     func() error { _, err := f.Stat(dirs[0], "mtu"); return err },
		"statself": func() error { _, err := f.Stat(dirs[0], ""); return err },
		"list":     func() error { _, err := f.List(dirs[0], ""); return err },
		"readlink": func() error { _, err := f.Readlink(dirs[0], "subsystem"); return err },
		"missing": func() error {
			if _, err := f.Stat(dirs[0], "missing"); !errors.Is(err, unix.ENOENT) {
				return os.ErrInvalid
			}
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, call())
			}
		})
	}
}

// BenchmarkHeld is the part of a read that is ours alone.
func BenchmarkHeld(b *testing.B) {
	h := newHeld(1024)
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(b, err)
	for s := range netdev.Serial(1024) {
		copied, err := unix.Dup(fd)
		require.NoError(b, err)
		h.put(s, newDesc(copied)).release()
	}
	_ = unix.Close(fd)
	defer h.close()
	for s := netdev.Serial(0); b.Loop(); s++ {
		dir, _ := h.get(s % 1024)
		dir.release()
	}
}
