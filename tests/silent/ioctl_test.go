package silent_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ifreq is struct ifreq: a name and a union.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	data [24]byte
}

// ifioctl is what ifconfig does.
func (s *stage) ifioctl(request uintptr, name string, data []byte) error {
	var r ifreq
	copy(r.name[:unix.IFNAMSIZ-1], name)
	copy(r.data[:], data)
	var errno unix.Errno
	s.ns.Do(func() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer func() { _ = unix.Close(fd) }()
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&r)))
	})
	if errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}

// attach does what the program of a tun or tap device does, and keeps it open.
func (s *stage) attach(name string, flags uint16) error {
	ns := s.ns
	if s.remote {
		ns = s.other
	}
	var fd int
	var err error
	ns.Do(func() { fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0) })
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint16(flags)
	// What was closed may still be open in a child that another test has forked
	// and that hasn't come to its exec.
	for range 100 {
		if err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r); !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil {
		_ = unix.Close(fd)
		return os.NewSyscallError("TUNSETIFF", err)
	}
	s.held = append(s.held, os.NewFile(uintptr(fd), name))
	return nil
}

// byIoctl is a knob that puts a number, and later what the file said.
func byIoctl(name string, request uintptr, value uint32, file string) knob {
	put := func(s *stage, v uint32) error {
		return s.ifioctl(request, s.subject(), binary.NativeEndian.AppendUint32(nil, v))
	}
	return knob{
		name: name, via: "ioctl",
		turn: func(s *stage) error { return put(s, value) },
		back: func(s *stage) error {
			n, err := strconv.ParseUint(s.was(s.subject(), file), 0, 32)
			if err != nil {
				return err
			}
			return put(s, uint32(n))
		},
	}
}

// addressByIoctl is byIoctl for a link-layer address.
func addressByIoctl(name string, request uintptr, file string) knob {
	put := func(s *stage, address string) error {
		mac, err := hex.DecodeString(strings.ReplaceAll(address, ":", ""))
		if err != nil {
			return err
		}
		return s.ifioctl(request, s.subject(), append(binary.NativeEndian.AppendUint16(nil, unix.ARPHRD_ETHER), mac...))
	}
	return knob{
		name: name, via: "ioctl",
		turn: func(s *stage) error { return put(s, "02:00:00:00:00:79") },
		back: func(s *stage) error { return put(s, s.was(s.subject(), file)) },
	}
}

// setSpeed does what ethtool did before it had netlink, by struct ethtool_cmd.
func (s *stage) setSpeed(speed uint16, duplex byte) error {
	const ethtoolSset = 2
	cmd := make([]byte, 44)
	binary.NativeEndian.PutUint32(cmd, ethtoolSset)
	binary.NativeEndian.PutUint16(cmd[12:], speed)
	cmd[14] = duplex
	err := s.ifioctl(unix.SIOCETHTOOL, s.subject(),
		binary.NativeEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&cmd[0])))))
	runtime.KeepAlive(cmd)
	return err
}

var ioctlKnobs = []knob{
	byIoctl("SIOCSIFMTU", unix.SIOCSIFMTU, 1410, "mtu"),
	byIoctl("SIOCSIFTXQLEN", unix.SIOCSIFTXQLEN, 78, "tx_queue_len"),
	addressByIoctl("SIOCSIFHWADDR", unix.SIOCSIFHWADDR, "address"),
	addressByIoctl("SIOCSIFHWBROADCAST", unix.SIOCSIFHWBROADCAST, "broadcast"),
	{
		name: "SIOCSIFNAME", via: "ioctl",
		turn: func(s *stage) error { return s.ifioctl(unix.SIOCSIFNAME, s.subject(), []byte("r0")) },
		back: func(s *stage) error { return s.ifioctl(unix.SIOCSIFNAME, "r0", []byte(s.subject())) },
	},
	member("packet socket, promiscuous", unix.PACKET_MR_PROMISC),
	member("packet socket, all multicast", unix.PACKET_MR_ALLMULTI),
}
