package tests

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// sequence is a value that changes thousands of times, each time to a text of
// another length that tells which of them it is.
type sequence struct {
	file string
	set  func(links *testns.Links, index, n int) error
	// parse returns which value a text is, or -1 for one that was never set.
	parse func(content string) int
}

// mtus toggles between three and five digits. Which of the many equal values
// one was can't be told, so all of them are new.
var mtus = sequence{
	file: "mtu",
	set: func(links *testns.Links, index, n int) error {
		return links.SetMTU(index, []uint32{999, 10000}[n%2])
	},
	parse: func(content string) int {
		if content == "999\n" || content == "10000\n" {
			return 0
		}
		return -1
	},
}

// aliases numbers each value and fills it up to 2 to 200 bytes of one letter.
var aliases = sequence{
	file: "ifalias",
	set:  func(links *testns.Links, index, n int) error { return links.SetAlias(index, alias(n)) },
	parse: func(content string) int {
		head, _, _ := strings.Cut(content, ":")
		n, err := strconv.Atoi(head)
		if err != nil || content != alias(n)+"\n" {
			return -1
		}
		return n
	},
}

func alias(n int) string {
	head := strconv.Itoa(n) + ":"
	letter := string(rune('a' + n%26))
	return head + strings.Repeat(letter, max(0, 2+n*37%199-len(head)))
}

func TestReadersOnlySeeValuesThatWereSet(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  string
		values sequence
		// pieces says that reading it in pieces is safe as well. A live file is
		// one snapshot for each read(2), not for each open(2).
		pieces bool
	}{
		{"mtu of a device that is up", "up", mtus, true},
		{"mtu of a device that is down", "down", mtus, true},
		{"alias of a device that is up", "up", aliases, true},
		{"alias of a device that is down", "down", aliases, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ns := testns.New(t)
			ns.IP("link add v0 type veth peer name v1", "link set v0 "+c.state, "link set v1 "+c.state)
			testReadersOnlySeeValuesThatWereSet(t, ns, c.values, c.pieces)
		})
	}
}

func testReadersOnlySeeValuesThatWereSet(t *testing.T, ns *testns.NS, values sequence, pieces bool) {
	t.Helper()
	links, index := ns.Links(), ns.Index("v0")
	require.NoError(t, values.set(links, index, 0))
	file := filepath.Join(serve(t, ns), "class/net/v0", values.file)
	held, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(held) }()

	w := newWriter(scale(2000, 100_000))
	readers := map[string]func() (string, error){
		"new open":        func() (string, error) { return readWhole(file) },
		"held descriptor": func() (string, error) { return readAgain(held) },
	}
	if pieces {
		readers["byte by byte"] = func() (string, error) { return readBy(file, 1) }
	}
	results := make(chan string)
	for name, read := range readers {
		go func() { results <- name + ": " + w.watch(read, values.parse) }()
	}
	for n := 1; n < len(w.setAt); n++ {
		require.NoError(t, values.set(links, index, n))
		w.done(n)
		time.Sleep(rand.N(300 * time.Microsecond)) // A pause of any length may be the bad one.
	}
	time.Sleep(slow(promise))
	for name, read := range readers {
		content, err := read()
		assert.NoError(t, err, name)
		last := values.parse(content)
		assert.True(t, last == 0 || last == len(w.setAt)-1, "%s still reads %q", name, content)
	}
	w.over.Store(true)
	for range readers {
		t.Log(<-results)
	}
	assert.Empty(t, w.torn(), "values that were never set")
	t.Logf("worst age of a value that had been replaced: %v", time.Duration(w.stale.Load()))
	assert.Less(t, time.Duration(w.stale.Load()), slow(10*promise))
}

// writer shares with its readers which value was set when.
type writer struct {
	setAt []atomic.Int64 // Nanoseconds; zero for what is to come.
	over  atomic.Bool
	stale atomic.Int64
	bad   chan string
}

func newWriter(changes int) *writer {
	w := &writer{setAt: make([]atomic.Int64, changes), bad: make(chan string, 20)}
	w.done(0)
	return w
}

func (w *writer) done(n int) { w.setAt[n].Store(time.Now().UnixNano()) }

func (w *writer) torn() []string {
	var all []string
	for len(w.bad) > 0 {
		all = append(all, <-w.bad)
	}
	return all
}

// watch reads until the writer is over, and returns how often it did.
func (w *writer) watch(read func() (string, error), parse func(string) int) string {
	count := 0
	for ; !w.over.Load(); count++ {
		begin := time.Now().UnixNano()
		content, err := read()
		n := parse(content)
		if err != nil || n < 0 || n >= len(w.setAt) {
			select {
			case w.bad <- fmt.Sprintf("%q %s", content, errno(err)):
			default: // The first few tell enough.
			}
			continue
		}
		// Numbered values only: 0 may be any of them.
		if n == 0 || n+1 == len(w.setAt) {
			continue
		}
		if next := w.setAt[n+1].Load(); next != 0 && begin-next > w.stale.Load() {
			w.stale.Store(begin - next)
		}
	}
	return fmt.Sprint(count, " reads")
}

// readAgain reads a whole file through a descriptor that was open before.
func readAgain(fd int) (string, error) {
	buf := make([]byte, 8192)
	n, err := unix.Pread(fd, buf, 0)
	return string(buf[:max(n, 0)]), err
}
