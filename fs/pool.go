package fs

import "syscall"

// waitingReads is how many reads may wait for the kernel at once. Others wait
// for their turn, and can be interrupted as well.
const waitingReads = 16

// pool runs reads that may wait, so that they hold up nobody else.
type pool struct{ turns chan struct{} }

func newPool(n int) pool { return pool{make(chan struct{}, n)} }

// answer is what a read got.
type answer struct {
	err  error
	text []byte
}

// read does a read, or gives up with EINTR when cancel is closed. A read that
// was given up goes on until the kernel answers, and has its turn so long.
func (p pool) read(cancel <-chan struct{}, do func() ([]byte, error)) ([]byte, error) {
	if !take(p.turns, cancel) {
		return nil, syscall.EINTR
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-p.turns }()
		text, err := do()
		done <- answer{err, text}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-cancel:
		return nil, syscall.EINTR
	}
}
