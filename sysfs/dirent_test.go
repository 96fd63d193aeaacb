package sysfs

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestAppendDirents(t *testing.T) {
	b := dirent(nil, ".", unix.DT_DIR)
	b = dirent(b, "..", unix.DT_DIR)
	b = dirent(b, "...", unix.DT_LNK)
	b = dirent(b, "fifteenbyteslng", unix.DT_REG)
	b = dirent(b, "s", unix.DT_DIR)
	want := []netdev.Dirent{{Name: "...", Type: unix.DT_LNK}, {Name: "fifteenbyteslng", Type: unix.DT_REG}, {Name: "s", Type: unix.DT_DIR}}
	assert.Equal(t, want, appendDirents(nil, b))
	for n := range b {
		assert.LessOrEqual(t, len(appendDirents(nil, b[:n])), len(want)) // And no panic.
	}
}

func FuzzAppendDirents(f *testing.F) {
	f.Add(dirent(dirent(nil, "eth0", unix.DT_LNK), "lo", unix.DT_LNK))
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range appendDirents(nil, b) {
			assert.NotContains(t, e.Name, "\x00")
			assert.NotContains(t, []string{".", ".."}, e.Name)
		}
	})
}

// dirent appends a struct linux_dirent64 as the kernel makes it.
func dirent(b []byte, name string, typ uint8) []byte {
	const alignment = 8
	start := len(b)
	b = append(b, make([]byte, direntReclen+2)...)
	b = append(b, typ)
	b = append(b, name...)
	b = append(b, 0)
	for len(b)%alignment != 0 {
		b = append(b, 0)
	}
	binary.NativeEndian.PutUint16(b[start+direntReclen:], uint16(len(b)-start))
	return b
}
