package synth

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sysfsd/sysfsd/netdev"
)

// Population is a synthetic network namespace. It implements netdev.Source and
// netdev.Files. All methods may be called from any goroutine.
//
// Each control method is one batch. It holds ctl throughout, and mu for stride
// devices at a time, so that a reader doesn't wait for a whole batch.
// Locks are taken in the order of the fields.
type Population struct {
	seed  uint64
	rate  uint64
	mix   *mix
	clock func() time.Time
	start time.Time

	ctl sync.Mutex
	// next is the ifindex of the next device, building says that New is at it,
	// bridge is the youngest one, work is for settle. Guarded by ctl.
	next     uint32
	building bool
	bridge   uint32
	work     []uint32

	mu      sync.RWMutex
	devices table
	names   names
	slots   bitmap   // numbers of PCI devices
	cards   []uint32 // who has them

	queue queue
}

var (
	_ netdev.Source = (*Population)(nil)
	_ netdev.Files  = (*Population)(nil)
)

// loIndex is the ifindex of lo in every namespace.
const loIndex = 1

// maxIndex: the kernel's ifindex is an int.
const maxIndex = 1<<31 - 1

// stride is how many devices are changed while readers wait: below 1 ms.
const stride = 256

// New makes a population.
func New(c Config) (*Population, error) {
	m, patterns, err := newMix(&c)
	if err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	separate(patterns)
	p := &Population{
		seed: c.Seed, rate: c.Rate, mix: m, clock: c.Clock,
		next: loIndex, building: true,
		names: names{patterns: patterns},
		queue: queue{wake: make(chan struct{}, 1)},
	}
	if p.clock == nil {
		p.clock = time.Now
	}
	p.start = p.clock()
	p.makeLo()
	if _, err := p.grow(c.Devices-1, &touched{}); err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	p.building = false
	return p, nil
}

// Len returns how many devices there are.
func (p *Population) Len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.devices.live
}

// Lookup returns the ifindex of a name.
func (p *Population) Lookup(name string) (uint32, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.names.find(name)
}

// Link returns a device as it is now, nil if there is none.
func (p *Population) Link(index uint32) *netdev.Link {
	p.mu.RLock()
	defer p.mu.RUnlock()
	d := p.devices.get(index)
	if d == nil {
		return nil
	}
	return d.link
}

// now returns the time since the start, which never runs backwards.
func (p *Population) now() int64 { return max(0, int64(p.clock().Sub(p.start))) }

func (p *Population) roll(index uint32, salt uint64) uint64 { return roll(p.seed, index, salt) }

// Range is a range of ifindexes, both ends included.
type Range struct{ First, Last uint32 }

// Add makes n more devices by the population's mix and returns their ifindexes.
// If names or ifindexes run out it returns an error and those made so far.
func (p *Population) Add(n int) (Range, error) {
	if n < 1 || n > MaxDevices {
		return Range{}, fmt.Errorf("synth: add: %d is not between 1 and %d", n, MaxDevices)
	}
	p.ctl.Lock()
	defer p.ctl.Unlock()
	t := &touched{set: make([]uint32, 0, n)}
	first := p.next
	made, err := p.grow(n, t)
	p.announce(t)
	if err != nil {
		err = fmt.Errorf("synth: added %d of %d: %w", made, n, err)
	}
	return Range{first, p.next - 1}, err
}

// Del removes the devices of some ranges and, as the kernel does, what can't be
// without them: the other end of a veth pair, macvlan and vxlan devices above.
// A bridge releases its ports. lo stays. It returns how many are gone.
func (p *Population) Del(ranges ...Range) int {
	p.ctl.Lock()
	defer p.ctl.Unlock()
	t := &touched{}
	victims := p.doom(ranges)
	for part := range slices.Chunk(victims.list, stride) {
		p.mu.Lock()
		for _, index := range part {
			p.remove(index, victims, t)
		}
		p.mu.Unlock()
	}
	slices.Sort(t.masters)
	for part := range slices.Chunk(slices.Compact(t.masters), stride) {
		p.mu.Lock()
		p.settle(part, t)
		p.mu.Unlock()
	}
	p.announce(t)
	return len(victims.list)
}

// Rename gives a device another name: EINVAL if it isn't legal, EEXIST if it is
// taken, ENODEV without such a device, EPERM for lo.
func (p *Population) Rename(index uint32, name string) error {
	p.ctl.Lock()
	defer p.ctl.Unlock()
	d := p.devices.get(index)
	switch {
	case d == nil:
		return syscall.ENODEV
	case index == loIndex:
		return syscall.EPERM
	case !validName(name):
		return syscall.EINVAL
	case d.link.Name == name:
		return nil
	}
	if _, taken := p.names.find(name); taken {
		return syscall.EEXIST
	}
	l := *d.link
	l.Name = name
	t := &touched{}
	p.mu.Lock()
	p.names.free(d.link.Name)
	p.names.take(name, index)
	d.flags |= renamed
	p.replace(index, d, &l, t)
	p.mu.Unlock()
	p.announce(t)
	return nil
}

// Set changes what change changes of a device: Flags' IFF_UP, Carrier (its own
// cable or program), Master, MTU, Alias, addresses and the like. Carrier,
// counts and states that follow, here and around it, are brought in line. EINVAL
// if it changes what a device is: Index, Name, Kind, Type, Lower, or makes a
// port of what can't be one. ENODEV without such a device.
func (p *Population) Set(index uint32, change func(*netdev.Link)) error {
	p.ctl.Lock()
	defer p.ctl.Unlock()
	d := p.devices.get(index)
	if d == nil {
		return syscall.ENODEV
	}
	l := *d.link
	change(&l)
	if !mayBecome(d.link, &l) || !p.mayEnslave(index, l.Master) {
		return syscall.EINVAL
	}
	t := &touched{}
	p.mu.Lock()
	p.set(index, d, &l, t)
	p.mu.Unlock()
	p.announce(t)
	return nil
}
