package silent_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/attr"
)

// docFile is written by -update, from this package's directory.
const docFile = "../../docs/silent.md"

// outVariable names the environment variable with the file that gets one line
// for each change.
const outVariable = "SYSFSD_SILENT_OUT"

// report collects what all scenes saw.
type report struct {
	begun time.Time
	seen  []observation
	// done counts the scenes that came to their end.
	done int
}

func (r *report) add(one *runner) {
	r.seen = append(r.seen, one.seen...)
	r.done++
}

// finish writes what was asked for, and logs where the table is too careful.
func (r *report) finish(t *testing.T) {
	t.Helper()
	slices.SortFunc(r.seen, func(a, b observation) int {
		return cmp.Or(cmp.Compare(a.scene, b.scene), cmp.Compare(a.knob, b.knob), cmp.Compare(a.device, b.device), cmp.Compare(a.path, b.path))
	})
	files := r.byFile()
	for _, f := range files {
		if f.careful() {
			t.Logf("%s is live, though each of its changes was announced: %s", f.path, f)
		}
	}
	t.Logf("%d changes in %s", len(r.seen), time.Since(r.begun).Round(time.Second))
	if name := os.Getenv(outVariable); name != "" {
		require.NoError(t, os.WriteFile(name, []byte(r.lines()), 0o644))
	}
	if testing.Verbose() {
		t.Log("\n" + document(files))
	}
	if *update {
		require.Len(t, scenes(), r.done, "docs/silent.md is only written by a run of all scenes")
		require.NoError(t, os.WriteFile(docFile, []byte(document(files)), 0o644))
	}
}

// lines is the derived table in full.
func (r *report) lines() string {
	var b strings.Builder
	b.WriteString("scene\tknob\tvia\tdevice\tkind\tUP\tpath\tclass\tannounced\tlink\tbridge\tethtool\n")
	for _, o := range r.seen {
		word := "silent"
		if o.announced {
			word = "announced"
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%t\t%s\t%s\t%s\t%d\t%d\t%d\n", o.scene, o.knob, o.via, o.device, o.kind, o.up,
			o.path, o.class, word, o.heard.link, o.heard.bridge, o.heard.ethtool)
	}
	return b.String()
}

// cell says how changes of one file, made in one way in one state, came out.
type cell struct {
	announced, silent int
	// by has the knobs whose changes were silent.
	by map[string]bool
}

func (c *cell) String() string {
	switch {
	case c == nil:
		return ""
	case c.silent == 0:
		return "announced"
	case c.announced == 0:
		return "silent"
	}
	return "mixed"
}

// column is a state and a way to change something.
type column struct {
	up  bool
	via string
}

// columns are in the order of the document.
var columns = []column{
	{true, "netlink"},
	{true, "sysfs"},
	{true, "ioctl"},
	{true, "outside"},
	{false, "netlink"},
	{false, "sysfs"},
	{false, "ioctl"},
	{false, "outside"},
}

// fileRow is all that was seen of one path.
type fileRow struct {
	path    string
	classes map[string]bool
	cells   map[column]*cell
}

// careful reports that the file could be mirrored, for all that was seen.
func (f *fileRow) careful() bool {
	for _, c := range f.cells {
		if c.silent > 0 {
			return false
		}
	}
	return f.classes[attr.Live.String()] && len(f.classes) == 1
}

func (f *fileRow) String() string {
	var parts []string
	for _, c := range columns {
		if cell := f.cells[c]; cell != nil {
			parts = append(parts, fmt.Sprintf("%s %s %d", stateName(c.up), c.via, cell.announced))
		}
	}
	return strings.Join(parts, ", ")
}

func stateName(up bool) string {
	if up {
		return "UP"
	}
	return "DOWN"
}

// byFile groups the observations; the counters are one file.
func (r *report) byFile() []*fileRow {
	rows := map[string]*fileRow{}
	for _, o := range r.seen {
		if strings.HasPrefix(o.path, "statistics/") {
			o.path = "statistics/*"
		}
		f := rows[o.path]
		if f == nil {
			f = &fileRow{o.path, map[string]bool{}, map[column]*cell{}}
			rows[o.path] = f
		}
		f.add(o)
	}
	return slices.SortedFunc(maps.Values(rows), func(a, b *fileRow) int { return cmp.Compare(a.path, b.path) })
}

func (f *fileRow) add(o observation) {
	f.classes[o.class] = true
	c := f.cells[column{o.up, o.via}]
	if c == nil {
		c = &cell{by: map[string]bool{}}
		f.cells[column{o.up, o.via}] = c
	}
	if o.announced {
		c.announced++
		return
	}
	c.silent++
	c.by[strings.TrimSuffix(o.knob, ", back")] = true
}

// document is docs/silent.md. It has no counts, so that it only changes with
// the kernel or with the knobs.
func document(files []*fileRow) string {
	var u unix.Utsname
	_ = unix.Uname(&u)
	var b strings.Builder
	fmt.Fprintf(&b, "# Where the kernel is silent\n\n"+
		"Linux %s. Written by `go test ./tests/silent -update`; don't edit.\n\n"+
		"Each file and name that was seen to change, and whether the change was announced, by the state of its\n"+
		"device after the change and by what made it: netlink, a write to sysfs, an ioctl, or something outside\n"+
		"(another device, traffic, a packet socket). \"mixed\": some changes were announced. Empty: no change seen.\n\n",
		unix.ByteSliceToString(u.Release[:]))
	b.WriteString("| path | class | UP: netlink | sysfs | ioctl | outside | DOWN: netlink | sysfs | ioctl | outside |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range files {
		fmt.Fprintf(&b, "| %s | %s |", f.path, strings.Join(slices.Sorted(maps.Keys(f.classes)), ", "))
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", f.cells[c])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## The knobs behind \"mixed\"\n\nThese changes were silent; others made in the same way were announced.\n\n")
	for _, f := range files {
		for _, c := range columns {
			if cell := f.cells[c]; cell != nil && cell.String() == "mixed" {
				fmt.Fprintf(&b, "* %s, %s, %s: %s\n", f.path, stateName(c.up), c.via,
					strings.Join(slices.Sorted(maps.Keys(cell.by)), "; "))
			}
		}
	}
	return b.String()
}
