package tree

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

func TestTheRootIsFusesNode1(t *testing.T) {
	assert.EqualValues(t, 1, Root)
	assert.Equal(t, Root, NodeOf(0, attr.SlotDir, TypeDir))
	assert.Equal(t, uint64(1), Root.Ino())
}

func FuzzNodeKeepsItsParts(f *testing.F) {
	f.Add(uint64(1), uint16(1), uint8(0))
	f.Add(uint64(maxSerial), uint16(0xffff), uint8(2))
	f.Fuzz(func(t *testing.T, serial uint64, slot uint16, typ uint8) {
		s, k := netdev.Serial(serial&maxSerial), Type(typ%3)
		n := NodeOf(s, attr.Slot(slot), k)
		assert.Equal(t, s, n.Serial())
		assert.Equal(t, attr.Slot(slot), n.Slot())
		assert.Equal(t, k, n.Type())
		assert.Equal(t, k, TypeOfMode(k.Mode()))
		if s < 1<<24 && slot < 256 {
			assert.Less(t, n.Ino(), uint64(1)<<32, "32-bit programs list it")
		}
	})
}

func TestInodeNumbersDifferByObjectAndPath(t *testing.T) {
	seen := map[uint64]bool{}
	for s := range netdev.Serial(50) {
		for slot := range attr.Slot(600) {
			ino := NodeOf(s, slot, TypeFile).Ino()
			assert.False(t, seen[ino])
			seen[ino] = true
		}
	}
}
