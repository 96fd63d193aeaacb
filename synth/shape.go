package synth

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// shapeKey is what decides which files a device has, queues and relations aside.
type shapeKey struct {
	kind                              kind
	port                              bool // of a bridge
	hasPortID, hasPortName, hasSwitch bool
}

func (p *Population) shapeKey(d *device) shapeKey {
	key := shapeKey{kind: d.kind, port: isPort(d.link)}
	if d.kind == kindPCI {
		m := modelOf(p.seed, d.place)
		key.hasPortID, key.hasPortName, key.hasSwitch = m.hasPortID, m.hasPortName, m.hasSwitch
	}
	return key
}

// file is a file that devices may have. Its path is as the tables have it.
type file struct {
	row  *attr.Row
	show show
}

// files are all of them, by path: the tables say which there are at all and
// their modes, this package which device has them and what is in them.
var files = func() map[string]file {
	m := make(map[string]file, len(attr.Rows))
	for i := range attr.Rows {
		row := &attr.Rows[i]
		m[row.Path] = file{row, showOf(row)}
	}
	return m
}()

// dirs are the directories that devices may have, with their entries: dirs and
// fixed links are of attr.Names, files of attr.Rows.
var dirs = func() map[string][]netdev.Dirent {
	m := map[string][]netdev.Dirent{"": nil}
	for i := range attr.Names {
		n := &attr.Names[i]
		if n.Type == unix.DT_DIR {
			m[n.Path] = nil
		}
		if n.Type == unix.DT_DIR || !strings.Contains(n.Path, "*") {
			addEntry(m, n.Path, n.Type)
		}
	}
	for i := range attr.Rows {
		addEntry(m, attr.Rows[i].Path, unix.DT_REG)
	}
	return m
}()

func addEntry(m map[string][]netdev.Dirent, path string, typ uint8) {
	dir, name := split(path)
	m[dir] = append(m[dir], netdev.Dirent{Name: name, Type: typ})
}

// split cuts a path before its last component.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// under joins a directory of a device and a name in it.
func under(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// has reports that devices of a shape have a file, directory or fixed link.
func (k shapeKey) has(path string) bool {
	top, rest, _ := strings.Cut(path, "/")
	switch top {
	case "bridge", "brif", "brforward":
		return k.kind == kindBridge && !strings.Contains(rest, "vlan") && rest != "default_pvid"
	case "brport":
		return k.port
	case "tun_flags", "owner", "group":
		return k.kind == kindTap
	case "device":
		return k.kind == kindPCI
	case "phys_port_id":
		return k.hasPortID
	case "phys_port_name":
		return k.hasPortName
	case "phys_switch_id":
		return k.hasSwitch
	case "queues":
		return k.queues() || !strings.Contains(rest, "byte_queue_limits")
	case "power":
		return !isDebugPower(rest)
	case "bonding", "bonding_slave", "wireless", "macvtap", "phy80211", "phydev", "master":
		return false // master is a relation
	}
	return true
}

// queues reports that devices have queues that bytes wait in.
func (k shapeKey) queues() bool { return k.kind == kindIfb || k.kind == kindPCI }

// isDebugPower reports a file of CONFIG_PM_ADVANCED_DEBUG, which is off here.
func isDebugPower(name string) bool {
	switch name {
	case "async", "runtime_active_kids", "runtime_enabled", "runtime_usage":
		return true
	}
	return false
}
