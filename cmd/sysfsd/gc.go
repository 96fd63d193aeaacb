package main

import (
	"math"
	"os"
	"runtime/debug"
)

// The heap grows from nothing to its full size while the first dump is taken
// in, and nearly all of it stays: collecting garbage meanwhile is work for
// nothing, as long as there is memory. Later little changes, and a small share
// of garbage keeps a daemon of many devices small.
const (
	startPercent  = 400
	startLimit    = 512 << 20
	servePercent  = 50
	noMemoryLimit = math.MaxInt64
)

// collectLess puts garbage off until collectMore. Neither overrules who has set
// GOGC or GOMEMLIMIT.
func collectLess() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(startPercent)
		debug.SetMemoryLimit(startLimit)
	}
}

func collectMore() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(servePercent)
		debug.SetMemoryLimit(noMemoryLimit)
	}
	debug.FreeOSMemory()
}
