package main

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGarbageIsPutOffUntilReady(t *testing.T) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "") // Also puts back what it was.
		require.NoError(t, os.Unsetenv(name))
	}
	collectLess()
	assert.EqualValues(t, startLimit, debug.SetMemoryLimit(-1))
	assert.Equal(t, startPercent, debug.SetGCPercent(startPercent))
	collectMore()
	assert.EqualValues(t, noMemoryLimit, debug.SetMemoryLimit(-1))
	assert.Equal(t, servePercent, debug.SetGCPercent(servePercent))

	t.Setenv("GOGC", "77")
	debug.SetGCPercent(77)
	collectLess()
	collectMore()
	assert.Equal(t, 77, debug.SetGCPercent(77), "the user's choice was overruled")
}
