package rtnl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails where a goroutine or a socket outlived the tests.
func TestMain(m *testing.M) {
	flag.Parse()
	goroutines, sockets := runtime.NumGoroutine(), openSockets()
	code := m.Run()
	// Whoever drives a fuzz test leaves goroutines of its own.
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	if code == 0 && !fuzzing && !settles(func() bool { return runtime.NumGoroutine() <= goroutines && openSockets() <= sockets }) {
		stacks := make([]byte, 1<<16)
		fmt.Fprintf(os.Stderr, "%d goroutines before, now\n%s\n%d sockets before, %d now\n",
			goroutines, stacks[:runtime.Stack(stacks, true)], sockets, openSockets())
		code = 1
	}
	os.Exit(code)
}

func settles(f func() bool) bool {
	for range 200 {
		if f() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func openSockets() (n int) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}
