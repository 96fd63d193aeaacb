package tests

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// No program expects EINTR of sysfs, and one whose threads are sent signals all
// the time, as every Go program's are by its own runtime, would give up.
func TestSignalsDoNotInterruptReaders(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add v0 numrxqueues 2 numtxqueues 2 type veth peer name v1", "link set v0 up", "link set v1 up")
	device := filepath.Join(serve(t, ns), "class/net/v0")
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGUSR1)
	defer signal.Stop(caught)

	thread, over := make(chan int), make(chan struct{})
	interrupted := make(chan map[string]int)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		interrupted <- countInterrupted(device, over)
	}()
	tid, signals := <-thread, 0
	for begin := time.Now(); time.Since(begin) < time.Second; signals++ {
		_ = unix.Tgkill(os.Getpid(), tid, unix.SIGUSR1)
		time.Sleep(50 * time.Microsecond) // So that the reader gets on.
	}
	close(over)
	assert.Empty(t, <-interrupted, "interrupted calls, of %d signals", signals)
}

// countInterrupted makes the calls of a reader and says which of them were
// interrupted how often.
func countInterrupted(device string, over <-chan struct{}) map[string]int {
	count := map[string]int{}
	for {
		for _, name := range []string{"mtu", "carrier", "speed", "flags", "statistics/rx_bytes", "queues/rx-0/rps_cpus"} {
			fd, err := unix.Open(filepath.Join(device, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if errors.Is(err, unix.EINTR) {
				count["open of "+name]++
			}
			if err != nil {
				continue
			}
			if _, err := unix.Read(fd, make([]byte, 128)); errors.Is(err, unix.EINTR) {
				count["read of "+name]++
			}
			_ = unix.Close(fd)
		}
		if _, err := listDir(device); errors.Is(err, unix.EINTR) {
			count["listing"]++
		}
		if err := unix.Stat(device+"/statistics", &unix.Stat_t{}); errors.Is(err, unix.EINTR) {
			count["stat"]++
		}
		select {
		case <-over:
			return count
		default:
		}
	}
}
