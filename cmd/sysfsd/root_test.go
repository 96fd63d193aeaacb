package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryMistakeIsToldInWordsOfTheCommandLine(t *testing.T) {
	const usage = ": sysfsd mount [flags] DIR"
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"mount", "--devices", "-1", "/m"}, "--devices: -1 is not between 1 and 16777216"},
		{[]string{"mount", "--devices", "0", "/m"}, "--devices: 0 is not between 1 and 16777216"},
		{[]string{"mount", "--devices", "16777217", "/m"}, "--devices: 16777217 is not between 1 and 16777216"},
		{[]string{"mount", "--devices", "x", "/m"}, `--devices: "x" is not a whole number`},
		{[]string{"mount", "--devices=", "/m"}, `--devices: "" is not a whole number`},
		{
			[]string{"mount", "--devices", "99999999999999999999", "/m"},
			`--devices: "99999999999999999999" is not in the range of numbers`,
		},
		{[]string{"mount", "--devices"}, "flag needs an argument: --devices"},
		{[]string{"mount", "--rate", "-1", "/m"}, `--rate: "-1" is not a whole number of 0 or more`},
		{[]string{"mount", "--seed", "x", "/m"}, `--seed: "x" is not a whole number of 0 or more`},
		{[]string{"mount", "--daemon=perhaps", "/m"}, `--daemon: "perhaps" is not true or false`},
		{[]string{"mount", "--nlink-bits", "17", "/m"}, "--nlink-bits: 17 is neither 16 nor 32"},
		{[]string{"mount", "--hash-key", "zz", "/m"}, `--hash-key: "zz" is not 32 hex digits`},
		{[]string{"mount", "--log-level", "loud", "/m"}, `--log-level: "loud" is none of debug, info, warn, error`},
		{[]string{"mount", "-d", "--log-level", "", "/m"}, `--log-level: "" is none of debug, info, warn, error`},
		{
			[]string{"mount", "--devices", "5", "--kinds", "foo=1", "/m"},
			`--kinds: "foo" is unknown, there are veth, ifb, dummy, bridge, macvlan, vxlan, tap, pci`,
		},
		{[]string{"mount", "--devices", "5", "--kinds", "veth=x", "/m"}, `--kinds: weight of "veth": "x" is not a number`},
		{[]string{"mount", "--devices", "5", "--kinds=", "/m"}, "--kinds: empty list"},
		{
			[]string{"mount", "--devices", "5", "--names", "no-pattern", "/m"},
			`--names: name pattern "no-pattern": need exactly one %d`,
		},
		{[]string{"mount", "--devices", "5", "--names=", "/m"}, "--names: empty list"},
		{[]string{"mount", "--sysfs", "maybe", "/m"}, `--sysfs: "maybe" is none of auto, detached, host, none`},
		{[]string{"mount", "--sysfs=", "/m"}, `--sysfs: "" is none of auto, detached, host, none`},
		{[]string{"mount", "--netns=", "/m"}, "--netns: the name is empty"},
		{
			[]string{"mount", "--devices", "5", "--netns", "1", "/m"},
			"--netns is for the kernel's devices, --devices for synthetic ones",
		},
		{
			[]string{"mount", "--devices", "5", "--sysfs", "none", "/m"},
			"--sysfs is for the kernel's devices, --devices for synthetic ones",
		},
		{[]string{"mount", "--names", "veth%d", "/m"}, "--names is for synthetic devices: say how many with --devices"},
		{[]string{"mount", "--seed", "3", "/m"}, "--seed is for synthetic devices: say how many with --devices"},
		{[]string{"mount"}, "wrong number of arguments, 0 instead of 1" + usage},
		{[]string{"mount", "/m", "/n"}, "wrong number of arguments, 2 instead of 1" + usage},
		{[]string{"mount", "--devices", "5", ""}, "the mount point is an empty string"},
		{[]string{"mount", "--wat", "/m"}, "unknown flag: --wat"},
		{[]string{"mount", "-q", "/m"}, "unknown shorthand flag: 'q' in -q"},
		{[]string{"frob"}, `unknown command "frob" for "sysfsd"`},
		{[]string{"--devices", "5", "/m"}, "unknown flag: --devices"},
		{[]string{"version", "x"}, "wrong number of arguments, 1 instead of 0: sysfsd version"},
		{[]string{"man"}, "wrong number of arguments, 0 instead of 1: sysfsd man DIR"},
	} {
		stdout, stderr, err := execute(c.args...)
		assert.EqualError(t, err, c.says, "%q", c.args)
		assert.Empty(t, stdout, "%q", c.args)
		assert.Empty(t, stderr, "%q", c.args)
	}
}

func TestAMistakeIsOneLineAndStatusOne(t *testing.T) {
	for _, args := range [][]string{
		{"mount", "--wat", "/m"},
		{"mount", "--devices", "5", "/missing\nmount\tpoint"},
		{"mount", "-d", "--devices", "5", "/missing\nmount\tpoint"},
	} {
		status, stdout, stderr := run(t, "sysfsd", args...)
		assert.Equal(t, exitError, status, "%q", args)
		assert.Empty(t, stdout, "%q", args)
		assertOneLine(t, stderr)
	}
}

func TestVersionAndHelpAreNoMistakes(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--help"}, {"mount", "--help"}, {}} {
		stdout, stderr, err := execute(args...)
		assert.NoError(t, err, "%q", args)
		assert.NotEmpty(t, stdout, "%q", args)
		assert.Empty(t, stderr, "%q", args)
	}
}

func TestManWritesAPageForEachCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	_, _, err := execute("man", dir)
	require.NoError(t, err)
	for _, page := range []string{"sysfsd.8", "sysfsd-mount.8"} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		assert.NoError(t, err)
		assert.Contains(t, string(text), ".TH")
	}
}

// execute runs a command in this process: for those that end before they serve.
func execute(args ...string) (stdout, stderr string, err error) {
	var out, said bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(&said)
	root.SetArgs(args)
	err = root.Execute()
	return out.String(), said.String(), err
}
