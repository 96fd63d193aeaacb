package sysfs

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// direntBuffer is how much one getdents64 may bring: some 1,000 names.
const direntBuffer = 32 << 10

// Offsets in struct linux_dirent64 of getdents(2).
const (
	direntReclen = 16
	direntType   = 18
	direntName   = 19
)

// readAll returns the entries of a directory from where fd stands, without "."
// and "..".
func readAll(fd int, buffer []byte) ([]netdev.Dirent, error) {
	var entries []netdev.Dirent
	for {
		n, err := restart(func() (int, error) { return unix.ReadDirent(fd, buffer) })
		if err != nil || n <= 0 {
			return entries, err
		}
		entries = appendDirents(entries, buffer[:n])
	}
}

// appendDirents decodes what one getdents64 brought.
func appendDirents(entries []netdev.Dirent, b []byte) []netdev.Dirent {
	for len(b) > direntName {
		length := int(binary.NativeEndian.Uint16(b[direntReclen:]))
		if length <= direntName || length > len(b) {
			return entries
		}
		name, _, _ := bytes.Cut(b[direntName:length], []byte{0})
		if s := string(name); s != "." && s != ".." {
			entries = append(entries, netdev.Dirent{Name: s, Type: b[direntType]})
		}
		b = b[length:]
	}
	return entries
}
