package rtnl

import "sync"

// internLimit bounds the interned strings. Kinds and buses are few; a broadcast
// address can be set to anything.
const internLimit = 4096

// interner shares equal strings, so that a million devices hold one "veth". The
// zero value is ready.
type interner struct {
	mu sync.Mutex
	// +checklocks:mu
	strings map[string]string
}

// of returns b as a string, without an allocation if it was seen before.
func (n *interner) of(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.strings[string(b)]; ok {
		return s
	}
	if n.strings == nil || len(n.strings) >= internLimit {
		n.strings = make(map[string]string)
	}
	s := string(b)
	n.strings[s] = s
	return s
}
