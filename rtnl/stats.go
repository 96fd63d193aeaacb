package rtnl

import "sync/atomic"

// Stats counts what a Source did. The counters only grow, ReadBuffer is a size;
// all may be read at any time.
type Stats struct {
	NewLink   atomic.Uint64 // RTM_NEWLINK announced of a device
	DelLink   atomic.Uint64 // RTM_DELLINK announced of a device
	Bridge    atomic.Uint64 // announcements of family AF_BRIDGE
	LinkModes atomic.Uint64 // ETHTOOL_MSG_LINKMODES_NTF
	Malformed atomic.Uint64 // messages that couldn't be understood
	Foreign   atomic.Uint64 // datagrams that the kernel didn't send

	Overflows    atomic.Uint64 // times the kernel said that announcements were lost
	Resyncs      atomic.Uint64 // dumps made because of that
	Reopens      atomic.Uint64 // times the sockets were opened anew after an error
	Dumps        atomic.Uint64 // RTM_GETLINK dumps, repetitions included
	Interrupted  atomic.Uint64 // those of them that weren't consistent
	ModesDumps   atomic.Uint64 // ETHTOOL_MSG_LINKMODES_GET dumps
	Asked        atomic.Uint64 // devices that Ask queued
	Answered     atomic.Uint64 // single questions that got an answer
	ReadBuffer   atomic.Int64  // receive buffer of the event socket in bytes
	LargestBatch atomic.Int64  // changes in the largest batch that wasn't Full
}

// raise makes a at least n.
func raise(a *atomic.Int64, n int64) {
	for {
		old := a.Load()
		if n <= old || a.CompareAndSwap(old, n) {
			return
		}
	}
}
