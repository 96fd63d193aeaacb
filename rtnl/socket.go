package rtnl

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// socket is what this package needs of a netlink socket; tests fake it.
type socket interface {
	io.Closer // ends a receive that waits
	join(group uint32) error
	// send returns the sequence number that the answers will have.
	send(m netlink.Message) (seq uint32, err error)
	// receive waits for a datagram of the kernel, which is good until the next
	// call. One caller at a time.
	receive() ([]byte, error)
	// setReadBuffer returns the size that was got.
	setReadBuffer(bytes int) (int, error)
}

// datagramSize has room for any one message: each attribute is at most 64 KiB
// and only lists of alternative names come near that. Dumps need less, the
// kernel packs at most 32 KiB. What isn't touched costs no memory.
const datagramSize = 256 << 10

// errTruncated is for a datagram beyond datagramSize: what it said is lost.
var errTruncated = errors.New("datagram truncated")

// kernelSocket is a socket to the kernel.
//
// It receives by itself because netlink.Conn hides the sender. The sender must
// be looked at: whoever has CAP_NET_ADMIN in the namespace may send to its
// multicast groups, or to our port, a message like the kernel's. The message
// doesn't give them away: its nlmsg_pid is no port of a sender, the kernel puts
// there the port of whoever asked for the change. Only the address does, whose
// port is 0 for the kernel and never for anybody else.
type kernelSocket struct {
	*netlink.Conn
	raw     syscall.RawConn
	buf     []byte
	foreign *atomic.Uint64 // counts datagrams of other senders
}

func dialKernel(family, netns int, foreign *atomic.Uint64) (socket, error) {
	conn, err := netlink.Dial(family, &netlink.Config{NetNS: netns})
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	// Without it (before Linux 4.20) the kernel ignores what it doesn't know in
	// the header of a dump request; ours is empty.
	_ = conn.SetOption(netlink.GetStrictCheck, true)
	return &kernelSocket{Conn: conn, raw: raw, buf: make([]byte, datagramSize), foreign: foreign}, nil
}

func (s *kernelSocket) join(group uint32) error { return s.JoinGroup(group) }

func (s *kernelSocket) send(m netlink.Message) (uint32, error) {
	sent, err := s.Send(m)
	return sent.Header.Sequence, err
}

func (s *kernelSocket) receive() ([]byte, error) {
	for {
		n, flags, from, err := s.recvmsg()
		switch sender, ok := from.(*unix.SockaddrNetlink); {
		case err != nil:
			return nil, err
		case !ok || sender.Pid != 0:
			s.foreign.Add(1)
		case flags&unix.MSG_TRUNC != 0:
			return nil, errTruncated
		default:
			return s.buf[:n], nil
		}
	}
}

// recvmsg waits in the runtime's poller, so that Close ends it.
func (s *kernelSocket) recvmsg() (n, flags int, from unix.Sockaddr, err error) {
	readErr := s.raw.Read(func(fd uintptr) bool {
		for {
			n, _, flags, from, err = unix.Recvmsg(int(fd), s.buf, nil, unix.MSG_DONTWAIT)
			if !errors.Is(err, unix.EINTR) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	})
	if readErr != nil {
		return 0, 0, nil, fmt.Errorf("netlink receive: %w", readErr)
	}
	if err != nil {
		return 0, 0, nil, fmt.Errorf("netlink receive: %w", err)
	}
	return n, flags, from, nil
}

// setReadBuffer goes beyond net.core.rmem_max where that is allowed:
// netlink.Conn tries SO_RCVBUFFORCE before SO_RCVBUF.
func (s *kernelSocket) setReadBuffer(bytes int) (int, error) {
	if err := s.SetReadBuffer(bytes); err != nil {
		return 0, err
	}
	return s.ReadBuffer()
}

// lossy reports that err means lost announcements on a socket that still works.
func lossy(err error) bool { return errors.Is(err, unix.ENOBUFS) || errors.Is(err, errTruncated) }

// exchange sends a request and calls f with each answer: all of a dump, the one
// of any other request. An errno that the kernel answers is returned as
// refusal. The dump was interrupted if something changed meanwhile that may
// have hidden a device from it.
func exchange(s socket, req netlink.Message, f func(h netlink.Header, data []byte)) (interrupted bool, err error) {
	seq, err := s.send(req)
	if err != nil {
		return false, err
	}
	for {
		b, err := s.receive()
		if errors.Is(err, errTruncated) {
			interrupted = true
			continue
		}
		if err != nil {
			return interrupted, err
		}
		for h, data := range messages(b) {
			if h.Sequence != seq {
				continue
			}
			interrupted = interrupted || h.Flags&netlink.DumpInterrupted != 0
			if h.Type == netlink.Error || h.Type == netlink.Done {
				return interrupted, refused(errnoOf(data))
			}
			f(h, data)
			if req.Header.Flags&netlink.Dump != netlink.Dump {
				return interrupted, nil
			}
		}
	}
}

// refusal is an errno that the kernel answered to a request, as opposed to one of
// a socket that doesn't work.
type refusal unix.Errno

func (r refusal) Error() string { return unix.Errno(r).Error() }

func (r refusal) Unwrap() error { return unix.Errno(r) }

// refused keeps a zero errno from becoming an error that isn't nil.
func refused(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return refusal(errno)
}
