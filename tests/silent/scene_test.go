package silent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// scene is one kind of device in one state. X is its subject, P the device that
// X depends on or that depends on X: a peer, what is below, a port.
//
// Lines are those of ip -batch, run in order; one that starts with "OTHER " is
// run in a second namespace. X, P and the names of the namespaces are replaced.
type scene struct {
	kind, state string
	make        []string
	// settle brings devices into the state, also again after they were away.
	settle []string
	// again are lines of settle that all states of the kind need.
	again []string
	// upper is the device on top of X, and how to make it: it is deleted and made
	// again.
	upper     string
	makeUpper []string
	// opens is a tun or tap device that a program is attached to from the start,
	// with these flags.
	opens string
	flags uint16
	// port, bridge, tun and peer say what knobs apply.
	port, bridge, tun, peer bool
	// remote says that P is in the other namespace.
	remote bool
	// half is 1 or 2 where every second knob is turned in a scene of its own.
	half int
}

// stage is a scene that was built.
type stage struct {
	*scene
	t     testing.TB
	ns    *testns.NS
	other *testns.NS
	sysfs string
	// held are the files that keep something attached until a knob is turned back.
	held []*os.File
	// before is what was seen before the knob was turned; it stays until that
	// was turned back.
	before snapshot
}

func (sc *scene) name() string {
	if sc.half == 0 {
		return sc.kind + "/" + sc.state
	}
	return fmt.Sprintf("%s/%s/half %d", sc.kind, sc.state, sc.half)
}

// mine reports that the scene turns the i-th knob.
func (sc *scene) mine(i int) bool { return sc.half == 0 || i%2 == sc.half-1 }

// build makes the devices. Its namespace has no IPv6, whose own traffic would
// move counters and timers.
func (sc *scene) build(t testing.TB) *stage {
	t.Helper()
	s := &stage{scene: sc, t: t, ns: testns.New(t), other: testns.New(t)}
	for _, ns := range []*testns.NS{s.ns, s.other} {
		ns.Do(func() {
			for _, which := range []string{"all", "default"} {
				// Without IPv6 in the kernel there is nothing to switch off.
				_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+which+"/disable_ipv6", []byte("1"), 0)
			}
		})
	}
	t.Cleanup(func() {
		for len(s.held) > 0 {
			_ = s.release()
		}
	})
	s.sysfs = s.ns.WritableSysfs()
	for _, line := range slices.Concat(sc.make, sc.makeUpper) {
		if err := s.ip(line); err != nil {
			t.Fatal(err)
		}
	}
	if sc.opens != "" {
		if err := s.attach(sc.opens, sc.flags); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range sc.settle {
		if err := s.ip(line); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// restore runs the lines of settle again; those that already hold may fail.
func (s *stage) restore() error {
	for _, line := range s.settle {
		_ = s.ip(line)
	}
	return nil
}

// remake is restore after devices may be gone. Those that are there make their
// lines fail.
func (s *stage) remake() error {
	for _, line := range slices.Concat(s.make, s.makeUpper) {
		_ = s.ip(line)
	}
	return s.restore()
}

// release detaches what a knob attached last.
func (s *stage) release() error {
	if len(s.held) == 0 {
		return nil
	}
	last := len(s.held) - 1
	err := s.held[last].Close()
	s.held = s.held[:last]
	return err
}

func (s *stage) ip(line string) error { return s.command("ip " + line) }

// command runs a line in the namespace it is meant for.
func (s *stage) command(line string) error {
	ns, away := s.ns, s.other
	if rest, ok := strings.CutPrefix(line, "ip OTHER "); ok {
		line, ns, away = "ip "+rest, s.other, s.ns
	} else if rest, ok := strings.CutPrefix(line, "OTHER "); ok {
		line, ns, away = rest, s.other, s.ns
	}
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = s.expand(w, away.Path())
	}
	if out, err := ns.Try(words[0], words[1:]...); err != nil {
		return fmt.Errorf("%s: %s", strings.Join(words, " "), strings.TrimSpace(out))
	}
	return nil
}

// expand replaces X by the subject, P by its partner, AWAY by the namespace on
// the other side, and {file} by what X's file said before the knob was turned.
func (s *stage) expand(word, away string) string {
	switch {
	case word == "X":
		return s.subject()
	case word == "P":
		return "p0"
	case word == "AWAY":
		return away
	case strings.HasPrefix(word, "{P/"):
		return s.was("p0", strings.Trim(word[2:], "/}"))
	case strings.HasPrefix(word, "{"):
		return s.was(s.subject(), strings.Trim(word, "{}"))
	}
	return word
}

// subject is the name of X: that of lo is given.
func (s *stage) subject() string {
	if s.kind == "lo" {
		return "lo"
	}
	return "x0"
}

// was returns what a file said before the knob was turned.
func (s *stage) was(name, path string) string {
	d := s.before[s.before.index(name)]
	if d == nil {
		return ""
	}
	return strings.TrimSuffix(d.files[path], "\n")
}

// dir is the subject's directory in the real sysfs.
func (s *stage) dir() string { return filepath.Join(s.sysfs, "class/net", s.subject()) }

const (
	tapFlags      = unix.IFF_TAP | unix.IFF_NO_PI
	tapQueueFlags = tapFlags | unix.IFF_MULTI_QUEUE
	tunFlags      = unix.IFF_TUN | unix.IFF_NO_PI
)
