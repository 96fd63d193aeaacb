package rtnl

import (
	"context"
	"fmt"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// rtextFilterSkipStats is RTEXT_FILTER_SKIP_STATS of linux/rtnetlink.h.
const rtextFilterSkipStats = 8

const (
	// dumpTries is how often a dump that was interrupted is made.
	dumpTries = 5
	// dumpPause is the time before the second of them; it doubles.
	dumpPause = 4 * time.Millisecond
)

// dumpLinks adds all devices to c. An interrupted dump may have missed some, so
// it is repeated; what the tries saw is united. If none of them went through,
// that union has to do: all that changed since is in the stream of
// announcements, so what is missing could only be a device that stood still and
// was overlooked each time.
func (s *Source) dumpLinks(ctx context.Context, c *collection) error {
	pause := dumpPause
	for try := 1; ; try++ {
		interrupted, err := s.dumpOnce(ctx, c)
		if err != nil {
			return fmt.Errorf("rtnl: dump links: %w", err)
		}
		if !interrupted {
			return nil
		}
		s.stats.Interrupted.Add(1)
		if try == dumpTries {
			s.log.Debug("dumps of all links keep being interrupted, what they saw is united", "tries", try)
			return nil
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// dumpOnce has a socket of its own, which knows of no earlier dump.
func (s *Source) dumpOnce(ctx context.Context, c *collection) (interrupted bool, err error) {
	sock, err := s.dial(unix.NETLINK_ROUTE)
	if err != nil {
		return false, err
	}
	defer closeWith(ctx, sock)()
	s.stats.Dumps.Add(1)
	return exchange(sock, linkDump(), func(h netlink.Header, data []byte) {
		if h.Type != unix.RTM_NEWLINK {
			return
		}
		l, err := s.decoder.link(data)
		if err != nil {
			s.stats.Malformed.Add(1)
			return
		}
		c.set(l)
	})
}

// linkDump asks for all devices, without the statistics of their protocols.
func linkDump() netlink.Message {
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(unix.IFLA_EXT_MASK, rtextFilterSkipStats)
	mask, _ := ae.Encode() // A number always encodes.
	return netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETLINK, Flags: netlink.Request | netlink.Dump},
		Data:   append(make([]byte, unix.SizeofIfInfomsg), mask...),
	}
}

// closeWith closes sock when ctx ends, or when the function it returns is called,
// which the caller defers.
func closeWith(ctx context.Context, sock socket) func() {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = sock.Close()
	})
	return func() {
		if stop() {
			_ = sock.Close()
			return
		}
		<-closed
	}
}

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
