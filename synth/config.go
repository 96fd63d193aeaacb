package synth

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxDevices is how many devices a population may have at its start.
const MaxDevices = 1 << 24

// maxWeight keeps sums of weights far from overflow.
const maxWeight = 1_000_000

// Share is one part of a mix: a kind or a name pattern, and how many devices it
// gets in proportion to the others.
type Share struct {
	Name   string
	Weight int
}

// Config says what a population is made of. The same values make the same
// population, always: names, addresses, states and the counters' start.
type Config struct {
	// Devices is their number at the start, lo included.
	Devices int
	// Kinds is the mix of kinds. Empty: those that Names point to, or the mix of
	// an access router.
	Kinds []Share
	// Names are patterns with one %d. One that is a kind's usual pattern, such as
	// dummy%d, names devices of that kind only; any other names devices of all
	// kinds. A kind without any has its usual pattern.
	Names []Share
	Seed  uint64
	// Rate is how many packets a second a device receives on average while it
	// has carrier; 0: counters stand still.
	Rate uint64
	// Clock is asked for the time that counters move by; nil: time.Now.
	Clock func() time.Time
}

// ParseKinds reads a mix of kinds such as "veth=60,ifb=20,bridge". A kind
// without weight has weight 1.
func ParseKinds(s string) ([]Share, error) {
	shares, err := parseShares(s, "kinds")
	if err != nil {
		return nil, err
	}
	_, err = kindWeights(shares)
	return shares, err
}

// ParseNames reads name patterns such as "veth%d,cust%d=3". A pattern without
// weight has weight 1.
func ParseNames(s string) ([]Share, error) {
	shares, err := parseShares(s, "names")
	if err != nil {
		return nil, err
	}
	_, err = compile(shares)
	return shares, err
}

func parseShares(s, what string) ([]Share, error) {
	if strings.TrimSpace(s) == "" {
		return nil, fmt.Errorf("%s: empty list", what)
	}
	var shares []Share
	for part := range strings.SplitSeq(s, ",") {
		name, weight, weighted := cutLast(strings.TrimSpace(part), "=")
		share := Share{Name: name, Weight: 1}
		if weighted {
			n, err := strconv.Atoi(weight)
			if err != nil {
				return nil, fmt.Errorf("%s: weight of %q: %q is not a number", what, name, weight)
			}
			share.Weight = n
		}
		if name == "" {
			return nil, fmt.Errorf("%s: empty entry in %q", what, s)
		}
		shares = append(shares, share)
	}
	return shares, checkWeights(shares, what)
}

// cutLast cuts at the last separator: a device's name may hold one itself.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func checkWeights(shares []Share, what string) error {
	seen := make(map[string]bool, len(shares))
	sum := 0
	for _, s := range shares {
		if s.Weight < 0 || s.Weight > maxWeight {
			return fmt.Errorf("%s: weight of %q: %d is not between 0 and %d", what, s.Name, s.Weight, maxWeight)
		}
		if seen[s.Name] {
			return fmt.Errorf("%s: %q is there twice", what, s.Name)
		}
		seen[s.Name] = true
		sum += s.Weight
	}
	if sum == 0 {
		return fmt.Errorf("%s: all weights are 0", what)
	}
	return nil
}

// weights of kinds, by kind.
type weights [kindCount]uint64

func kindWeights(shares []Share) (weights, error) {
	var w weights
	if err := checkWeights(shares, "kinds"); err != nil {
		return w, err
	}
	for _, s := range shares {
		k, ok := kindNamed(s.Name)
		if !ok {
			return w, fmt.Errorf("kinds: %q is unknown, there are %s", s.Name, kindNames())
		}
		w[k] = uint64(s.Weight)
	}
	return w, nil
}

func defaultWeights() weights {
	var w weights
	for k := range templates {
		w[k] = uint64(templates[k].weight)
	}
	return w
}

// compile makes patterns of name shares.
func compile(shares []Share) ([]*pattern, error) {
	if len(shares) == 0 {
		return nil, nil
	}
	if err := checkWeights(shares, "names"); err != nil {
		return nil, err
	}
	all := make([]*pattern, 0, len(shares))
	for _, s := range shares {
		p, err := newPattern(s.Name)
		if err != nil {
			return nil, fmt.Errorf("names: %w", err)
		}
		p.weight = uint64(s.Weight)
		for k := range templates {
			if templates[k].pattern == s.Name {
				p.kind = kind(k)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// mix is a Config made ready to choose by.
type mix struct {
	kinds weights
	sum   uint64
	// byKind has the patterns that may name a device of a kind.
	byKind [kindCount][]*pattern
}

// newMix returns the mix of a Config, and all its patterns.
func newMix(c *Config) (*mix, []*pattern, error) {
	if c.Devices < 1 || c.Devices > MaxDevices {
		return nil, nil, fmt.Errorf("devices: %d is not between 1 and %d", c.Devices, MaxDevices)
	}
	patterns, err := compile(c.Names)
	if err != nil {
		return nil, nil, err
	}
	m := &mix{kinds: defaultWeights()}
	switch {
	case len(c.Kinds) > 0:
		m.kinds, err = kindWeights(c.Kinds)
	case len(patterns) > 0:
		m.kinds = impliedWeights(patterns)
	}
	if err != nil {
		return nil, nil, err
	}
	patterns = m.assign(patterns)
	// A choice of veth makes two devices: it counts half.
	for k := range m.kinds {
		if kind(k) != kindVeth {
			m.kinds[k] *= 2
		}
		m.sum += m.kinds[k]
	}
	if m.sum == 0 {
		return nil, nil, errors.New("kinds: no kind has a weight")
	}
	return m, patterns, nil
}

// impliedWeights makes a mix of kinds of the names alone: a pattern that belongs
// to a kind asks for that kind, all others for the default mix.
func impliedWeights(patterns []*pattern) weights {
	var w weights
	for _, p := range patterns {
		if p.kind < kindCount {
			w[p.kind] += p.weight * 100
			continue
		}
		for k, d := range defaultWeights() {
			w[k] += d * p.weight
		}
	}
	return w
}

// assign says which patterns name each kind. It returns them with the usual
// patterns that it had to add.
func (m *mix) assign(patterns []*pattern) []*pattern {
	for k := kindLo + 1; k < kindCount; k++ {
		for _, p := range patterns {
			if p.weight > 0 && (p.kind == k || p.kind == kindCount) {
				m.byKind[k] = append(m.byKind[k], p)
			}
		}
	}
	for k := kindLo + 1; k < kindCount; k++ {
		if len(m.byKind[k]) > 0 || m.kinds[k] == 0 {
			continue
		}
		p, err := newPattern(templates[k].pattern)
		if err != nil {
			panic("synth: a template's own pattern is illegal")
		}
		p.kind, p.weight = k, 1
		m.byKind[k] = append(m.byKind[k], p)
		patterns = append(patterns, p)
	}
	return patterns
}

// kindOf chooses a kind by a random number.
func (m *mix) kindOf(random uint64) kind {
	random %= m.sum
	for k, w := range m.kinds {
		if random < w {
			return kind(k)
		}
		random -= w
	}
	return kindVeth
}

// patternOf chooses a name pattern for a kind by a random number.
func (m *mix) patternOf(k kind, random uint64) *pattern {
	all := m.byKind[k]
	if len(all) == 1 {
		return all[0]
	}
	var sum uint64
	for _, p := range all {
		sum += p.weight
	}
	random %= sum
	for _, p := range all {
		if random < p.weight {
			return p
		}
		random -= p.weight
	}
	return all[0]
}
