package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// niceness of the daemon: a reader's request is answered before the host's other
// work, and the kernel wakes us at once.
const niceness = -19

// raisePriority raises the priority of all threads; those to come inherit it. It
// is not an error where it isn't allowed.
func raisePriority() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, niceness)
		}
	}
}
