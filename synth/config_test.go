package synth

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseKinds(t *testing.T) {
	shares, err := ParseKinds("veth=60, ifb,tap=0")
	require.NoError(t, err)
	assert.Equal(t, []Share{{"veth", 60}, {"ifb", 1}, {"tap", 0}}, shares)
}

func TestParseNames(t *testing.T) {
	shares, err := ParseNames("veth%d,dummy%d=3,a=b%d=2")
	require.NoError(t, err)
	assert.Equal(t, []Share{{"veth%d", 1}, {"dummy%d", 3}, {"a=b%d", 2}}, shares)
}

func TestParsersSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		parse    func(string) ([]Share, error)
		in, want string
	}{
		{ParseKinds, "", "kinds: empty list"},
		{ParseKinds, " ", "kinds: empty list"},
		{ParseKinds, "veth,,ifb", "kinds: empty entry"},
		{ParseKinds, "=3", "kinds: empty entry"},
		{ParseKinds, "veth=", `"" is not a number`},
		{ParseKinds, "veth=x", `weight of "veth": "x" is not a number`},
		{ParseKinds, "veth=-1", "-1 is not between 0 and"},
		{ParseKinds, "veth=99999999", "is not between 0 and"},
		{ParseKinds, "veth=0,ifb=0", "all weights are 0"},
		{ParseKinds, "veth,veth=2", `"veth" is there twice`},
		{ParseKinds, "wlan", `"wlan" is unknown, there are veth, ifb, dummy, bridge, macvlan, vxlan, tap, pci`},
		{ParseNames, "", "names: empty list"},
		{ParseNames, "veth", `names: name pattern "veth": need exactly one %d`},
		{ParseNames, "a/%d", `names: name pattern "a/%d": not a legal device name`},
		{ParseNames, "veth%d=x", `"x" is not a number`},
	} {
		_, err := c.parse(c.in)
		assert.ErrorContains(t, err, c.want, c.in)
	}
}

func FuzzParseKinds(f *testing.F) {
	f.Add("veth=60,ifb=20,bridge=2,macvlan=10,vxlan=5,tap=2,pci=1")
	f.Add("veth,,=")
	f.Fuzz(func(t *testing.T, s string) {
		shares, err := ParseKinds(s)
		useShares(t, Config{Devices: 50, Kinds: shares}, err)
	})
}

func FuzzParseNames(f *testing.F) {
	f.Add("veth%d,dummy%d=3")
	f.Add("a=b%d=2,%d")
	f.Fuzz(func(t *testing.T, s string) {
		shares, err := ParseNames(s)
		useShares(t, Config{Devices: 50, Names: shares}, err)
	})
}

// useShares: what a parser accepts makes a population, short of names at most.
func useShares(t *testing.T, c Config, err error) {
	t.Helper()
	if err != nil {
		require.NotContains(t, err.Error(), "\n")
		return
	}
	p, err := New(c)
	if err != nil {
		require.True(t, strings.HasSuffix(err.Error(), "names are taken"), err)
		return
	}
	check(t, p)
}
