package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// skipped is what go test -json says of a package with a test that passes and one that is skipped.
const skipped = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: no fuse\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`

func TestSkippedTestsAreNamedWithTheirReason(t *testing.T) {
	ok, log := read(t, skipped, false, "")
	assert.True(t, ok)
	assert.Equal(t, "--- SKIP: TestB: b_test.go:7: no fuse\nok  \tp\t0.1s\n", log)
}

func TestSkippedTestsFailUnlessAllowed(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	for text, want := range map[string]bool{
		"# nothing\n":           false,
		"p\\.Test\n":            false, // a pattern stands for the whole name
		"p\\.TestB # why not\n": true,
	} {
		require.NoError(t, os.WriteFile(list, []byte(text), 0o600))
		ok, log := read(t, skipped, true, list)
		assert.Equal(t, want, ok, "%q gives %s", text, log)
		assert.Contains(t, log, "--- PASS: TestA")
	}
}

func TestFailuresArePrintedWhole(t *testing.T) {
	ok, log := read(t, `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: hung\n"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`, false, "")
	assert.False(t, ok)
	assert.Equal(t, "panic: hung\nFAIL\tp\t0.1s\n", log)
}

func TestBuildFailuresFail(t *testing.T) {
	ok, log := read(t, `{"Action":"build-output","ImportPath":"p","Output":"p.go:1: no\n"}
{"Action":"build-fail","ImportPath":"p"}
`, false, "")
	assert.False(t, ok)
	assert.Equal(t, "p.go:1: no\n", log)
}

func read(t *testing.T, events string, names bool, allow string) (bool, string) {
	t.Helper()
	var log strings.Builder
	ok, err := run(strings.NewReader(events), &log, names, allow)
	require.NoError(t, err)
	return ok, log.String()
}
