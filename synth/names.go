package synth

import (
	"fmt"
	"strconv"
	"strings"
)

// maxName is IFNAMSIZ without its NUL.
const maxName = 15

// maxDigits keeps numbers in names within an int of any machine.
const maxDigits = 9

// sparse is how far beyond the numbers in use a name may be to be kept by its
// number: one device renamed to veth999999999 must not cost a table up to there.
const sparse = 1 << 12

// pattern is a family of names: a number between two fixed parts. Owners holds
// who has a number's name, 0 for nobody.
type pattern struct {
	prefix, suffix string
	kind           kind // whose default it is, kindCount for none
	weight         uint64
	limit          int // of numbers: a longer name would not be legal
	// apart says that no name is of this pattern and of another.
	apart  bool
	used   bitmap
	owners []uint32
}

// names is the set of all names and who has them. Names are given out by lowest
// free number of a pattern. A bit of pattern.used that is set says that the
// number is not free; one that is clear has to be looked up, for the name may
// have been taken by a rename or by another pattern.
type names struct {
	patterns []*pattern
	others   map[string]uint32 // names that no owners has
}

// newPattern compiles a format such as veth%d.
func newPattern(format string) (*pattern, error) {
	prefix, suffix, ok := strings.Cut(format, "%d")
	if !ok || strings.Contains(suffix, "%d") {
		return nil, fmt.Errorf("name pattern %q: need exactly one %%d", format)
	}
	room := maxName - len(prefix) - len(suffix)
	if room < 1 || !validName(prefix+"0"+suffix) {
		return nil, fmt.Errorf("name pattern %q: not a legal device name", format)
	}
	limit := 1
	for range min(room, maxDigits) {
		limit *= 10
	}
	return &pattern{prefix: prefix, suffix: suffix, kind: kindCount, limit: limit}, nil
}

// validName is the kernel's dev_valid_name, and refuses what it would take for a
// pattern.
func validName(name string) bool {
	if name == "" || len(name) > maxName || name == "." || name == ".." {
		return false
	}
	return !strings.ContainsAny(name, "/:% \t\n\v\f\r\x00")
}

// format returns the name of a number.
func (p *pattern) format(b []byte, n int) []byte {
	b = strconv.AppendInt(append(b, p.prefix...), int64(n), 10)
	return append(b, p.suffix...)
}

func (p *pattern) String() string { return p.prefix + "%d" + p.suffix }

// number is the reverse of format. Only the form that format gives counts.
func (p *pattern) number(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, p.prefix)
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, p.suffix)
	if !ok || digits == "" || len(digits) > maxDigits || (digits[0] == '0' && digits != "0") {
		return 0, false
	}
	n := 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// find returns who has a name.
func (s *names) find(name string) (uint32, bool) {
	for _, p := range s.patterns {
		if n, ok := p.number(name); ok && n < len(p.owners) && p.owners[n] != 0 {
			return p.owners[n], true
		}
	}
	index, ok := s.others[name]
	return index, ok
}

// separate finds the patterns that share no name with another: no prefix begins
// another's.
func separate(patterns []*pattern) {
	for i, p := range patterns {
		p.apart = true
		for j, q := range patterns {
			if i != j && (strings.HasPrefix(p.prefix, q.prefix) || strings.HasPrefix(q.prefix, p.prefix)) {
				p.apart = false
			}
		}
	}
}

// lowest appends the free name of a pattern with the lowest number.
func (s *names) lowest(b []byte, p *pattern) ([]byte, int, error) {
	for {
		n := p.used.lowest()
		if n >= p.limit {
			return b, 0, fmt.Errorf("name pattern %q: all %d names are taken", p, p.limit)
		}
		name := p.format(b, n)
		if !s.taken(p, name[len(b):]) {
			return name, n, nil
		}
		p.used.set(n) // until the name is free
	}
}

// taken reports whether a name whose bit is clear is nevertheless taken.
func (s *names) taken(p *pattern, name []byte) bool {
	if p.apart {
		_, ok := s.others[string(name)]
		return ok
	}
	_, ok := s.find(string(name))
	return ok
}

// own makes a device the owner of a number's name.
// Preconditions: nobody has it.
func (p *pattern) own(n int, index uint32) {
	for n >= len(p.owners) {
		p.owners = append(p.owners, 0)
	}
	p.owners[n] = index
	p.used.set(n)
}

// take gives a name to a device.
// Preconditions: nobody has it.
func (s *names) take(name string, index uint32) {
	for _, p := range s.patterns {
		if n, ok := p.number(name); ok && n <= len(p.owners)+sparse {
			p.own(n, index)
			return
		}
	}
	if s.others == nil {
		s.others = make(map[string]uint32)
	}
	s.others[name] = index
}

// free makes a name available to every pattern that it fits.
func (s *names) free(name string) {
	for _, p := range s.patterns {
		n, ok := p.number(name)
		if !ok {
			continue
		}
		p.used.clear(n)
		if n < len(p.owners) && p.owners[n] != 0 {
			p.owners[n] = 0
			if p.apart {
				return
			}
		}
	}
	delete(s.others, name)
}
