package silent_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/attr"
)

func everyKnob(knob) bool { return true }

func TestWhatTheTablesCallMirroredIsAnnounced(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	all := &report{begun: time.Now()}
	t.Run("scene", func(t *testing.T) {
		for _, sc := range scenes() {
			t.Run(sc.name(), func(t *testing.T) {
				t.Parallel()
				r := run(t, sc, tablesOf(attr.Rows), everyKnob)
				for _, v := range r.bad {
					t.Error(v)
				}
				for _, refused := range r.refused {
					t.Log("refused: ", refused)
				}
				mu.Lock()
				defer mu.Unlock()
				all.add(r)
			})
		}
	})
	all.finish(t)
}

// A test that can't fail proves nothing: each of these claims is wrong on every
// kernel, and each must be found by turning the knob named.
func TestWrongTablesAreFound(t *testing.T) {
	t.Parallel()
	kept := func(r *attr.Row) { r.Class = attr.Kept }
	always := func(r *attr.Row) { r.While = always }
	for _, test := range []struct {
		scene, knob, path string
		wrong             func(*attr.Row)
	}{
		{"veth/up", "write netdev_group", "netdev_group", kept},
		{"below macvlan/up", "packet socket, all multicast", "flags", kept},
		{"ifb/up", "write gro_flush_timeout", "gro_flush_timeout", kept},
		{"veth/down", "write ifalias", "ifalias", always},
		{"veth/down", "alias", "ifalias", always},
		{"veth/down", "group", "netdev_group", kept},
		{"macvlan/down", "protodown", "proto_down", kept},
		{"tap/down", "program attaches", "carrier_changes", always},
		{"veth/up", "mtu", "mtu", func(r *attr.Row) {
			r.Show = func(b []byte, v *attr.Values) ([]byte, error) {
				return append(strconv.AppendUint(b, uint64(v.Link.MTU&^0xff), 10), '\n'), nil
			}
		}},
		{"veth/up", "address", "address", func(r *attr.Row) { r.Decode, r.Show = nil, nil }},
	} {
		t.Run(test.path+" of "+test.scene+" by "+test.knob, func(t *testing.T) {
			t.Parallel()
			sc := sceneNamed(test.scene)
			require.NotNil(t, sc)
			rows := wrongRows(map[string]func(*attr.Row){test.path: test.wrong})
			r := run(t, sc, tablesOf(rows), func(k knob) bool { return k.name == test.knob })
			found := slices.ContainsFunc(r.bad, func(v violation) bool {
				return v.path == test.path
			})
			assert.True(t, found, "found only %v; refused %v", r.bad, r.refused)
		})
	}
}

func TestPatternIsWhatTheTablesCallAPath(t *testing.T) {
	for path, want := range map[string]string{
		"mtu":                       "mtu",
		"queues/rx-12/rps_cpus":     "queues/rx-*/rps_cpus",
		"upper_br0":                 "upper_*",
		"brif/p0":                   "brif/*",
		"macvtap/tap7/dev":          "macvtap/tap*/dev",
		"tap7":                      "tap*",
		"power/control":             "power/control",
		"queues/tx-0/xps_cpus":      "queues/tx-*/xps_cpus",
		"statistics/rx_bytes":       "statistics/rx_bytes",
		"brport/bridge":             "brport/bridge",
		strings.Repeat("lower_", 2): "lower_*",
	} {
		assert.Equal(t, want, pattern(path))
	}
}
