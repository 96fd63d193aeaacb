// Command sysfsd serves a tree shaped like /sys/class/net, of the kernel's
// network devices or of synthetic ones, from memory.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sysfsd/sysfsd/fs"
)

// Exit statuses. A usage error is an error like all others: one line, status 1.
const (
	exitError = 1
	exitBusy  = 3 // stopped, but the mount was in use and had to be detached
)

func main() {
	args := os.Args[1:]
	if filepath.Base(os.Args[0]) == helperName {
		var err error
		if args, err = helperArgs(args, isMountFlag); err != nil || args == nil {
			exit(err)
		}
	}
	root := newRoot()
	root.SetArgs(args)
	exit(root.Execute())
}

// isMountFlag reports the long name of a flag of "sysfsd mount".
func isMountFlag(name string) bool { return newMount().Flags().Lookup(name) != nil }

// exit ends the program with one line for an error and the status that says
// what kind it was.
func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "sysfsd:", err)
	if errors.Is(err, fs.ErrBusy) {
		os.Exit(exitBusy)
	}
	os.Exit(exitError)
}
