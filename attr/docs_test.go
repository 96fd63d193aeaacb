package attr

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write docs/attributes.md")

const docsFile = "../docs/attributes.md"

func TestDocsAreThoseOfTheTables(t *testing.T) {
	want := markdown()
	if *update {
		require.NoError(t, os.WriteFile(docsFile, []byte(want), 0o644))
	}
	got, err := os.ReadFile(docsFile)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "go test ./attr -update writes it anew")
}

// markdown writes both tables as docs/attributes.md.
func markdown() string {
	var b strings.Builder
	b.WriteString(`# Files and names of a device's directory

Written by ` + "`go test ./attr -update`" + ` from the tables in attr/. What is below a device's
directory and not here is served too, live: its files are in class *waits*.

**Classes.** *mirrored*: in memory, each change is announced. *kept*: read once, good until
the device is announced again. *live*: read from the kernel's own sysfs at that moment, which
takes no RTNL. *waits*: live too, but the kernel answers under RTNL or nobody knows; such reads
have a bounded pool of their own and can be interrupted. *polled*: in memory, asked for each
second because some change isn't announced. A class with a condition is *live* where that
doesn't hold, unless it says otherwise.

## Files

| file | mode | class | while | format | source |
|---|---|---|---|---|---|
`)
	rows := slices.Clone(Rows)
	slices.SortFunc(rows, func(x, y Row) int { return compareFields(x.Path, y.Path) })
	for i := range rows {
		r := &rows[i]
		while := "always"
		if r.While != nil {
			while = r.While.Text
			if r.Else != Live {
				while += ", else " + r.Else.String()
			}
		}
		fmt.Fprintf(&b, "| `%s` | %04o | %s | %s | %s | %s |\n", r.Path, uint32(r.Mode), r.Class, while, r.Format, r.Source)
	}
	b.WriteString("\n## Directories and links\n\n| name | type | names from | exists | target |\n|---|---|---|---|---|\n")
	for _, n := range Names {
		typ := map[uint8]string{unix.DT_DIR: "directory", unix.DT_LNK: "link"}[n.Type]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", n.Path, typ, n.Names, n.Exists, n.Target)
	}
	b.WriteString("\n## Below a bus device\n\nOf a device that network devices hang below only these are shown, each live: `" +
		strings.Join(ParentFiles, "`, `") + "`, and `net`.\n")
	return b.String()
}

// compareFields orders the device's own files before those of directories.
func compareFields(x, y string) int {
	if dx, dy := strings.Count(x, "/"), strings.Count(y, "/"); (dx == 0) != (dy == 0) {
		return dx - dy
	}
	return strings.Compare(x, y)
}
