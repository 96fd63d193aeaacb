package synth

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/sysfsd/sysfsd/netdev"
)

// model is a network card that PCI devices are made as.
type model struct {
	driver                                  string
	vendor, device, subVendor, subDevice    uint16
	revision                                uint8
	queues                                  uint8
	speed                                   uint32
	hasPortID, hasPortName, hasSwitch, numa bool
}

// models[0] is on the mainboard, the others are cards of four ports. Which
// phys_* files there are depends on the driver's callbacks.
var models = []model{
	{driver: "e1000e", vendor: 0x8086, device: 0x15b7, subVendor: 0x1028, subDevice: 0x06dc, revision: 0x31, queues: 1, speed: 1000},
	{driver: "igb", vendor: 0x8086, device: 0x1521, subVendor: 0x8086, subDevice: 0x0001, revision: 0x01, queues: 4, speed: 1000, numa: true},
	{driver: "ixgbe", vendor: 0x8086, device: 0x10fb, subVendor: 0x8086, subDevice: 0x0003, revision: 0x01, queues: 4, speed: 10000, numa: true},
	{
		driver: "i40e", vendor: 0x8086, device: 0x158b, subVendor: 0x8086, subDevice: 0x0009, revision: 0x02, queues: 4, speed: 25000,
		hasPortID: true, numa: true,
	},
	{
		driver: "mlx5_core", vendor: 0x15b3, device: 0x1015, subVendor: 0x15b3, subDevice: 0x0003, revision: 0x00, queues: 4, speed: 25000,
		hasPortName: true, hasSwitch: true, numa: true,
	},
}

// A card sits alone on its bus, behind the root port that leads there. The buses
// below 0xfe leave the mainboard's own device, 1f.6, alone.
const (
	cardPorts   = 4
	busesOfRoot = 0xfd
)

const pciClass = 0x020000 // Ethernet controller

// pciPlace is where a PCI device's number puts it.
type pciPlace struct{ domain, bus, function uint32 }

func placeOf(n uint32) pciPlace {
	n--
	return pciPlace{
		domain:   n / cardPorts / busesOfRoot,
		bus:      1 + n/cardPorts%busesOfRoot,
		function: n % cardPorts,
	}
}

// pciName returns the name on the bus of the device with a number.
func pciName(n uint32) string {
	if n == 0 {
		return "0000:00:1f.6"
	}
	p := placeOf(n)
	return fmt.Sprintf("%04x:%02x:00.%x", p.domain, p.bus, p.function)
}

// pciPath returns where it is below devices.
func pciPath(n uint32) string {
	if n == 0 {
		return "pci0000:00/0000:00:1f.6"
	}
	p := placeOf(n)
	return fmt.Sprintf("pci%04x:00/%04x:00:%02x.%x/%s", p.domain, p.domain, p.bus>>3, p.bus&7, pciName(n))
}

// pciNumber is the reverse of pciName.
func pciNumber(name string) (uint32, bool) {
	if name == pciName(0) {
		return 0, true
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == ':' || r == '.' })
	if len(parts) != 4 {
		return 0, false
	}
	domain, err1 := strconv.ParseUint(parts[0], 16, 16)
	bus, err2 := strconv.ParseUint(parts[1], 16, 8)
	function, err3 := strconv.ParseUint(parts[3], 16, 8)
	if err1 != nil || err2 != nil || err3 != nil || bus == 0 || bus > busesOfRoot || function >= cardPorts {
		return 0, false
	}
	n := 1 + uint32(domain*busesOfRoot+bus-1)*cardPorts + uint32(function)
	return n, pciName(n) == name
}

// modelOf returns the model of the device with a number: all ports of a card
// have the same.
func modelOf(seed uint64, n uint32) *model {
	if n == 0 {
		return &models[0]
	}
	card := (n - 1) / cardPorts
	return &models[1+roll(seed, card, saltModel)%uint64(len(models)-1)]
}

// moreOf returns what rtnetlink says of a PCI device beyond other devices.
func moreOf(seed uint64, n uint32, address netdev.HWAddr) *netdev.More {
	m := modelOf(seed, n)
	more := &netdev.More{ParentName: pciName(n), ParentBus: "pci"}
	if m.hasPortID {
		more.PhysPortID = address
	}
	if m.hasPortName {
		more.PhysPortName = "p" + strconv.Itoa(int(placeOf(n).function))
	}
	if m.hasSwitch {
		id := roll(seed, (n-1)/cardPorts, saltSwitch)
		more.PhysSwitchID = netdev.HWAddr(binary.BigEndian.AppendUint64(nil, id))
	}
	return more
}

// busText returns the text of one of a bus device's files.
func (m *model) busText(b []byte, n uint32, file string) ([]byte, bool) {
	switch file {
	case "uevent":
		return m.busUevent(b, n), true
	case "vendor":
		return fmt.Appendf(b, "0x%04x\n", m.vendor), true
	case "device":
		return fmt.Appendf(b, "0x%04x\n", m.device), true
	case "subsystem_vendor":
		return fmt.Appendf(b, "0x%04x\n", m.subVendor), true
	case "subsystem_device":
		return fmt.Appendf(b, "0x%04x\n", m.subDevice), true
	case "class":
		return fmt.Appendf(b, "0x%06x\n", pciClass), true
	case "revision":
		return fmt.Appendf(b, "0x%02x\n", m.revision), true
	case "numa_node":
		return fmt.Appendf(b, "%d\n", m.numaNode(n)), true
	case "modalias":
		return append(m.appendAlias(b), '\n'), true
	}
	return b, false
}

func (m *model) busUevent(b []byte, n uint32) []byte {
	b = fmt.Appendf(b, "DRIVER=%s\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=%s\nMODALIAS=",
		m.driver, pciClass, m.vendor, m.device, m.subVendor, m.subDevice, pciName(n))
	return append(m.appendAlias(b), '\n')
}

func (m *model) appendAlias(b []byte) []byte {
	return fmt.Appendf(b, "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X",
		m.vendor, m.device, m.subVendor, m.subDevice, pciClass>>16, pciClass>>8&0xff, pciClass&0xff)
}

// numaNode: -1 is what a machine with one node says of its mainboard's devices.
func (m *model) numaNode(n uint32) int {
	if !m.numa {
		return -1
	}
	return int(placeOf(n).domain & 1)
}
