package synth

import (
	"hash/fnv"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

// The size and modes that sysfs gives to what has no other.
const (
	pageSize = 4096
	dirMode  = unix.S_IFDIR | 0o755
	linkMode = unix.S_IFLNK | 0o777
)

// Stat implements netdev.Files.
func (p *Population) Stat(d netdev.Dir, path string) (netdev.Stat, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	dev, path, err := p.open(d, path)
	if err != nil {
		return netdev.Stat{}, err
	}
	if dev == nil {
		return p.statOutside(path)
	}
	at, ok := p.find(dev, path)
	if !ok {
		return netdev.Stat{}, syscall.ENOENT
	}
	st := netdev.Stat{Ino: inode(dev.link.Index, path), Nlink: 1}
	switch at.typ {
	case unix.DT_DIR:
		st.Mode, st.Nlink = dirMode, p.nlink(dev, at)
	case unix.DT_LNK:
		st.Mode = linkMode
	default:
		st.Mode = unix.S_IFREG | uint32(files[at.pattern].row.Mode)
		if at.pattern != brforward {
			st.Size = pageSize
		}
	}
	return st, nil
}

// inode makes a number of its own for each file of each device.
func inode(index uint32, path string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(path))
	return uint64(index)<<32 | uint64(h.Sum32())
}

// List implements netdev.Files.
func (p *Population) List(d netdev.Dir, path string) ([]netdev.Dirent, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	dev, path, err := p.open(d, path)
	if err != nil {
		return nil, err
	}
	if dev == nil {
		return p.listOutside(path)
	}
	at, ok := p.find(dev, path)
	switch {
	case !ok:
		return nil, syscall.ENOENT
	case at.typ != unix.DT_DIR:
		return nil, syscall.ENOTDIR
	case at.pattern == "queues":
		return dev.listQueues(), nil
	}
	return p.listDir(dev, at.pattern), nil
}

func (p *Population) listDir(d *device, dir string) []netdev.Dirent {
	key := p.shapeKey(d)
	var list []netdev.Dirent
	for _, e := range dirs[dir] {
		if key.has(under(dir, e.Name)) {
			list = append(list, e)
		}
	}
	switch dir {
	case "":
		return p.appendRelations(list, d)
	case "brif":
		for _, port := range p.devices.portsOf(d) {
			list = append(list, netdev.Dirent{Name: port.link.Name, Type: unix.DT_LNK})
		}
	}
	return list
}

func (d *device) listQueues() []netdev.Dirent {
	var list []netdev.Dirent
	for _, prefix := range [...]string{"rx-", "tx-"} {
		for i := range int(d.queues()) {
			list = append(list, netdev.Dirent{Name: prefix + strconv.Itoa(i), Type: unix.DT_DIR})
		}
	}
	return list
}

// appendRelations appends the links of a device's directory that follow others.
func (p *Population) appendRelations(list []netdev.Dirent, d *device) []netdev.Dirent {
	link := func(prefix string, other *device) {
		list = append(list, netdev.Dirent{Name: prefix + other.link.Name, Type: unix.DT_LNK})
	}
	if master := p.devices.get(d.link.Master); master != nil {
		list = append(list, netdev.Dirent{Name: "master", Type: unix.DT_LNK})
		link("upper_", master)
	}
	if lower := p.devices.get(d.under()); lower != nil {
		link("lower_", lower)
	}
	for _, upper := range p.devices.stacked(d) {
		link("upper_", upper)
	}
	for _, port := range p.devices.portsOf(d) {
		link("lower_", port)
	}
	return list
}

// Read implements netdev.Files.
func (p *Population) Read(d netdev.Dir, path string, b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, syscall.EINVAL
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	dev, path, err := p.open(d, path)
	if err != nil {
		return 0, err
	}
	var buf [256]byte
	text := buf[:0]
	if dev == nil {
		text, err = p.readOutside(text, path)
	} else {
		text, err = p.read(text, dev, path)
	}
	if err != nil {
		return 0, err
	}
	if dev != nil && path == brforward {
		return readRecords(b, text, off)
	}
	if off >= int64(len(text)) {
		return 0, nil
	}
	return copy(b, text[off:]), nil
}

// read appends the content of a device's file.
func (p *Population) read(b []byte, d *device, path string) ([]byte, error) {
	at, ok := p.find(d, path)
	switch {
	case !ok:
		return b, syscall.ENOENT
	case at.typ == unix.DT_DIR:
		return b, syscall.EISDIR
	case at.typ == unix.DT_LNK:
		return b, syscall.EINVAL
	}
	f := files[at.pattern]
	if f.row.Mode&0o444 == 0 {
		return b, syscall.EACCES
	}
	return f.show(b, &view{p: p, d: d, queue: at.queue, path: at.pattern})
}

// Readlink implements netdev.Files.
func (p *Population) Readlink(d netdev.Dir, path string) (string, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	dev, path, err := p.open(d, path)
	if err != nil {
		return "", err
	}
	if dev == nil {
		return p.readlinkOutside(path)
	}
	at, ok := p.find(dev, path)
	switch {
	case !ok:
		return "", syscall.ENOENT
	case at.typ != unix.DT_LNK:
		return "", syscall.EINVAL
	case at.pattern == "subsystem":
		return up(strings.Count(devicePath(dev), "/")+1) + "class/net", nil
	case at.pattern == "device":
		return "../../../" + dev.link.More.ParentName, nil
	case at.pattern == "brport/bridge":
		return relative(dev, p.devices.get(dev.link.Master), 1), nil
	case at.pattern == "brif/*":
		return relative(dev, p.devices.get(at.other), 1) + "/brport", nil
	}
	return relative(dev, p.devices.get(at.other), 0), nil
}

// Forget implements netdev.Files. Nothing is held for a device.
func (p *Population) Forget(netdev.Serial) {}

// up returns the way n directories up.
func up(n int) string { return strings.Repeat("../", n) }

// devicePath returns where a device's directory is.
func devicePath(d *device) string {
	if d.kind == kindPCI {
		return "devices/" + pciPath(d.place) + "/net/" + d.link.Name
	}
	return virtualNet + "/" + d.link.Name
}

// relative returns the way from a directory depth levels below one device's to
// another device's, as the kernel makes it: up to what both have in common.
func relative(from, to *device, depth int) string {
	a, b := strings.Split(devicePath(from), "/"), strings.Split(devicePath(to), "/")
	for len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return up(len(a)+depth) + strings.Join(b, "/")
}

// open finds the device that a path belongs to, and the path below its
// directory. It returns no device for what is outside of all devices, with the
// path from the root of sysfs.
func (p *Population) open(d netdev.Dir, path string) (*device, string, error) {
	if d.Index != 0 {
		dev := p.devices.get(d.Index)
		if dev == nil {
			return nil, "", syscall.ENOENT
		}
		return dev, path, nil
	}
	path = under(d.Path, path)
	if path = strings.TrimSuffix(path, "/"); strings.HasPrefix(path, classNet) {
		return nil, path, nil
	}
	i := strings.Index(path, "/net/")
	if i < 0 {
		return nil, path, nil
	}
	name, rest, _ := strings.Cut(path[i+len("/net/"):], "/")
	index, ok := p.names.find(name)
	dev := p.devices.get(index)
	if !ok || devicePath(dev) != path[:i+len("/net/")+len(name)] {
		return nil, "", syscall.ENOENT
	}
	return dev, rest, nil
}

// uevent is the text of a device's own uevent file.
func uevent(b []byte, v *view) ([]byte, error) {
	return attr.AppendUevent(b, templates[v.d.kind].devtype, v.d.link), nil
}
