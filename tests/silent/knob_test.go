package silent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// action changes something; its error says that the kernel refused.
type action func(*stage) error

// knob is one way to change something of a device. Turning it back is judged
// like turning it.
type knob struct {
	name string
	via  string // netlink, sysfs, ioctl, or outside: not a change of the device itself
	// slow says that it may move a carrier, which link-watch may hold back for a
	// second.
	slow    bool
	applies func(*stage) bool // nil: always
	turn    action
	back    action // nil: what turned it leaves nothing behind
}

// lines returns an action that runs them until one fails.
func lines(all ...string) action {
	return func(s *stage) error {
		for _, line := range all {
			if err := s.command(line); err != nil {
				return err
			}
		}
		return nil
	}
}

// ip is a knob of one ip command, and one that turns it back.
func ip(name, turn, back string) knob {
	return knob{name: name, via: "netlink", turn: lines("ip " + turn), back: lines("ip " + back)}
}

// tool is ip for another command.
func tool(name, turn, back string) knob {
	return knob{name: name, via: "netlink", turn: lines(turn), back: lines(back)}
}

func (k knob) slowly() knob {
	k.slow = true
	return k
}

// outside marks a knob that changes something other than the subject.
func (k knob) outside() knob {
	k.via = "outside"
	return k
}

func (k knob) when(applies func(*stage) bool) knob {
	k.applies = applies
	return k
}

// remaking makes the scene again after turning back: devices were away
// meanwhile, and have lost their state or those that stood on them.
func (k knob) remaking() knob {
	back := k.back
	k.back = func(s *stage) error {
		if err := back(s); err != nil {
			return err
		}
		return s.remake()
	}
	return k
}

// writes returns a knob for each writable file of the subject, as the real tree
// has them, so that none is forgotten.
func writes(s *stage) []knob {
	var knobs []knob
	for _, path := range writable(s.dir()) {
		knobs = append(knobs, write(path, candidates(path, s.was(s.subject(), path))))
	}
	// The bit of flags that matters most has a knob of its own.
	up := write("flags", []string{toggled(s.was(s.subject(), "flags"), 0x1)})
	up.name = "write flags: UP"
	return append(knobs, up.slowly())
}

// write writes the first value that the kernel takes, and later what was there
// before.
func write(path string, values []string) knob {
	put := func(s *stage, value string) error {
		return os.WriteFile(filepath.Join(s.dir(), path), []byte(value), 0)
	}
	return knob{
		name: "write " + pattern(path), via: "sysfs",
		slow: slices.Contains([]string{"carrier", "bridge/stp_state"}, path),
		turn: func(s *stage) error {
			var err error
			for _, v := range values {
				if err = put(s, v); err == nil {
					return nil
				}
			}
			return err
		},
		back: func(s *stage) error {
			was := s.was(s.subject(), path)
			if path == "uevent" || strings.HasPrefix(was, "errno:") {
				return nil
			}
			return put(s, was)
		},
	}
}

// words are valid values of files that don't hold a plain number.
var words = map[string][]string{
	"ifalias":              {"alias by sysfs"},
	"uevent":               {"change"},
	"power/control":        {"on"},
	"power/async":          {"disabled", "enabled"},
	"bridge/group_addr":    {"01:80:c2:00:00:0d"},
	"bridge/vlan_protocol": {"0x88a8"},
	"bridge/flush":         {"1"},
	"brport/flush":         {"1"},
	"brport/backup_port":   {"y0"},
}

// candidates returns values for a file that differ from what it holds, the
// likeliest first: what a file takes is the kernel's affair.
func candidates(path, was string) []string {
	if w := words[path]; w != nil {
		return w
	}
	if path == "flags" {
		const promisc = 0x100
		return []string{toggled(was, promisc)}
	}
	var values []string
	if n, err := strconv.ParseInt(was, 0, 64); err == nil {
		if n > 1 {
			for _, v := range []int64{n * 2, n + 1, n - 1, n + 100, n / 2} {
				values = append(values, strconv.FormatInt(v, 10))
			}
		}
	}
	for _, v := range []string{"1", "0", "2", "8", "64", "1000", "1400"} {
		if v != strings.TrimPrefix(was, "0x") {
			values = append(values, v)
		}
	}
	return values
}

func toggled(was string, bit int64) string {
	n, _ := strconv.ParseInt(was, 0, 64)
	return "0x" + strconv.FormatInt(n^bit, 16)
}
