package tree

import (
	"path"
	"strings"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/dirent"
	"github.com/sysfsd/sysfsd/netdev"
)

// The places that are always there.
const (
	classPath   = "class/net"
	virtualPath = "devices/virtual/net"
)

// place is a Place as the writer has it.
type place struct {
	ledger
	dir  *dirent.Dir
	home *Home
}

// places are all places by path, and those that the batch at hand changes.
type places struct {
	byPath  map[string]*place
	changed map[*place]struct{}
	class   *place // class/net
}

// plant makes the places that are always there.
func (t *Tree) plant() {
	root := &place{home: &Home{}, dir: t.newDir()}
	t.places.byPath[""] = root
	t.touch(root)
	t.places.class = t.placeAt(classPath)
	t.placeAt(virtualPath)
	for _, p := range t.places.byPath {
		p.home.Fixed = true
	}
}

// placeAt returns the place of a path, making it and what leads to it.
func (t *Tree) placeAt(at string) *place {
	if old, ok := t.places.byPath[at]; ok {
		return old
	}
	parent := t.parentOf(at)
	made := &place{
		dir:  t.newDir(),
		home: &Home{Path: at, Serial: t.newSerial(), Parent: parent.home.Serial, Files: ownFiles(at)},
	}
	t.places.byPath[at] = made
	parent.add(path.Base(at), NodeOf(made.home.Serial, attr.SlotDir, TypeDir))
	t.touch(parent)
	t.touch(made)
	return made
}

func (t *Tree) parentOf(at string) *place {
	dir, _ := path.Split(at)
	return t.placeAt(strings.TrimSuffix(dir, "/"))
}

// ownFiles returns the names of files that a place may have: a bus device has
// those of the closed list, class/net its own, others none.
func ownFiles(at string) []string {
	switch {
	case at == classPath:
		return attr.ClassFiles
	case at == "devices" || at == "class" || path.Base(at) == "net" || strings.HasPrefix(at, "devices/virtual"):
		return nil
	}
	return attr.ParentFiles
}

// touch notes that a batch changes a place.
func (t *Tree) touch(p *place) { t.places.changed[p] = struct{}{} }

// enter puts a device's names into its directories, leave takes them out.
func (t *Tree) enter(d *Device) {
	home := t.placeAt(d.Home.Path)
	home.add(d.Link.Name, NodeOf(d.Serial, attr.SlotDir, TypeDir))
	t.touch(home)
	t.places.class.add(d.Link.Name, NodeOf(d.Serial, attr.SlotClass, TypeLink))
	t.touch(t.places.class)
}

func (t *Tree) leave(d *Device) {
	home := t.placeAt(d.Home.Path)
	home.remove(d.Link.Name)
	t.touch(home)
	t.places.class.remove(d.Link.Name)
	t.touch(t.places.class)
}

// settlePlaces makes the changes of a batch. A device whose name is refused is
// newer than the one that has it: what renamed or removed that one was missed,
// so it goes, and comes back with the next dump.
func (t *Tree) settlePlaces() {
	for p := range t.places.changed {
		for _, e := range p.settle(p.dir) {
			if holder, ok := p.dir.Lookup(e.Name); ok {
				t.evict(Node(holder.Node).Serial(), e.Name)
			}
			p.adds = append(p.adds, e)
		}
	}
	for p := range t.places.changed {
		p.settle(p.dir)
	}
	t.prune()
}

// evict removes a device that can't have its name any more.
func (t *Tree) evict(s netdev.Serial, name string) {
	d, ok := t.next.Device(s)
	if !ok {
		return
	}
	t.log.Warn("two devices have one name, the older is dropped until the next dump", "name", name, "ifindex", d.Link.Index)
	t.remove(d)
}

// prune removes places that have nothing left, from the leaves up, as the kernel
// removes a bus device's directory "net" with its last device.
func (t *Tree) prune() {
	for p := range t.places.changed {
		for !p.home.Fixed && p.dir.Len() == 0 {
			parent := t.parentOf(p.home.Path)
			parent.dir.Remove(path.Base(p.home.Path))
			delete(t.places.byPath, p.home.Path)
			delete(t.places.changed, p)
			t.next.places.remove(p.home.Serial)
			t.dead = append(t.dead, p.home.Serial)
			t.touch(parent)
			p = parent
		}
	}
}

// freezePlaces puts the changed places into the snapshot to be.
func (t *Tree) freezePlaces() {
	for p := range t.places.changed {
		t.next.places.set(p.home.Serial, &Place{Home: p.home, Entries: p.dir.View(), Changed: t.now().UnixNano()})
	}
	clear(t.places.changed)
}

// arphrdLoopback is ARPHRD_LOOPBACK of linux/if_arp.h.
const arphrdLoopback = 772

// homeOf returns the directory that a device stands in. Devices without a kind
// are asked for too: before Linux 5.14 netlink doesn't tell of a parent.
func (t *Tree) homeOf(l *netdev.Link) string {
	if !l.HasParent() && (l.Kind != "" || l.Type == arphrdLoopback) {
		return virtualPath
	}
	target, err := t.options.Files.Readlink(netdev.Dir{Path: classPath}, l.Name)
	at := strings.TrimPrefix(path.Join("/", classPath, target), "/")
	switch {
	case err == nil && strings.HasPrefix(at, "devices/"):
		return path.Dir(at)
	case l.HasParent():
		return path.Join("devices", l.More.ParentName, "net")
	}
	return virtualPath
}
