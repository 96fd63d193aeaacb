package rtnl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/netdev"
)

const (
	// barrierWait is the time after which a marker is taken for lost.
	barrierWait = 50 * time.Millisecond
	// barrierTries is the number of markers after which announcements are.
	barrierTries = 20
)

// subscription is a pair of sockets that hear what the kernel announces, and the
// goroutines that drain them into the queue as fast as they can, so that the
// kernel's buffers don't overflow while the consumer is busy.
type subscription struct {
	stats   *Stats
	decoder *decoder
	ethtool family
	queue   *queue
	links   socket
	// remodes has all link modes asked for again.
	remodes func()

	acked   chan uint32 // sequence number of the latest marker that was heard
	dead    chan struct{}
	once    sync.Once
	err     error // why it is dead; read after dead is closed
	sockets []socket
	readers sync.WaitGroup
}

// subscribe joins the groups before it returns.
func (s *Source) subscribe(q *queue) (*subscription, error) {
	sub := &subscription{
		stats: &s.stats, decoder: s.decoder, ethtool: s.ethtool, queue: q, remodes: s.asker.dumpAgain,
		acked: make(chan uint32, 1), dead: make(chan struct{}),
	}
	links, err := s.join(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK)
	if err != nil {
		return nil, fmt.Errorf("rtnl: subscribe to links: %w", err)
	}
	sub.links, sub.sockets = links, []socket{links}
	sub.drain(links, sub.hearLinks, q.lose)
	if s.ethtool.monitor == 0 {
		return sub, nil
	}
	monitor, err := s.join(unix.NETLINK_GENERIC, s.ethtool.monitor)
	if err != nil {
		sub.close()
		return nil, fmt.Errorf("rtnl: subscribe to ethtool: %w", err)
	}
	sub.sockets = append(sub.sockets, monitor)
	sub.drain(monitor, sub.hearModes, sub.remodes)
	return sub, nil
}

// join opens a socket with a large buffer in a multicast group.
func (s *Source) join(family int, group uint32) (socket, error) {
	sock, err := s.dial(family)
	if err != nil {
		return nil, err
	}
	got, err := sock.setReadBuffer(s.readBuffer)
	if err == nil {
		err = sock.join(group)
	}
	if err != nil {
		_ = sock.Close()
		return nil, err
	}
	if family == unix.NETLINK_ROUTE {
		s.stats.ReadBuffer.Store(int64(got))
		s.logBuffer.Do(func() {
			level := slog.LevelDebug
			if got/2 < s.readBuffer { // The kernel counts its own overhead, and says double.
				level = slog.LevelInfo
			}
			s.log.Log(context.Background(), level, "receive buffer for announcements", "bytes", got, "wanted", s.readBuffer)
		})
	}
	return sock, nil
}

// close ends the readers.
func (sub *subscription) close() {
	for _, sock := range sub.sockets {
		_ = sock.Close()
	}
	sub.readers.Wait()
}

// drain starts a reader, which hears datagrams until the socket fails.
func (sub *subscription) drain(sock socket, hear func([]byte), lost func()) {
	sub.readers.Go(func() {
		for {
			b, err := sock.receive()
			switch {
			case err == nil:
				hear(b)
			case lossy(err):
				sub.stats.Overflows.Add(1)
				lost()
			default:
				sub.die(err)
				return
			}
		}
	})
}

// die keeps the first error and says that nothing more will be heard.
func (sub *subscription) die(err error) {
	sub.once.Do(func() {
		sub.err = fmt.Errorf("rtnl: announcements: %w", err)
		close(sub.dead)
	})
}

func (sub *subscription) hearLinks(b []byte) {
	for h, data := range messages(b) {
		if h.Type == netlink.Error {
			sub.ack(h.Sequence)
			continue
		}
		if c, ok := sub.decoder.change(h, data, sub.stats); ok {
			sub.queue.put(c)
		}
	}
}

func (sub *subscription) hearModes(b []byte) {
	for h, data := range messages(b) {
		if h.Type != sub.ethtool.id || !isCommand(data, unix.ETHTOOL_MSG_LINKMODES_NTF) {
			continue
		}
		sub.stats.LinkModes.Add(1)
		if index, _ := decodeModes(data); index != 0 {
			sub.queue.put(netdev.Change{Op: netdev.Touched, Index: index})
		}
	}
}

// ack is called by the one reader of links.
func (sub *subscription) ack(seq uint32) {
	select {
	case <-sub.acked:
	default:
	}
	sub.acked <- seq
}

// barrier waits until all that was announced before the call is in the queue.
//
// It sends a message that does nothing and asks for an acknowledgement, which the
// kernel puts behind the announcements that wait in this socket already. While
// the socket overflows the kernel drops acknowledgements as it drops
// announcements, without another ENOBUFS until all was read: hence the
// repetitions. If none gets through that is a loss like any other.
func (sub *subscription) barrier(ctx context.Context) error {
	var first uint32
	for try := range barrierTries {
		seq, err := sub.links.send(netlink.Message{
			Header: netlink.Header{Type: netlink.Noop, Flags: netlink.Request | netlink.Acknowledge},
		})
		if err != nil {
			return fmt.Errorf("rtnl: mark announcements: %w", err)
		}
		if try == 0 {
			first = seq
		}
		heard, err := sub.awaitAck(ctx, first)
		if heard || err != nil {
			return err
		}
	}
	sub.queue.lose()
	return nil
}

// awaitAck waits for a marker that isn't older than first.
func (sub *subscription) awaitAck(ctx context.Context, first uint32) (heard bool, err error) {
	timeout := time.NewTimer(barrierWait)
	defer timeout.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-sub.dead:
			return false, sub.err
		case <-timeout.C:
			return false, nil
		case seq := <-sub.acked:
			if int32(seq-first) >= 0 {
				return true, nil
			}
		}
	}
}

// errLost says that the mirror may have missed something.
var errLost = errors.New("announcements were lost")
