package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// servedTime is how long a living mount may keep a second daemon in doubt.
const servedTime = 5 * time.Second

func TestLiveValuesAreTheSameFromEachSysfs(t *testing.T) {
	reference := testns.Host(t).Sysfs()
	for _, mode := range []string{"auto", "detached", "host"} {
		t.Run(mode, func(t *testing.T) {
			d := start(t, "--sysfs", mode)
			assertEqual(t, reference, d.dir)
			assert.NotContains(t, d.stderr(), "live values", "nothing is missing")
		})
	}
}

func TestWithoutSysfsWhatIsAnnouncedIsRightAndTheRestIsAbsent(t *testing.T) {
	ns := testns.New(t)
	testns.Zoo(t, ns)
	d := start(t, "--netns", ns.Path(), "--sysfs", "none")
	assert.Equal(t, 1, strings.Count(d.stderr(), "no live values"), d.stderr())
	sysfs := ns.Sysfs()
	assertNone(t, withoutAbsent(sysfs, d.dir))
	for _, file := range []string{"address", "mtu", "operstate", "ifindex", "carrier", "speed"} {
		_, theirs := readWhole(filepath.Join(sysfs, "class/net/ve-up0", file))
		_, ours := readWhole(filepath.Join(d.dir, "class/net/ve-up0", file))
		assert.Equal(t, theirs, ours, file)
	}
	for _, file := range []string{"flags", "statistics/rx_bytes", "queues/rx-0/rps_cpus", "power/control", "missing"} {
		_, err := readWhole(filepath.Join(d.dir, "class/net/ve-up0", file))
		assert.ErrorIs(t, err, unix.ENOENT, file)
	}
}

// withoutAbsent returns the differences but those that have to be without a
// sysfs: names that only it knows, how many directories there are, and DEVTYPE.
func withoutAbsent(sysfs, mnt string) []difference {
	for deadline := time.Now().Add(settleTime); ; time.Sleep(100 * time.Millisecond) {
		ds, _ := compare(sysfs, mnt, nil)
		ds = slices.DeleteFunc(ds, func(d difference) bool {
			return d.ours == "missing" || d.what == "nlink" || isUnreadable(mnt, d.path) ||
				filepath.Base(d.path) == "uevent" && strings.HasPrefix(d.real, "DEVTYPE=")
		})
		if len(ds) == 0 || time.Now().After(deadline) {
			return ds
		}
	}
}

// isUnreadable reports a file that is listed, because its value may be known, and
// is not there when it is read, because it isn't.
func isUnreadable(mnt, file string) bool {
	_, err := readWhole(filepath.Join(mnt, file))
	return errors.Is(err, unix.ENOENT)
}

func TestTheSysfsOfAnotherNamespaceIsNotTaken(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add only-there type ifb")
	dir := t.TempDir()
	code, said := sysfsdMount(t, "--netns", ns.Path(), "--sysfs", "host", dir)
	assert.Equal(t, 1, code)
	assertOneLine(t, said)
	assert.Contains(t, said, "sysfsd: --sysfs: host: /sys/class/net has other devices: \"only-there\" is missing")
	assert.Zero(t, mountsAt(dir))
}

func TestAStoppedDaemonIsNotMistakenForADeadOne(t *testing.T) {
	d := start(t, "--devices", "10")
	d.signal(syscall.SIGSTOP)
	defer d.signal(syscall.SIGCONT)
	began := time.Now()
	code, said := sysfsdMount(t, "--devices", "1", d.dir)
	assert.Less(t, time.Since(began), servedTime)
	assert.Equal(t, 1, code)
	assertOneLine(t, said)
	assert.Contains(t, said, "already served")
	d.signal(syscall.SIGCONT)
	assert.Len(t, deviceNames(t, d.dir), 10)
	assert.Equal(t, 1, mountsAt(d.dir))
}

func TestDeadMountsThatAreStackedAreAllRecovered(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		leaveDead(t, dir)
	}
	require.Equal(t, 2, mountsAt(dir))
	d := startAt(t, dir, "--devices", "10")
	assert.Equal(t, 1, mountsAt(dir))
	d.signal(syscall.SIGTERM)
	assert.Zero(t, d.wait(t, stopTime), d.stderr())
	assert.Zero(t, mountsAt(dir))
}

func TestOfSeveralDaemonsOneServes(t *testing.T) {
	dir := t.TempDir()
	var daemons []*daemon
	for range 4 {
		daemons = append(daemons, launch(t, dir, "--devices", "20000"))
	}
	serving := 0
	for _, d := range daemons {
		if d.waitFor("sysfsd: ready", readyTime) == nil {
			serving++
			continue
		}
		assert.Equal(t, 1, d.wait(t, stopTime))
		assertOneLine(t, d.stderr())
		assert.Contains(t, d.stderr(), dir)
	}
	assert.Equal(t, 1, serving)
	assert.Equal(t, 1, mountsAt(dir))
}

// leaveDead stacks a mount whose daemon is gone; none of ours stacks any.
func leaveDead(t *testing.T, dir string) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	require.NoError(t, unix.Mount("sysfsd", dir, "fuse.sysfsd", unix.MS_NOSUID|unix.MS_NODEV, data))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

func TestOddMountPointsAreServedAndLeft(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"with space", "with\nnew\tline", `back\slash\040`, "hash#quote\"'", "ünï"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(base, name)
			require.NoError(t, os.Mkdir(dir, 0o755))
			d := startAt(t, dir, "--devices", "10")
			assert.Equal(t, 1, mountsAt(dir))
			assertOneLine(t, d.stderr())
			code, said := sysfsdMount(t, "--devices", "1", dir)
			assert.Equal(t, 1, code)
			assertOneLine(t, said)

			d.signal(syscall.SIGKILL)
			d.wait(t, stopTime)
			d = startAt(t, dir, "--devices", "10")
			assert.Equal(t, 1, mountsAt(dir))
			d.signal(syscall.SIGTERM)
			assert.Zero(t, d.wait(t, stopTime), d.stderr())
			assert.Zero(t, mountsAt(dir))
		})
	}
}

func TestTheMountIsLeftWhereItWasMade(t *testing.T) {
	base := t.TempDir()
	dir, other, link := filepath.Join(base, "dir"), filepath.Join(base, "other"), filepath.Join(base, "link")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Mkdir(other, 0o755))
	require.NoError(t, os.Symlink(dir, link))
	d := startAt(t, link, "--devices", "10")
	assert.Equal(t, 1, mountsAt(dir))
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(other, link))
	d.signal(syscall.SIGTERM)
	assert.Zero(t, d.wait(t, stopTime), d.stderr())
	assert.Zero(t, mountsAt(dir))
}

// private runs a script of sh in a mount namespace of its own, where /mnt has the
// daemon and a mount point of nobody's, and /dev/fuse is for everybody, as it is
// on other machines. What the script leaves ends with it.
func private(t *testing.T, script string) string {
	t.Helper()
	if reference() {
		t.Skip("the reference run has no daemon")
	}
	requireCommands(t, "unshare", "setpriv", "fusermount3")
	const prepare = `set -e
mount -t tmpfs -o mode=755 tmpfs /mnt
cd /mnt
cp "$0" sysfsd
chmod 755 sysfsd
mknod fuse c 10 229
chmod 666 fuse
mount --bind fuse /dev/fuse
mkdir dir
chown 65534:65534 dir
nobody="$(command -v setpriv) --reuid 65534 --regid 65534 --clear-groups"
cat >functions <<"END"
run() { # prints the exit status of a command
	status=0
	"$@" || status=$?
	echo "status $status"
}
serve() { # starts a daemon and returns when it is ready
	: >/tmp/said.$$
	"$@" 2>/tmp/said.$$ & daemon=$!
	until grep -q '^sysfsd: ready' /tmp/said.$$; do kill -0 $daemon; sleep 0.02; done
}
end() { # stops the daemon, and prints its exit status and what it said
	kill $daemon
	run wait $daemon
	sed 's/^time=[^ ]* //; s/ after .* s$//' /tmp/said.$$
}
mounted() { # prints options and type of what is mounted
	sed -n 's/^[^/]* \/ \/mnt\/dir \([^ ]*\) .*- \([^ ]*\) .*/\1 \2/p' /proc/self/mountinfo
}
END
mount -t tmpfs -o mode=1777 tmpfs /tmp
. ./functions
`
	out, err := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", prepare+script, sysfsd).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func requireCommands(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("not installed: ", name)
		}
	}
}

func TestWithoutDevFuseOneLineSaysSo(t *testing.T) {
	assert.Equal(t, `sysfsd: no /dev/fuse: load the kernel's fuse module, or give the container that device
status 1
`, private(t, `
mount -t tmpfs tmpfs /dev
run ./sysfsd mount --devices 3 dir
`))
}

func TestADevFuseThatIsNotForUsersIsNamed(t *testing.T) {
	assert.Equal(t, `sysfsd: no permission to open /dev/fuse: be root, or let the device's mode and the container's rules allow it
status 1
`, private(t, `
chmod 600 fuse
run $nobody ./sysfsd mount --devices 3 dir
`))
}

func TestAUserIsToldOfFusermountWhereItIsMissing(t *testing.T) {
	assert.Equal(t, `sysfsd: no permission to mount on /mnt/dir: be root, or install fuse3 for its fusermount3
status 1
`, private(t, `
PATH=/nowhere run $nobody ./sysfsd mount --devices 3 dir
`))
}

func TestAUserMountsByFusermount(t *testing.T) {
	assert.Equal(t, `ro,nosuid,nodev,noexec,relatime fuse.sysfsd
same
status 0
level=INFO msg="live values are read from /sys, for want of a sysfs mount of our own" reason="detached: fsopen: operation not permitted"
sysfsd: ready: devices on /mnt/dir
`, withoutNoise(private(t, `
serve $nobody ./sysfsd mount dir
mounted
$nobody sh -ec '
cd dir/class/net
for file in */address */mtu */ifindex */type */tx_queue_len */flags */queues/rx-0/rps_cpus; do
	cmp $file /sys/class/net/$file
done'
echo same
end
mounted
`)))
}

func TestAUsersDeadMountIsRecovered(t *testing.T) {
	assert.Equal(t, `ro,nosuid,nodev,noexec,relatime fuse.sysfsd
sysfsd: /mnt/dir is already served by a sysfsd
status 1
3
status 0
`, private(t, `
serve $nobody ./sysfsd mount --devices 5 dir
kill -9 $daemon
run wait $daemon >/dev/null 2>&1
serve $nobody ./sysfsd mount --devices 3 dir
mounted
run $nobody ./sysfsd mount --devices 3 dir
$nobody ls dir/class/net | wc -l
end >end
head -n 1 end
mounted
`))
}

func TestAUsersMountIsNotForRootToJudge(t *testing.T) {
	assert.Equal(t, `sysfsd: /mnt/dir is already served by a sysfsd of another user
status 1
`, private(t, `
serve $nobody ./sysfsd mount --devices 5 dir
run ./sysfsd mount --devices 3 dir
end >/dev/null
`))
}

func TestAMountPointBehindAClosedDirectoryIsRefused(t *testing.T) {
	assert.Equal(t, `sysfsd: mount point closed/dir: permission denied
status 1
`, private(t, `
mkdir -m 700 closed closed/dir
run $nobody ./sysfsd mount --devices 3 closed/dir
`))
}

func TestRootOfAUserNamespaceHasItsOwnSysfs(t *testing.T) {
	assert.Equal(t, `ro,nosuid,nodev,noexec,relatime fuse.sysfsd
1500
0x1002
lo
v0
v1
status 0
sysfsd: ready: devices on /mnt/dir
`, withoutNoise(private(t, `
$nobody unshare -Urnm sh -ec '
. ./functions
ip link add v0 type veth peer name v1
serve ./sysfsd mount dir
mounted
cat dir/class/net/v0/mtu dir/class/net/v0/flags
ls dir/class/net
end'
`)))
}

func TestANamespaceThatMayNotBeEnteredIsNamed(t *testing.T) {
	out := private(t, `run $nobody ./sysfsd mount --netns /proc/self/ns/net dir`)
	assert.Contains(t, out, "sysfsd: --netns /proc/self/ns/net: no permission to enter it")
	assertOneLine(t, strings.TrimSuffix(out, "status 1\n"))
}

// withoutNoise leaves out what depends on the machine: its number of devices and
// the size of a buffer.
func withoutNoise(out string) string {
	var kept strings.Builder
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "receive buffer") {
			kept.WriteString(regexp.MustCompile(`ready: \d+ devices on /mnt/dir\n`).ReplaceAllString(line, "ready: devices on /mnt/dir\n"))
		}
	}
	return kept.String()
}

func TestMountRunsUsAsItsHelper(t *testing.T) {
	assert.Equal(t, `ro,nosuid,nodev,noexec,relatime fuse.sysfsd
1000
cust0
sysfsd: -o nonsense: unknown option
status 1
status 0
status 0
`, private(t, `
mkdir up work sbin
mount -t overlay -o "lowerdir=$(readlink -f /sbin),upperdir=up,workdir=work" overlay "$(readlink -f /sbin)"
ln -s /mnt/sysfsd /sbin/mount.sysfsd
mount -t sysfsd -o rw,noatime,x-systemd.automount,allow_other,devices=1000,names=cust%d:dummy%d,nlink_bits=32 sysfsd dir 2>/dev/null
mounted
ls dir/class/net | wc -l
ls dir/class/net | grep -x cust0
umount dir
run mount -t sysfsd -o nonsense,devices=5 sysfsd dir
run mount -t sysfsd -s -o nonsense,devices=5 sysfsd dir 2>/dev/null
umount dir
echo "sysfsd /mnt/dir sysfsd noauto,users,devices=7 0 0" >fstab
run mount -T fstab dir 2>/dev/null
umount dir
mounted
`))
}
