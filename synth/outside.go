package synth

import (
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// The directories outside of all devices that hold them.
const (
	classNet   = "class/net"
	virtualNet = "devices/virtual/net"
)

// itself is the name that stands for the bus device's own directory.
const itself = "."

// outside is what a path that belongs to no device leads to.
type outside struct {
	typ  uint8
	mode uint32
	bus  uint32 // number of the PCI device that it belongs to
	name string // in the bus device's directory, itself for that
	dev  uint32 // the device that a link of class/net leads to
}

// findOutside walks a path from the root of sysfs.
// Preconditions: mu is held, as for all methods of this file.
func (p *Population) findOutside(path string) (outside, bool) {
	if name, ok := strings.CutPrefix(path, classNet+"/"); ok {
		index, ok := p.names.find(name)
		return outside{typ: unix.DT_LNK, mode: linkMode, dev: index}, ok
	}
	dir := outside{typ: unix.DT_DIR, mode: dirMode}
	switch path {
	case "", "class", classNet, "devices", "devices/virtual", virtualNet:
		return dir, true
	}
	below, ok := strings.CutPrefix(path, "devices/")
	if !ok {
		return outside{}, false
	}
	return p.findBus(below)
}

// findBus finds a bus device, what is in it, or what is above it.
func (p *Population) findBus(path string) (outside, bool) {
	parent, name := split(path)
	if n, ok := p.busDevice(path); ok {
		return outside{typ: unix.DT_DIR, mode: dirMode, bus: n, name: itself}, true
	}
	if n, ok := p.busDevice(parent); ok {
		return busEntry(n, name)
	}
	for n, index := range p.cards { // few, and hardly ever asked for
		if index != 0 && strings.HasPrefix(pciPath(uint32(n)), path+"/") {
			return outside{typ: unix.DT_DIR, mode: dirMode}, true
		}
	}
	return outside{}, false
}

// busDevice returns the number of the PCI device at a path below devices.
func (p *Population) busDevice(path string) (uint32, bool) {
	_, name := split(path)
	n, ok := pciNumber(name)
	if !ok || int(n) >= len(p.cards) || p.cards[n] == 0 || pciPath(n) != path {
		return 0, false
	}
	return n, true
}

// busEntry finds one of the names that a bus device shows.
func busEntry(n uint32, name string) (outside, bool) {
	o := outside{typ: unix.DT_REG, mode: unix.S_IFREG | 0o444, bus: n, name: name}
	switch name {
	case "net":
		o.typ, o.mode = unix.DT_DIR, dirMode
		return o, true
	case "driver", "subsystem":
		o.typ, o.mode = unix.DT_LNK, linkMode
	case "uevent", "numa_node":
		o.mode = unix.S_IFREG | 0o644
	}
	return o, slices.Contains(attr.ParentFiles, name)
}

func (p *Population) statOutside(path string) (netdev.Stat, error) {
	o, ok := p.findOutside(path)
	if !ok {
		return netdev.Stat{}, syscall.ENOENT
	}
	st := netdev.Stat{Ino: inode(0, path), Mode: o.mode, Nlink: 1}
	switch o.typ {
	case unix.DT_REG:
		st.Size = pageSize
	case unix.DT_DIR:
		st.Nlink = p.nlinkOutside(path)
	}
	return st, nil
}

func (p *Population) nlinkOutside(path string) uint32 {
	const empty = 2
	switch path {
	case virtualNet:
		return empty + uint32(p.virtual())
	case classNet:
		return empty
	}
	n := uint32(empty)
	list, _ := p.listOutside(path) // a directory, so it can be listed
	for _, e := range list {
		if e.Type == unix.DT_DIR {
			n++
		}
	}
	return n
}

// virtual returns how many devices hang below no other.
func (p *Population) virtual() int {
	n := p.devices.live
	for _, index := range p.cards {
		if index != 0 {
			n--
		}
	}
	return n
}

func (p *Population) listOutside(path string) ([]netdev.Dirent, error) {
	o, ok := p.findOutside(path)
	switch {
	case !ok:
		return nil, syscall.ENOENT
	case o.typ != unix.DT_DIR:
		return nil, syscall.ENOTDIR
	case path == classNet:
		return p.listNames(unix.DT_LNK, func(*device) bool { return true }), nil
	case path == virtualNet:
		return p.listNames(unix.DT_DIR, func(d *device) bool { return d.kind != kindPCI }), nil
	case o.name == "net":
		name := p.devices.get(p.cards[o.bus]).link.Name
		return []netdev.Dirent{{Name: name, Type: unix.DT_DIR}}, nil
	case o.name == itself:
		return listBus(o.bus), nil
	}
	return p.listAbove(path), nil
}

func (p *Population) listNames(typ uint8, want func(*device) bool) []netdev.Dirent {
	list := make([]netdev.Dirent, 0, p.devices.live)
	for _, d := range p.devices.all(0, maxIndex) {
		if want(d) {
			list = append(list, netdev.Dirent{Name: d.link.Name, Type: typ})
		}
	}
	return list
}

func listBus(n uint32) []netdev.Dirent {
	list := []netdev.Dirent{{Name: "net", Type: unix.DT_DIR}}
	for _, name := range attr.ParentFiles {
		o, _ := busEntry(n, name)
		list = append(list, netdev.Dirent{Name: name, Type: o.typ})
	}
	return list
}

// listAbove lists a directory that only leads to others.
func (p *Population) listAbove(path string) []netdev.Dirent {
	seen := make(map[string]bool)
	var list []netdev.Dirent
	add := func(full string) {
		rest, ok := strings.CutPrefix(full, under(path, ""))
		name, _, _ := strings.Cut(rest, "/")
		if ok && name != "" && !seen[name] {
			seen[name] = true
			list = append(list, netdev.Dirent{Name: name, Type: unix.DT_DIR})
		}
	}
	add(classNet)
	add(virtualNet)
	for n, index := range p.cards {
		if index != 0 {
			add("devices/" + pciPath(uint32(n)))
		}
	}
	return list
}

func (p *Population) readOutside(b []byte, path string) ([]byte, error) {
	o, ok := p.findOutside(path)
	switch {
	case !ok:
		return b, syscall.ENOENT
	case o.typ == unix.DT_DIR:
		return b, syscall.EISDIR
	case o.typ == unix.DT_LNK:
		return b, syscall.EINVAL
	}
	b, ok = modelOf(p.seed, o.bus).busText(b, o.bus, o.name)
	if !ok {
		return b, syscall.ENOENT
	}
	return b, nil
}

func (p *Population) readlinkOutside(path string) (string, error) {
	o, ok := p.findOutside(path)
	switch {
	case !ok:
		return "", syscall.ENOENT
	case o.typ != unix.DT_LNK:
		return "", syscall.EINVAL
	case o.dev != 0:
		return "../../" + devicePath(p.devices.get(o.dev)), nil
	}
	to := up(strings.Count(path, "/")) + "bus/pci"
	if o.name == "driver" {
		to += "/drivers/" + modelOf(p.seed, o.bus).driver
	}
	return to, nil
}
