package tests

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// Nobody reads the real sysfs here, which would make the kernel announce at
// once what it otherwise puts off by up to a second.
func TestCarrierIsShownSoonAfterItChanged(t *testing.T) {
	ns := testns.New(t)
	ns.IP("tuntap add t0 mode tap", "link set t0 up",
		"link add v0 type veth peer name v1", "link set v0 up", "link set v1 up")
	mnt := serve(t, ns)
	require.NoError(t, waitForCarrier(mnt, "v0", "1\n", "up\n"))
	require.NoError(t, waitForCarrier(mnt, "t0", "0\n", "down\n"))

	var tap *os.File
	for range 3 {
		for _, c := range []struct {
			what, name, carrier, operstate string
			do                             func()
		}{
			{"tap opened", "t0", "1\n", "up\n", func() { tap = ns.OpenTap("t0") }},
			{"tap closed", "t0", "0\n", "down\n", func() { require.NoError(t, tap.Close()) }},
			{"peer down", "v0", "0\n", "lowerlayerdown\n", func() { ns.IP("link set v1 down") }},
			{"peer up", "v0", "1\n", "up\n", func() { ns.IP("link set v1 up") }},
		} {
			c.do()
			begin := time.Now()
			err := waitForCarrier(mnt, c.name, c.carrier, c.operstate)
			took := time.Since(begin).Round(time.Millisecond)
			t.Logf("%s: shown after %v", c.what, took)
			assert.NoError(t, err, c.what)
			assert.Less(t, took, slow(linkWatch), c.what)
		}
	}
}

// waitForCarrier returns once both files show what they should.
func waitForCarrier(mnt, name, carrier, operstate string) error {
	var err error
	for begin := time.Now(); time.Since(begin) < 2*slow(linkWatch); time.Sleep(2 * time.Millisecond) {
		var gotCarrier, gotState string
		gotCarrier, err = readWhole(filepath.Join(mnt, "class/net", name, "carrier"))
		gotState, _ = readWhole(filepath.Join(mnt, "class/net", name, "operstate"))
		if gotCarrier == carrier && gotState == operstate {
			return nil
		}
		if err == nil {
			err = &wrongCarrier{gotCarrier, gotState}
		}
	}
	return err
}

type wrongCarrier struct{ carrier, operstate string }

func (w *wrongCarrier) Error() string {
	return "carrier is still " + w.carrier + "operstate " + w.operstate
}
