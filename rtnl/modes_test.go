package rtnl

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

var (
	gigabit = netdev.Modes{Speed: 1000, Duplex: 1, State: netdev.ModesKnown}
	noMode  = netdev.Modes{State: netdev.ModesNone}
)

// modesKernel has devices 1, 2 and 3. Its dump answers for 1 only.
type modesKernel struct {
	fakeKernel
	mu     sync.Mutex
	single map[uint32]int // questions by ifindex
	dumps  int
	errno  map[uint32]unix.Errno
	ends   error // of the dump, after its answer
	breaks error // of the next question
}

func newModesKernel() *modesKernel {
	k := &modesKernel{single: map[uint32]int{}, errno: map[uint32]unix.Errno{}}
	k.links = always(newLink(1, "a"), newLink(2, "b"), newLink(3, "c"))
	k.family, k.modes = ethtoolFamily, k.answerModes
	return k
}

func (k *modesKernel) answerModes(req []netlink.Message) ([]netlink.Message, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.breaks; err != nil {
		k.breaks = nil
		return nil, err
	}
	index := asked(req)
	reply := modesMessage(unix.ETHTOOL_MSG_LINKMODES_GET_REPLY, index, 1000, 1)
	if index != 0 {
		k.single[index]++
		if errno := k.errno[index]; errno != 0 {
			return nltest.Error(int(errno), req)
		}
		return []netlink.Message{reply}, nil
	}
	k.dumps++
	msgs, _ := dumpOf(modesMessage(unix.ETHTOOL_MSG_LINKMODES_GET_REPLY, 1, 1000, 1))
	if errno := k.errno[0]; errno != 0 {
		msgs[1].Header.Type = netlink.Error
		copy(msgs[1].Data, []byte{byte(-int32(errno)), 255, 255, 255})
	}
	return msgs, k.ends
}

func (k *modesKernel) asks(index uint32) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.single[index]
}

func TestModesOfAllComeAfterTheFirstBatch(t *testing.T) {
	k := newModesKernel()
	s := openFake(t, &k.fakeKernel)
	s.Ask([]uint32{1, 2}) // Before there is anybody to ask.
	m := follow(t, s)
	<-s.ModesReady()
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Equal(t, map[uint32]netdev.Modes{1: gigabit, 2: noMode, 3: noMode}, m.modes)
	assert.Equal(t, "1=a/0 2=b/0 3=c/0", show(m.batches[0].Changes), "links didn't wait for it")
	assert.Zero(t, k.asks(1), "the dump was the answer")
}

func TestAskIsAnsweredSinglyByErrnoToo(t *testing.T) {
	k := newModesKernel()
	k.errno[2], k.errno[3], k.errno[9] = unix.EOPNOTSUPP, unix.EINVAL, unix.ENODEV
	s := openFake(t, &k.fakeKernel)
	m := follow(t, s)
	<-s.ModesReady()
	n := m.count()
	s.Ask([]uint32{0, 9, 3, 2, 1})
	m.eventually(func() bool { return s.stats.Answered.Load() == 3 && len(m.batches) > n }, "three answers")
	m.stop()
	var got []string
	for _, b := range m.batches[n:] {
		got = append(got, show(b.Changes))
	}
	assert.Equal(t, "?3 ?2 ?1", strings.Join(got, " "))
	assert.Equal(t, 1, k.asks(9))
	assert.Equal(t, map[uint32]netdev.Modes{1: gigabit, 2: noMode, 3: noMode}, m.modes)
}

// The kernel holds a question up while somebody has its RTNL mutex.
func TestQuestionThatWaitsDelaysNothingElse(t *testing.T) {
	k := newModesKernel()
	put, free := make(chan struct{}), make(chan struct{})
	k.modes = func([]netlink.Message) ([]netlink.Message, error) {
		close(put)
		<-free
		return nil, os.ErrClosed
	}
	s := openFake(t, &k.fakeKernel)
	m := follow(t, s)
	<-put
	for i := range uint32(10) {
		k.announce(unix.RTNLGRP_LINK, newLink(1, "a", u32(unix.IFLA_MTU, 100+i)))
		m.eventually(func() bool { return m.links[1] != nil && m.links[1].MTU == 100+i }, "change %d", i)
		s.Ask([]uint32{1, 2, 3})
	}
	m.cancel()
	select {
	case <-m.done:
		t.Error("Batches left its question behind")
	case <-time.After(20 * time.Millisecond):
	}
	close(free)
	<-m.done
}

func TestAskedTwiceIsAskedOnceUntilItIsPut(t *testing.T) {
	a := newAsker()
	a.dump(nil)
	_, _ = a.next()
	assert.Equal(t, 2, a.ask([]uint32{1, 2, 1}))
	assert.Zero(t, a.ask([]uint32{2, 0}))
	q, ok := a.next()
	assert.True(t, ok)
	assert.Equal(t, uint32(1), q.index)
	assert.Equal(t, 1, a.ask([]uint32{1, 2}), "the answer on its way may be too old")
	a.dumpAgain()
	q, _ = a.next()
	assert.Equal(t, []uint32{2, 1}, q.many, "a dump answers all")
	_, ok = a.next()
	assert.False(t, ok)
	a.ask([]uint32{5})
	a.hold()
	_, ok = a.next()
	assert.False(t, ok, "held back for the dump to come")
	a.dump([]uint32{7})
	q, _ = a.next()
	assert.Equal(t, []uint32{7, 5}, q.many)
}

func TestManyQuestionsAreADump(t *testing.T) {
	a := newAsker()
	a.dump(make([]uint32, 10*dumpLeast))
	_, _ = a.next()
	indexes := make([]uint32, 2*dumpLeast)
	for i := range indexes {
		indexes[i] = uint32(i + 1)
	}
	a.ask(indexes[:dumpLeast])
	q, _ := a.next()
	assert.Equal(t, uint32(1), q.index, "few of all there are")
	a.ask(indexes)
	q, _ = a.next()
	assert.Zero(t, q.index)
	assert.ElementsMatch(t, indexes, q.many)
	_, ok := a.next()
	assert.False(t, ok)
	a.askSingly(indexes)
	for i := range indexes {
		q, _ = a.next()
		require.Equal(t, indexes[i], q.index, "another dump would fail as well")
	}
	_, ok = a.next()
	assert.False(t, ok)
	a.ask(indexes)
	q, _ = a.next()
	assert.Len(t, q.many, len(indexes))
}

func TestDumpAnswersOnlyWhoAsked(t *testing.T) {
	k := newModesKernel()
	s := openFake(t, &k.fakeKernel)
	w := &answerer{Source: s, queue: newQueue()}
	require.NoError(t, w.put(t.Context(), question{many: []uint32{3, 3}}))
	assert.Equal(t, "?3", show(w.queue.take().changes))
}

func TestDumpThatADriverEndsIsCompletedSingly(t *testing.T) {
	for name, spoil := range map[string]func(k *modesKernel){
		"by an errno": func(k *modesKernel) { k.errno[0] = unix.EINVAL },
		"truncated":   func(k *modesKernel) { k.ends = errTruncated },
	} {
		k := newModesKernel()
		spoil(k)
		k.errno[3] = unix.EOPNOTSUPP
		s := openFake(t, &k.fakeKernel)
		m := follow(t, s)
		m.eventually(func() bool {
			return m.modes[1] == gigabit && m.modes[2] == gigabit && m.modes[3] == noMode
		}, "%s: answers to single questions", name)
		assert.Zero(t, k.asks(1), name)
		m.stop()
	}
}

func TestSocketOfQuestionsIsReplaced(t *testing.T) {
	k := newModesKernel()
	s := openFake(t, &k.fakeKernel)
	m := follow(t, s)
	<-s.ModesReady()
	k.mu.Lock()
	k.breaks = os.ErrDeadlineExceeded
	k.mu.Unlock()
	s.Ask([]uint32{2})
	m.eventually(func() bool { return m.modes[2] == gigabit }, "an answer at the second try")
}

func TestLostNotificationsOfModesMakeADump(t *testing.T) {
	k := newModesKernel()
	s := openFake(t, &k.fakeKernel)
	m := follow(t, s)
	<-s.ModesReady()
	k.fail(fakeMonitor, unix.ENOBUFS)
	require.Eventually(t, func() bool { return s.stats.ModesDumps.Load() == 2 }, patience, time.Millisecond)
	m.stop()
	assert.Len(t, m.fulls(), 1, "links weren't lost")
}

func TestWithoutEthtoolNobodyHasModes(t *testing.T) {
	var log syncBuffer
	k := &fakeKernel{links: always(newLink(1, "a"), newLink(2, "b"))}
	s, err := Open(Options{dial: k.dial, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	m := follow(t, s)
	<-s.ModesReady()
	m.eventually(func() bool { return m.modes[1] == noMode && m.modes[2] == noMode }, "no modes")
	n := m.count()
	s.Ask([]uint32{2})
	m.eventually(func() bool { return len(m.batches) > n }, "an answer")
	m.stop()
	assert.Equal(t, 1, strings.Count(log.String(), "no ethtool"), log.String())
}

func TestRecordedModes(t *testing.T) {
	links := map[uint32]string{}
	for _, l := range recordedLinks(t, newDecoder(), "zoo.nlmsg") {
		links[l.Index] = l.Name
	}
	got := map[string]netdev.Modes{}
	for _, data := range recordedData(t, "modes.nlmsg", 0) {
		require.True(t, isCommand(data, unix.ETHTOOL_MSG_LINKMODES_GET_REPLY))
		index, modes := decodeModes(data)
		got[links[index]] = modes
	}
	assert.Equal(t, netdev.Modes{Speed: 10000, Duplex: 1, State: netdev.ModesKnown}, got["ve-up0"])
	assert.Equal(t, netdev.Modes{Speed: 1<<32 - 1, Duplex: 255, State: netdev.ModesKnown}, got["br-empty"])
	assert.NotContains(t, got, "lo")
	assert.NotContains(t, got, "ifb-up")
}
