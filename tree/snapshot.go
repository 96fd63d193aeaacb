package tree

import (
	"iter"

	"github.com/sysfsd/sysfsd/netdev"
)

// Snapshot is the tree at one moment. It never changes, so any number of
// goroutines may read it without a lock.
type Snapshot struct {
	devices table[Device]
	places  table[Place]
	edges   table[Edge]
}

// Device returns the device of a serial.
func (s *Snapshot) Device(serial netdev.Serial) (*Device, bool) { return s.devices.get(serial) }

// Place returns the place of a serial.
func (s *Snapshot) Place(serial netdev.Serial) (*Place, bool) { return s.places.get(serial) }

// Edge returns the edge of a serial, with its two devices.
func (s *Snapshot) Edge(serial netdev.Serial) (e *Edge, upper, lower *Device, ok bool) {
	if e, ok = s.edges.get(serial); !ok {
		return nil, nil, nil, false
	}
	upper, okUpper := s.Device(e.Upper)
	lower, okLower := s.Device(e.Lower)
	return e, upper, lower, okUpper && okLower
}

// Devices yields all devices in the order of their appearance.
func (s *Snapshot) Devices() iter.Seq[*Device] { return s.devices.all() }

// Len counts the devices.
func (s *Snapshot) Len() int { return s.devices.len() }

// clone returns an independent copy that shares what doesn't change.
func (s *Snapshot) clone() *Snapshot {
	return &Snapshot{devices: s.devices.clone(), places: s.places.clone(), edges: s.edges.clone()}
}
