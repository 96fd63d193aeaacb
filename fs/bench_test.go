package fs

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
	"github.com/sysfsd/sysfsd/synth"
)

// benchDevices is the size that the design's numbers are for.
const benchDevices = 100_000

func newBench(b *testing.B) *world {
	b.Helper()
	pop, err := synth.New(synth.Config{Devices: benchDevices, Seed: 1})
	require.NoError(b, err)
	w := worldOver(b, pop)
	w.pop = pop
	w.follow()
	return w
}

func BenchmarkLookup(b *testing.B) {
	w := newBench(b)
	class, lo := w.node("class/net"), w.node("devices/virtual/net/lo")
	for _, c := range []struct {
		name string
		dir  uint64
		of   string
	}{
		{"device", class, "lo"}, {"mirrored", lo, "mtu"}, {"kept", lo, "dev_id"}, {"live", lo, "flags"}, {"none", class, "none"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			h := fuse.InHeader{NodeId: c.dir}
			for b.Loop() {
				var out fuse.EntryOut
				w.Lookup(nil, &h, c.of, &out)
			}
		})
	}
}

func BenchmarkGetAttr(b *testing.B) {
	w := newBench(b)
	for _, at := range []string{"class/net", "devices/virtual/net/lo", "devices/virtual/net/lo/mtu", "devices/virtual/net/lo/flags"} {
		b.Run(at, func(b *testing.B) {
			b.ReportAllocs()
			in := fuse.GetAttrIn{InHeader: fuse.InHeader{NodeId: w.node(at)}}
			for b.Loop() {
				var out fuse.AttrOut
				w.GetAttr(nil, &in, &out)
			}
		})
	}
}

// BenchmarkReadDir lists all devices in pieces, as the kernel does.
func BenchmarkReadDir(b *testing.B) {
	w := newBench(b)
	node := w.node("class/net")
	for name, list := range map[string]func(<-chan struct{}, *fuse.ReadIn, *fuse.DirEntryList) fuse.Status{
		"readdir": w.ReadDir, "readdirplus": w.ReadDirPlus,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 32<<10)
			for b.Loop() {
				off := uint64(0)
				for more := true; more; {
					out := fuse.NewDirEntryList(buf, off)
					list(nil, &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: node}, Offset: off}, out)
					off, more = out.Offset, len(out.Bytes()) > 0
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchDevices, "ns/name")
		})
	}
}

// BenchmarkOpenRead is open, read and close of a file.
func BenchmarkOpenRead(b *testing.B) {
	w := newBench(b)
	for _, file := range []string{"mtu", "address", "uevent", "dev_id", "flags"} {
		b.Run(file, func(b *testing.B) {
			b.ReportAllocs()
			node := w.node("devices/virtual/net/lo/" + file)
			buf := make([]byte, pageSize)
			for b.Loop() {
				var out fuse.OpenOut
				w.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: node}}, &out)
				w.Read(nil, &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: node}, Fh: out.Fh, Size: uint32(len(buf))}, buf)
				w.Release(nil, &fuse.ReleaseIn{Fh: out.Fh})
			}
		})
	}
}

// BenchmarkReadUnderChurn is a read of a mirrored file while the writer works.
func BenchmarkReadUnderChurn(b *testing.B) {
	w := newBench(b)
	node := w.node("devices/virtual/net/lo/mtu")
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for !closed(over) {
			w.set("lo", func(l *netdev.Link) { l.MTU ^= 1 })
		}
	}()
	for b.Loop() {
		w.cat(node)
	}
	close(over)
	<-done
}
