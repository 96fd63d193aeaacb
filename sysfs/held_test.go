package sysfs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/netdev"
)

func TestHeldGivesUpTheLeastRecentlyUsed(t *testing.T) {
	h := newHeld(2)
	one, two, three := newNull(t), newNull(t), newNull(t)
	h.put(1, one).release()
	h.put(2, two).release()
	got, known := h.get(1)
	require.True(t, known)
	require.Same(t, one, got)
	h.put(3, three)
	check(t, h)

	_, known = h.get(2)
	assert.False(t, known)
	assert.False(t, isOpen(two))
	h.forget(1)
	assert.True(t, isOpen(one), "somebody uses it")
	one.release()
	assert.False(t, isOpen(one))
	h.close()
	assert.True(t, isOpen(three), "somebody uses it")
	three.release()
	assert.False(t, isOpen(three))
}

func TestHeldKeepsTheFirstOfTwo(t *testing.T) {
	h := newHeld(2)
	first, second := newNull(t), newNull(t)
	h.put(1, first)
	require.Same(t, first, h.put(1, second))
	assert.False(t, isOpen(second))
	assert.EqualValues(t, 3, first.users.Load())
	first.release()
	first.release()
	h.close()
	assert.False(t, isOpen(first))
}

func TestHeldRemembersTheGone(t *testing.T) {
	h := newHeld(2)
	dir, impostor := newNull(t), newNull(t)
	h.put(1, dir)
	h.gone(1, impostor)
	assert.True(t, isOpen(dir), "another directory is gone")
	h.gone(1, dir)
	h.gone(1, dir)
	dir.release()
	assert.False(t, isOpen(dir))
	got, known := h.get(1)
	assert.True(t, known)
	assert.Nil(t, got)
	assert.Nil(t, h.put(1, impostor))
	assert.False(t, isOpen(impostor))
	check(t, h)
	h.forget(1)
	_, known = h.get(1)
	assert.False(t, known)
}

func TestHeldShrinksToNothing(t *testing.T) {
	h := newHeld(5)
	for s := range netdev.Serial(5) {
		h.put(s, newNull(t)).release()
	}
	for _, want := range []int{2, 1, 0} {
		assert.True(t, h.shrink())
		check(t, h)
		assert.Equal(t, want, count(h))
	}
	assert.False(t, h.shrink())
}

func TestHeldWithoutRoomHoldsNothing(t *testing.T) {
	h := newHeld(0)
	dir := newNull(t)
	require.Same(t, dir, h.put(1, dir))
	h.gone(1, dir)
	h.forget(1)
	dir.release()
	assert.False(t, isOpen(dir))
}

func TestReleaseWithoutUsersPanics(t *testing.T) {
	d := newNull(t)
	d.release()
	assert.False(t, d.acquire())
	assert.Panics(t, d.release)
}

func TestHeldDirectoriesAreBounded(t *testing.T) {
	ns := testns.New(t)
	const devices, bound = 40, 5
	dirs := addDevices(ns, devices)
	f := openIn(t, ns, Options{HeldDirs: bound})
	before := len(sysfsDescriptors())
	for _, d := range dirs {
		requireReads(t, mtuOf(d), f, d, "mtu")
		require.LessOrEqual(t, len(sysfsDescriptors())-before, bound)
	}
	assert.Equal(t, bound, count(f.held))
	f.Close()
	assert.Len(t, sysfsDescriptors(), before-1)
	requireGone(t, f, dirs[0])
	f.Close()
}

func TestManyReadersShareFewDescriptors(t *testing.T) {
	ns := testns.New(t)
	dirs := addDevices(ns, 30)
	f := openIn(t, ns, Options{HeldDirs: 6})
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for range 2000 {
				d := dirs[rand.IntN(len(dirs))]
				switch rand.IntN(50) {
				case 0:
					f.Forget(d.Serial)
				case 1:
					f.held.shrink()
				case 2:
					_, err := f.List(d, "queues")
					assert.NoError(t, err)
				default:
					got, err := read(f, d, "mtu")
					if err != nil || got != mtuOf(d) {
						t.Errorf("device %d: %q, %v", d.Index, got, err)
						return
					}
				}
			}
		})
	}
	readers.Wait()
	check(t, f.held)
}

func TestCloseWhileReading(t *testing.T) {
	ns := testns.New(t)
	dirs := addDevices(ns, 10)
	for range 20 {
		f := openIn(t, ns, Options{HeldDirs: 5})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					d := dirs[rand.IntN(len(dirs))]
					got, err := read(f, d, "mtu")
					if errors.Is(err, unix.ENOENT) {
						return
					}
					if err != nil || got != mtuOf(d) {
						t.Errorf("device %d: %q, %v", d.Index, got, err)
						return
					}
				}
			})
		}
		f.Close()
		readers.Wait()
		assert.Zero(t, count(f.held))
	}
}

func TestNoDescriptorsLeft(t *testing.T) {
	inChild(t, func(t *testing.T) {
		ns := testns.Host(t)
		const devices, limit = 200, 64
		dirs := addDevices(ns, devices)
		f := open(t, Options{HeldDirs: devices})
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}))
		for range 3 {
			for _, d := range dirs {
				requireReads(t, mtuOf(d), f, d, "mtu")
				_, err := f.List(netdev.Dir{Path: "class/net"}, "")
				require.NoError(t, err)
			}
		}
		assert.Less(t, count(f.held), limit)
		check(t, f.held)

		// Where others have them all, that is the error, and no device is taken for gone.
		f.held.shrink()
		var others []int
		for f.held.shrink() || len(others) < limit {
			fd, err := unix.Open("/", unix.O_PATH, 0)
			if err != nil {
				break
			}
			others = append(others, fd)
		}
		_, err := read(f, dirs[0], "mtu")
		require.Equal(t, unix.EMFILE, err)
		for _, fd := range others {
			require.NoError(t, unix.Close(fd))
		}
		requireReads(t, mtuOf(dirs[0]), f, dirs[0], "mtu")
	})
}

// count returns how many devices something is known of.
func count(h *held) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.order.Len()
}

// check checks the invariants of held.
func check(t *testing.T, h *held) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.LessOrEqual(t, h.order.Len(), h.bound)
	require.Len(t, h.dirs, h.order.Len())
	for e := h.order.Front(); e != nil; e = e.Next() {
		require.Same(t, e, h.dirs[entry(e).serial])
		if dir := entry(e).dir; dir != nil {
			require.Positive(t, dir.users.Load())
			require.True(t, isOpen(dir))
		}
	}
}

// newNull returns a desc that needs no sysfs.
func newNull(t *testing.T) *desc {
	t.Helper()
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	return newDesc(fd)
}

// isOpen is right for descriptors whose number nobody got since.
func isOpen(d *desc) bool {
	_, err := unix.FcntlInt(uintptr(d.fd), unix.F_GETFD, 0)
	return err == nil
}

// addDevices adds devices that mtuOf tells apart.
func addDevices(ns *testns.NS, n int) []netdev.Dir {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("link add d%d index %d mtu %d type ifb", i, 1000+i, 1000+i))
	}
	ns.IP(lines...)
	dirs := make([]netdev.Dir, n)
	for i := range dirs {
		dirs[i] = dirOf(ns, netdev.Serial(i+1), fmt.Sprintf("d%d", i))
	}
	return dirs
}

func mtuOf(d netdev.Dir) string { return fmt.Sprintf("%d\n", d.Index) }
