// Package tests runs the built sysfsd from outside, as a user would, and
// compares what it shows with the kernel's own sysfs.
//
// Environment: SYSFSD_RACE=1 builds the daemon with the race detector,
// SYSFSD_SCALE=1 runs with the numbers of the design instead of small ones, and
// SYSFSD_REFERENCE=1 puts the kernel's sysfs in the daemon's place, which tests
// the tests.
package tests

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sysfsd is the path of the daemon under test. TestMain sets it, nobody changes it.
var sysfsd string

// reference says that the kernel's own sysfs plays the daemon.
func reference() bool { return os.Getenv("SYSFSD_REFERENCE") == "1" }

// scale picks the number of the design, or one that keeps the test short.
func scale(short, full int) int {
	if os.Getenv("SYSFSD_SCALE") == "1" {
		return full
	}
	return short
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests that run in parallel spend their time waiting, not computing.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	leaveMounts()
	os.Exit(run(m))
}

// privateEnv marks a process that is in a mount namespace of its own already.
const privateEnv = "SYSFSD_TESTS_PRIVATE"

// leaveMounts starts this program again in a mount namespace of its own, so
// that a test run that is killed leaves no dead mounts on the machine. Without
// the right to do so it goes on as it is.
func leaveMounts() {
	if os.Getenv(privateEnv) != "" {
		_ = os.Unsetenv(privateEnv) // It is not for the children.
		return
	}
	runtime.LockOSThread() // Of all threads the one that calls exec goes on.
	defer runtime.UnlockOSThread()
	if unix.Unshare(unix.CLONE_NEWNS) != nil || unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") != nil {
		return
	}
	err := unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), privateEnv+"=1"))
	fmt.Fprintln(os.Stderr, "tests:", err)
	os.Exit(1)
}

// run gives all tests one temporary directory, so that what they leave there is
// told from what other programs mounted.
func run(m *testing.M) int {
	base, err := os.MkdirTemp("", "sysfsd-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv("TMPDIR", base); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sysfsd = filepath.Join(base, "sysfsd")
	code := 1
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	for _, left := range append(leftMounts(base), leftProcesses()...) {
		fmt.Fprintln(os.Stderr, "tests: left over:", left)
		code = 1
	}
	if err := os.RemoveAll(base); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func build() error {
	if reference() {
		return nil
	}
	args := []string{"build", "-o", sysfsd}
	if os.Getenv("SYSFSD_RACE") == "1" {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "../cmd/sysfsd")...).CombinedOutput(); err != nil {
		return fmt.Errorf("build sysfsd: %w\n%s", err, out)
	}
	return nil
}

// leftMounts detaches what is still mounted below base, and says what it was.
func leftMounts(base string) []string {
	var left []string
	for _, m := range mounts() {
		if strings.HasPrefix(m.dir, base+"/") {
			left = append(left, fmt.Sprintf("mount of %s at %s", m.fstype, m.dir))
			_ = unix.Unmount(m.dir, unix.MNT_DETACH)
		}
	}
	return left
}

// leftProcesses says which processes run the binary under test.
func leftProcesses() []string {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	var left []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == sysfsd {
			left = append(left, "process "+filepath.Base(filepath.Dir(link)))
		}
	}
	return left
}

type mount struct{ dir, fstype, source, options string }

// mounts parses /proc/self/mountinfo, oldest mount first.
func mounts() []mount {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var all []mount
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		if len(head) < 6 || len(tail) < 2 {
			continue
		}
		all = append(all, mount{unescape.Replace(head[4]), tail[0], tail[1], head[5]})
	}
	return all
}
