package hashpos

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const referenceKey = "000102030405060708090a0b0c0d0e0f"

func TestKeyedIsSipHash24(t *testing.T) {
	h := Keyed(mustParse(t, referenceKey))

	// The first vectors of the reference implementation.
	assert.Equal(t, uint64(0x726fdb47dd0e0e31), h(""))
	assert.Equal(t, uint64(0x74f839c593dc67fd), h("\x00"))
}

// Recorded runs name positions: changing one of these is changing a format.
func TestPositionsAreTheGoldenOnes(t *testing.T) {
	h := Keyed(mustParse(t, referenceKey))
	for _, tt := range []struct {
		name      string
		low, high Pos
	}{
		{"lo", 0x586337b0, 0x586337b_0000_0000},
		{"eth0", 0x411fe6d0, 0x411fe6d_0000_0000},
		{"veth0", 0x5ba77a70, 0x5ba77a7_0000_0000},
		{"dummy99999", 0x7bd1e550, 0x7bd1e55_0000_0000},
		{"eth0.4094", 0x66fe3600, 0x66fe360_0000_0000},
		{"a-name-longer-than-IFNAMSIZ-and-than-32-bytes", 0x48f6b4a0, 0x48f6b4a_0000_0000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := h.Bucket(tt.name)
			assert.Equal(t, tt.low, b.Low().Lo)
			assert.Equal(t, tt.high, b.High().Lo)
		})
	}
}

func TestKeysGiveDifferentOrders(t *testing.T) {
	assert.NotEqual(t, Keyed(Key{1}).Bucket("eth0"), Keyed(Key{2}).Bucket("eth0"))
	assert.NotEqual(t, Keyed(Key{15: 1}).Bucket("eth0"), Keyed(Key{15: 2}).Bucket("eth0"))
}

func TestRandomKeysDiffer(t *testing.T) {
	a, b := RandomKey(), RandomKey()
	assert.NotEqual(t, a, b)
	assert.NotEqual(t, Key{}, a)
}

func TestParseKeyTakesOnly32HexDigits(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		ok       bool
	}{
		{"lower case", referenceKey, true},
		{"upper case", strings.ToUpper(referenceKey), true},
		{"empty", "", false},
		{"too short", referenceKey[1:], false},
		{"a byte too short", referenceKey[2:], false},
		{"too long", referenceKey + "00", false},
		{"prefixed", "0x" + referenceKey[2:], false},
		{"not hex", "g" + referenceKey[1:], false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, err := ParseKey(tt.in)
			if !tt.ok {
				require.Error(t, err)
				assert.Contains(t, err.Error(), "is not 32 hex digits")
				assert.Zero(t, k)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, Key{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, k)
			assert.Equal(t, referenceKey, k.String())
		})
	}
}

func TestBucketOfADeviceNameAllocatesNothing(t *testing.T) {
	h := Keyed(RandomKey())
	name := strings.Repeat("n", 15) // IFNAMSIZ less the NUL.
	assert.Zero(t, testing.AllocsPerRun(100, func() { h.Bucket(name) }))
}

func FuzzParseKey(f *testing.F) {
	f.Add(referenceKey)
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKey(s)
		if err != nil {
			assert.Zero(t, k)
			return
		}
		assert.Equal(t, strings.ToLower(s), k.String())
	})
}

func BenchmarkBucket(b *testing.B) {
	h := Keyed(RandomKey())
	for b.Loop() {
		h.Bucket("veth123456")
	}
}

func mustParse(t testing.TB, s string) Key {
	t.Helper()
	k, err := ParseKey(s)
	require.NoError(t, err)
	return k
}
