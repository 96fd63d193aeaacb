// Package silent_test derives what the kernel announces of its network devices.
//
// Its one idea: the tables of package attr are claims, and claims are tested by
// turning every knob. Each kind of device, UP and DOWN, gets a namespace of its
// own; a mirror there hears what the kernel announces and nothing else. A knob
// is turned while nobody reads /sys (a read of carrier would flush what
// link-watch still holds back), then the mirror is compared with the real files.
package silent_test

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write docs/silent.md from what the running kernel does")

// Almost all time is spent waiting for link-watch, so the scenes run side by
// side whatever the number of processors.
const scenesAtOnce = "80"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", scenesAtOnce); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
