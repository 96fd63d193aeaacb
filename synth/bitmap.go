package synth

import "math/bits"

const wordBits = 64

// bitmap is a set of numbers that knows its lowest missing one. Level 0 has a
// bit for each number; a bit of level i+1 says that a word of level i is full.
// All operations look at one word of each level: O(log N) with base 64. The zero
// bitmap is empty. It grows to the highest number set.
type bitmap struct {
	levels [][]uint64
}

// lowest returns the lowest number that is not in the set.
func (b *bitmap) lowest() int {
	i := 0
	for level := len(b.levels) - 1; level >= 0; level-- {
		words := b.levels[level]
		if i >= len(words) {
			i *= wordBits
			continue
		}
		free := bits.TrailingZeros64(^words[i])
		if free == wordBits { // only the top's one word can be full here
			return b.span()
		}
		i = i*wordBits + free
	}
	return i
}

// span returns how many numbers the levels can tell apart now.
func (b *bitmap) span() int {
	n := 1
	for range b.levels {
		n *= wordBits
	}
	return n
}

func (b *bitmap) has(n int) bool {
	if len(b.levels) == 0 || n/wordBits >= len(b.levels[0]) {
		return false
	}
	return b.levels[0][n/wordBits]&(1<<(n%wordBits)) != 0
}

// set puts a number into the set.
func (b *bitmap) set(n int) {
	for len(b.levels) == 0 || n >= b.span() {
		b.addLevel()
	}
	for level := range b.levels {
		word := n / wordBits
		for word >= len(b.levels[level]) {
			b.levels[level] = append(b.levels[level], 0)
		}
		b.levels[level][word] |= 1 << (n % wordBits)
		if b.levels[level][word] != ^uint64(0) {
			return
		}
		n = word
	}
}

// addLevel puts one more word on top, which tells whether the old top is full.
func (b *bitmap) addLevel() {
	var top uint64
	if n := len(b.levels); n > 0 && b.levels[n-1][0] == ^uint64(0) {
		top = 1
	}
	b.levels = append(b.levels, []uint64{top})
}

// clear takes a number out of the set.
func (b *bitmap) clear(n int) {
	if !b.has(n) {
		return
	}
	for level := range b.levels {
		word := n / wordBits
		if word >= len(b.levels[level]) {
			return
		}
		was := b.levels[level][word]
		b.levels[level][word] &^= 1 << (n % wordBits)
		if was != ^uint64(0) {
			return
		}
		n = word
	}
}
