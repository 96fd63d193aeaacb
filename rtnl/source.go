package rtnl

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

// defaultReadBuffer holds some 40,000 announcements, as many as the kernel makes
// in a second of tearing devices down.
const defaultReadBuffer = 64 << 20

var (
	// ErrUnavailable says that the kernel has no rtnetlink for us.
	ErrUnavailable = errors.New("netlink is not available")
	// ErrClosed says that the Source was closed.
	ErrClosed = errors.New("source is closed")
	// ErrBusy says that there is a caller of Batches already.
	ErrBusy = errors.New("batches are being read already")
)

// Options say what to mirror. The zero value is the process's own namespace.
type Options struct {
	// Logger gets what an operator should know; nil: nobody does.
	Logger *slog.Logger
	// NetNS is a descriptor of the network namespace; it has to stay open until
	// Close. 0 is the process's own.
	NetNS int
	// ReadBuffer is the size in bytes of the kernel's buffer for announcements
	// that weren't read yet, 0: 64 MiB.
	ReadBuffer int

	// dial opens a socket of a netlink family; tests have kernels of their own.
	dial func(family int) (socket, error)
}

// Source mirrors one network namespace. It opens sockets only while Batches
// runs.
type Source struct {
	log        *slog.Logger
	dial       func(family int) (socket, error)
	readBuffer int
	logBuffer  sync.Once
	decoder    *decoder
	ethtool    family // immutable
	asker      *asker
	modesReady chan struct{}
	modesOnce  sync.Once
	stats      Stats
	// told says that a Full batch was yielded; the one caller of Batches uses it.
	told bool

	mu sync.Mutex
	// +checklocks:mu
	closed bool
	// cancel ends the running Batches, nil if there is none.
	// +checklocks:mu
	cancel context.CancelFunc
}

var _ netdev.Source = (*Source)(nil)

// Open checks that the kernel answers. Its errors are ErrUnavailable.
func Open(o Options) (*Source, error) {
	s := &Source{
		log: o.Logger, dial: o.dial, readBuffer: o.ReadBuffer,
		decoder: newDecoder(), asker: newAsker(), modesReady: make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.readBuffer == 0 {
		s.readBuffer = defaultReadBuffer
	}
	if s.dial == nil {
		s.dial = func(family int) (socket, error) { return dialKernel(family, o.NetNS, &s.stats.Foreign) }
	}
	probe, err := s.dial(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("rtnl: %w: %w", ErrUnavailable, err)
	}
	_ = probe.Close()
	if s.ethtool, err = findEthtool(s.dial); err != nil {
		s.log.Info("no ethtool netlink in this kernel, speed and duplex are unknown", "err", err)
	}
	return s, nil
}

// Close ends a running Batches, which then returns without an error, and makes
// all later ones fail. It doesn't wait.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.cancel != nil {
		s.cancel()
	}
	return nil
}

// Stats returns the counters, which go on counting.
func (s *Source) Stats() *Stats { return &s.stats }

// ModesReady is closed when the consumer has taken all answers of the first dump
// of link modes; devices that it didn't answer for have taken ModesNone.
func (s *Source) ModesReady() <-chan struct{} { return s.modesReady }

// Ask implements netdev.Source.
func (s *Source) Ask(indexes []uint32) { s.stats.Asked.Add(uint64(s.asker.ask(indexes))) }

// Batches implements netdev.Source. It returns after all it started has ended;
// a question that the kernel is holding up, waiting for its RTNL mutex, can't be
// taken back and is waited for.
func (s *Source) Batches(ctx context.Context) iter.Seq2[netdev.Batch, error] {
	return func(yield func(netdev.Batch, error) bool) {
		ctx, end, err := s.begin(ctx)
		if err == nil {
			defer end()
			err = s.stream(ctx, yield)
		}
		if err != nil {
			yield(netdev.Batch{}, err)
		}
	}
}

// begin makes the caller the only one of Batches until it calls end.
func (s *Source) begin(parent context.Context) (ctx context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, fmt.Errorf("rtnl: %w", ErrClosed)
	case s.cancel != nil:
		return nil, nil, fmt.Errorf("rtnl: %w", ErrBusy)
	}
	ctx, cancel := context.WithCancel(parent)
	s.cancel = cancel
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		cancel()
		s.cancel = nil
	}, nil
}

// stream yields batches until ctx ends or the consumer stops, which both are no
// error.
func (s *Source) stream(ctx context.Context, yield func(netdev.Batch, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	st := &stream{Source: s, queue: newQueue(), yield: yield}
	var background sync.WaitGroup
	background.Go(func() { s.answer(ctx, st.queue) })
	defer background.Wait()
	defer cancel()
	return st.run(ctx)
}
