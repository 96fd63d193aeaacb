package fs

import (
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/tree"
)

// waitingFile is answered under RTNL, and every device has it.
const waitingFile = "/queues/tx-0/xps_rxqs"

func TestReadsThatWaitAreBoundedAndHoldUpNobodyElse(t *testing.T) {
	w := newWorld(t, 60)
	const more = 5
	until := make(chan struct{})
	reads := w.startWaiting(waitingReads+more, until)
	require.Eventually(t, func() bool { return w.files.waiting() == waitingReads }, patience, tick)

	w.visitWithout("xps_rxqs")
	assert.Equal(t, waitingReads, w.files.waiting())
	close(until)
	for _, r := range reads {
		<-r.done
		assert.Equal(t, fuse.OK, r.status)
		assert.Equal(t, r.want, r.text)
	}
}

func TestAReadThatWaitsCanBeInterruptedInTheQueueAndAtWork(t *testing.T) {
	before := runtime.NumGoroutine()
	w := newWorld(t, 60)
	until := make(chan struct{})
	reads := w.startWaiting(waitingReads, until)
	require.Eventually(t, func() bool { return w.files.waiting() == waitingReads }, patience, tick)
	queued := w.startWaiting(3, until)

	for _, r := range append(queued, reads[:4]...) {
		close(r.cancel)
		<-r.done
		assert.Equal(t, fuse.EINTR, r.status)
	}
	assert.Equal(t, waitingReads, w.files.waiting(), "the kernel's answer is still to come")
	close(until)
	for _, r := range reads[4:] {
		<-r.done
		assert.Equal(t, fuse.OK, r.status)
	}
	// One is the source's and one runs the condition.
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+2 }, patience, tick)
	assert.Empty(t, w.waits.turns)
}

func TestAReadThatWaitsForAnotherOfItsHandleCanBeInterrupted(t *testing.T) {
	w := newWorld(t, 30)
	until := make(chan struct{})
	const file = "devices/virtual/net/lo" + waitingFile
	w.files.blockAt(file, until)
	o := w.openPath(file)
	first, second := w.startRead(o), w.startRead(o)
	require.Eventually(t, func() bool { return w.files.waiting() == 1 }, patience, tick)
	close(second.cancel)
	close(first.cancel)
	<-first.done
	<-second.done
	assert.Equal(t, []fuse.Status{fuse.EINTR, fuse.EINTR}, []fuse.Status{first.status, second.status})
	close(until)
	text, status := o.start()
	assert.Equal(t, fuse.OK, status)
	assert.NotEmpty(t, text)
}

func TestAPoolPassesOnWhatARead(t *testing.T) {
	p := newPool(1)
	text, err := p.read(nil, func() ([]byte, error) { return []byte("text"), syscall.EINVAL })
	assert.Equal(t, "text", string(text))
	assert.Equal(t, syscall.EINVAL, err)
	assert.Empty(t, p.turns)
}

func TestAPoolRunsNoMoreReadsThanItHasTurns(t *testing.T) {
	const turns = 3
	p := newPool(turns)
	var mu sync.Mutex
	running, most := 0, 0
	step := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		running += n
		most = max(most, running)
	}
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			_, err := p.read(nil, func() ([]byte, error) {
				step(1)
				runtime.Gosched()
				step(-1)
				return nil, nil
			})
			assert.NoError(t, err)
		})
	}
	readers.Wait()
	assert.LessOrEqual(t, most, turns)
}

// pendingRead is a read in a goroutine of its own.
type pendingRead struct {
	cancel, done chan struct{}
	want         string
	// text and status are there when done is closed.
	text   string
	status fuse.Status
}

func (w *world) startRead(o opened) *pendingRead {
	r := &pendingRead{cancel: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.text, r.status = o.read(0, pageSize, r.cancel)
	}()
	return r
}

// startWaiting starts reads of so many files that wait, each of another device.
func (w *world) startWaiting(n int, until chan struct{}) []*pendingRead {
	w.Helper()
	var reads []*pendingRead
	for d := range w.tree.Snapshot().Devices() {
		if len(reads) == n {
			break
		}
		want := w.textWithoutBlock(d)
		w.files.blockAt(d.Path()+waitingFile, until)
		r := w.startRead(w.openPath(d.Path() + waitingFile))
		r.want = want
		reads = append(reads, r)
	}
	require.Len(w, reads, n)
	return reads
}

// textWithoutBlock asks what stands behind the tree.
func (w *world) textWithoutBlock(d *tree.Device) string {
	buf := make([]byte, pageSize)
	n, err := w.pop.Read(d.Dir(), waitingFile[1:], buf, 0)
	require.NoError(w, err)
	return string(buf[:n])
}

// visitWithout does what can be done with lo but for reading files of one name.
func (w *world) visitWithout(name string) {
	w.Helper()
	lo := w.node("devices/virtual/net/lo")
	all := make(map[string]visited)
	w.walkBelow(lo, "", all)
	for at, n := range all {
		if s := w.at(n.found.NodeId); w.tree.PathOf(s.node.Serial(), s.node.Slot()).Name == name {
			continue
		}
		if n.entry.Mode == syscall.S_IFREG && !queued(at) {
			_, status := w.cat(n.found.NodeId)
			assert.Contains(w, ordinary, status, at)
		}
	}
}

// queued reports the other files that have to wait for a turn.
func queued(at string) bool {
	return at == "queues/tx-0/xps_cpus" || at == "queues/tx-0/traffic_class"
}
