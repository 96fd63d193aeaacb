package attr

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/netdev"
)

func TestRowsAreSound(t *testing.T) {
	paths, ifla, keeps := map[string]bool{}, map[uint16]bool{}, map[int]bool{}
	for i := range Rows {
		r := &Rows[i]
		assert.False(t, paths[r.Path], "%s stands twice", r.Path)
		paths[r.Path] = true
		assert.NotEmpty(t, r.Format, r.Path)
		assert.NotEmpty(t, r.Source, r.Path)
		if r.Class == Mirrored {
			assert.True(t, r.Show != nil || r.Path == "uevent", "%s has no text", r.Path)
			assert.NotContains(t, r.Path, "/", "only the device's own files are mirrored")
		}
		if r.Class == Kept {
			assert.False(t, keeps[r.Keep], "%s shares its place", r.Path)
			assert.Less(t, r.Keep, KeptRows)
			keeps[r.Keep] = true
		}
		if r.Decode != nil {
			assert.NotZero(t, r.IFLA, r.Path)
			assert.False(t, ifla[r.IFLA], "attribute %d is decoded twice", r.IFLA)
			ifla[r.IFLA] = true
		}
	}
	assert.Len(t, keeps, KeptRows)
	for _, h := range hidden {
		assert.False(t, ifla[h.ifla], "attribute %d is decoded twice", h.ifla)
	}
}

func TestNamesHaveNoFileTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range Names {
		assert.False(t, seen[n.Path], "%s stands twice", n.Path)
		assert.Nil(t, rowsByPath[n.Path], "%s is a file too", n.Path)
		seen[n.Path] = true
	}
}

// shown returns what a read of a mirrored file gets.
func shown(t testing.TB, path string, v *Values) (string, error) {
	t.Helper()
	r := rowsByPath[path]
	require.NotNil(t, r, path)
	b, err := r.Show(nil, v)
	return string(b), err
}

func TestTextsAreTheKernels(t *testing.T) {
	up := &Values{
		Link: &netdev.Link{
			Name: "v0", Index: 7, Type: 1, Flags: 0x1043, MTU: 1500, TxQueueLen: 1000, Carrier: 1, Operstate: 6,
			Address: "\x02\x00\xab\x00\x00\x01", Alias: "two\nlines", CarrierCount: 1 << 31,
		},
		Modes: netdev.Modes{State: netdev.ModesKnown, Speed: 10000, Duplex: 1},
	}
	unknown := &Values{Link: up.Link, Modes: netdev.Modes{State: netdev.ModesKnown, Speed: ^uint32(0), Duplex: 0xff}}
	unasked := &Values{Link: up.Link}
	down := &Values{Link: &netdev.Link{Operstate: 2}, Modes: up.Modes}
	phys := &Values{Link: &netdev.Link{More: &netdev.More{PhysPortID: "\x01\xff", PhysPortName: "p0"}}}
	for _, c := range []struct {
		name, path, want string
		values           *Values
		err              error
	}{
		{"decimal", "mtu", "1500\n", up, nil},
		{"signed", "carrier_changes", "-2147483648\n", up, nil},
		{"address", "address", "02:00:ab:00:00:01\n", up, nil},
		{"no address", "address", "\n", down, nil},
		{"length of an address", "addr_len", "6\n", up, nil},
		{"no address has no length", "addr_len", "0\n", down, nil},
		{"alias with a newline", "ifalias", "two\nlines\n", up, nil},
		{"no alias", "ifalias", "", down, nil},
		{"own ifindex", "iflink", "7\n", up, nil},
		{"state", "operstate", "up\n", up, nil},
		{"state of what is down", "operstate", "down\n", down, nil},
		{"carrier", "carrier", "1\n", up, nil},
		{"carrier of what is down", "carrier", "", down, syscall.EINVAL},
		{"speed", "speed", "10000\n", up, nil},
		{"unknown speed", "speed", "-1\n", unknown, nil},
		{"speed not asked for", "speed", "", unasked, syscall.EINVAL},
		{"speed of what is down", "speed", "", down, syscall.EINVAL},
		{"duplex", "duplex", "full\n", up, nil},
		{"unknown duplex", "duplex", "unknown\n", unknown, nil},
		{"no port", "phys_port_name", "", up, syscall.EOPNOTSUPP},
		{"port name", "phys_port_name", "p0\n", phys, nil},
		{"port id", "phys_port_id", "01ff\n", phys, nil},
		{"no switch", "phys_switch_id", "", phys, syscall.EOPNOTSUPP},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := shown(t, c.path, c.values)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.err, err)
		})
	}
}

func TestOperstateOfTheFutureIsAnError(t *testing.T) {
	_, err := shown(t, "operstate", &Values{Link: &netdev.Link{Operstate: 7}})
	assert.Equal(t, syscall.EINVAL, err)
}

func TestUeventEndsWithNameAndIndex(t *testing.T) {
	l := &netdev.Link{Name: "br0", Index: 12}
	assert.Equal(t, "DEVTYPE=bridge\nINTERFACE=br0\nIFINDEX=12\n", string(AppendUevent(nil, "DEVTYPE=bridge\n", l)))
}

func TestClassesDependOnTheDevice(t *testing.T) {
	up, down := &netdev.Link{Flags: 1}, &netdev.Link{}
	assert.Equal(t, Mirrored, rowsByPath["ifalias"].ClassOf(up))
	assert.Equal(t, Live, rowsByPath["ifalias"].ClassOf(down), "a device that is down announces nothing")
	assert.Equal(t, Mirrored, rowsByPath["mtu"].ClassOf(down))
	assert.Equal(t, Live, rowsByPath["iflink"].ClassOf(&netdev.Link{HasLink: true}))
	assert.Equal(t, Waits, (*Row)(nil).ClassOf(up), "nobody knows what such a file does")
}

func TestDecodersTakeWhatShowShows(t *testing.T) {
	decode := Decoders()
	l := &netdev.Link{Flags: 1}
	decode[rowsByPath["mtu"].IFLA](l, []byte{0x28, 0x23, 0, 0})
	decode[rowsByPath["mtu"].IFLA](l, []byte{1}) // Too short: as if absent.
	decode[rowsByPath["ifalias"].IFLA](l, []byte("a\x00rest"))
	decode[rowsByPath["operstate"].IFLA](l, []byte{6})
	decode[rowsByPath["operstate"].IFLA](l, nil)
	assert.Equal(t, uint32(9000), l.MTU)
	assert.Equal(t, "a", l.Alias)
	assert.Equal(t, uint8(6), l.Operstate)
}

func TestDecodingAllocatesNothingButStrings(t *testing.T) {
	decode := Decoders()[rowsByPath["mtu"].IFLA]
	l, data := &netdev.Link{}, []byte{1, 2, 3, 4}
	assert.Zero(t, testing.AllocsPerRun(100, func() { decode(l, data) }))
}

func TestQueuesWithoutNeighboursHaveNoMap(t *testing.T) {
	for _, name := range []string{"xps_cpus", "traffic_class"} {
		assert.True(t, NeedsQueues(name))
	}
	assert.False(t, NeedsQueues("xps_rxqs"))
}

func TestRowsOfQueuesAreFound(t *testing.T) {
	for path, want := range map[string]string{
		"queues/tx-17/xps_cpus":                  "queues/tx-*/xps_cpus",
		"queues/tx-0/byte_queue_limits/inflight": "queues/tx-*/byte_queue_limits/inflight",
		"statistics/rx_bytes":                    "statistics/rx_bytes",
	} {
		require.NotNil(t, rowOf(path), path)
		assert.Equal(t, want, rowOf(path).Path)
	}
	for _, path := range []string{"queues/tx-/xps_cpus", "queues/ux-0/xps_cpus", "queues/tx-01/xps_cpus", "mtu/x", ""} {
		assert.Nil(t, rowOf(path), strings.ReplaceAll(path, "/", " "))
	}
}
