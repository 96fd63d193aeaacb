package attr

import "github.com/sysfsd/sysfsd/netdev"

// Class says how fresh a file's value is, and so where a read takes it from.
type Class uint8

// The classes of freshness.
const (
	// Live files are read from the tree behind the mirror at that moment. What
	// isn't in the table is at best live.
	Live Class = iota
	// Mirrored values are in memory; every change of them is announced.
	Mirrored
	// Kept values have no announcement of their own. They are read live once and
	// are good until the device is announced again.
	Kept
	// Waits is for live files that the kernel answers under its RTNL mutex, or
	// that nobody knows: the only reads that may wait. They have a bounded pool
	// of their own.
	Waits
	// Polled values are in memory as mirrored ones, but not every change of them
	// is announced: they are asked for each second.
	Polled
)

var classNames = [...]string{Live: "live", Mirrored: "mirrored", Kept: "kept", Waits: "waits", Polled: "polled"}

// String returns the word that docs/attributes.md uses.
func (c Class) String() string { return classNames[c] }

// InMemory reports a class whose reads ask nobody.
func (c Class) InMemory() bool { return c == Mirrored || c == Polled }

// Condition limits a row's class to devices in a certain state.
type Condition struct {
	Text  string
	Holds func(*netdev.Link) bool
}

// The kernel sends a state change of these only for a device that is up:
// netdev_state_change tests IFF_UP.
var whileUp = &Condition{"the device is UP", (*netdev.Link).Up}

// With IFLA_LINK the number shown belongs to a peer, which may be in a
// namespace whose changes aren't announced here.
var withoutLink = &Condition{"IFLA_LINK is absent", func(l *netdev.Link) bool { return !l.HasLink }}

// What stands on a device takes speed and duplex from it. Where that one is in
// another namespace its announcements go there.
var belowHere = &Condition{"no device below is in another namespace", func(l *netdev.Link) bool { return !l.Abroad }}

// The state that follows unknown was seen to come without a word, once in some
// hundred bridges that were just set up, so unknown isn't taken for granted.
var stateKnown = &Condition{"it isn't unknown", func(l *netdev.Link) bool { return l.Operstate != 0 }}
