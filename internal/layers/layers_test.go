package layers

import (
	"errors"
	"go/build"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/sysfsd/sysfsd"

// anything stands for every package of this module.
const anything = "*"

// layers says which packages of this module each may import. Tests may import more.
var layers = map[string][]string{
	"cmd/sysfsd": {anything},
	"fs":         {"attr", "dirent", "hashpos", "netdev", "tree"},
	"tree":       {"attr", "dirent", "hashpos", "netdev", "nlinkcount"},
	"rtnl":       {"attr", "netdev"},
	"sysfs":      {"netdev"},
	"synth":      {"attr", "netdev"},
	"attr":       {"netdev"},
	"dirent":     {"hashpos", "nlinkcount"},
	"hashpos":    {},
	"netdev":     {},
	"nlinkcount": {},

	"internal/layers": {},
	"internal/testns": {},
	"tests":           {anything},
	"tools/testlog":   {},
}

// forTests are the packages that only tests import, and that may themselves import any
// module from outside. What is below tests/ belongs to it.
var forTests = []string{"internal/testns", "tests"}

// outside says who may import each module that is not ours: what a package speaks (FUSE,
// netlink, trees) is spoken nowhere else.
var outside = map[string][]string{
	"github.com/hanwen/go-fuse/v2":     {"fs"},
	"github.com/mdlayher/netlink":      {"rtnl"},
	"github.com/mdlayher/genetlink":    {"rtnl"},
	"github.com/google/btree":          {"dirent", "tree"},
	"github.com/dchest/siphash":        {"hashpos"},
	"github.com/spf13/cobra":           {"cmd/sysfsd"},
	"github.com/moby/sys/mountinfo":    {"cmd/sysfsd", "fs"},
	"github.com/spf13/pflag":           {"cmd/sysfsd"},
	"github.com/coreos/go-systemd/v22": {"cmd/sysfsd"},
	"github.com/stretchr/testify":      {},
	"golang.org/x/sync":                {anything},
	"golang.org/x/sys":                 {anything},
}

func TestPackagesImportOnlyWhatTheirLayerMay(t *testing.T) {
	for dir, imports := range graph(t) {
		name := layerOf(dir)
		if _, ok := layers[name]; !ok {
			t.Errorf("package %s has no layer: decide what it may import, then add it to the table here, to .golangci.yml and to CONTRIBUTING.md", name)
			continue
		}
		for _, path := range imports {
			if complaint := judge(name, path); complaint != "" {
				t.Error(complaint)
			}
		}
	}
}

func TestLayersHaveNoCycle(t *testing.T) {
	var visit func(name string, above []string)
	visit = func(name string, above []string) {
		require.NotContains(t, above, name, "the table has a cycle")
		for _, below := range layers[name] {
			visit(below, append(above, name))
		}
	}
	for name := range layers {
		visit(name, nil)
	}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct{ name, path, want string }{
		{"fs", module + "/tree", ""},
		{"fs", "os", ""},
		{"rtnl", "golang.org/x/sys/unix", ""},
		{"fs", "github.com/hanwen/go-fuse/v2/fuse", ""},
		{"cmd/sysfsd", module + "/fs", ""},
		{"tree", module + "/fs", "tree imports fs"},
		{"tree", "github.com/hanwen/go-fuse/v2/fuse", "tree imports github.com/hanwen/go-fuse/v2"},
		{"cmd/sysfsd", "github.com/mdlayher/netlink", "cmd/sysfsd imports github.com/mdlayher/netlink"},
		{"cmd/sysfsd", module + "/internal/testns", "cmd/sysfsd imports internal/testns"},
		{"tests", module + "/tests/silent", ""},
		{"fs", module + "/tests/silent", "fs imports tests, which only tests may"},
		{"attr", "example.com/new", "imports example.com/new, which nobody"},
	} {
		got := judge(test.name, test.path)
		if test.want == "" {
			require.Empty(t, got, "%s -> %s", test.name, test.path)
		} else {
			require.Contains(t, got, test.want)
		}
	}
}

// judge returns what is wrong with an import, or "".
func judge(name, path string) string {
	if ours, ok := strings.CutPrefix(path, module+"/"); ok {
		ours = layerOf(ours)
		if slices.Contains(forTests, ours) && !slices.Contains(forTests, name) {
			return name + " imports " + ours + ", which only tests may"
		}
		if !permits(layers[name], ours) {
			return name + " imports " + ours + ", which is not below it: it may import " + list(layers[name])
		}
		return ""
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return "" // The standard library.
	}
	if slices.Contains(forTests, name) {
		return ""
	}
	for mod, users := range outside {
		if path != mod && !strings.HasPrefix(path, mod+"/") {
			continue
		}
		if !permits(users, name) {
			return name + " imports " + mod + ", which only " + list(append(users, "tests")) + " may"
		}
		return ""
	}
	return name + " imports " + path + ", which nobody may yet: decide who may, then add it to the table here and to .golangci.yml"
}

// layerOf returns the row of the table that a package belongs to.
func layerOf(name string) string {
	if strings.HasPrefix(name, "tests/") {
		return "tests"
	}
	return name
}

func permits(allowed []string, name string) bool {
	return slices.Contains(allowed, anything) || slices.Contains(allowed, name)
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing of this module"
	}
	return strings.Join(names, ", ")
}

// graph returns the imports of each package of the module, without those of its tests.
func graph(t *testing.T) map[string][]string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	found := map[string][]string{}
	err = filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
			return filepath.SkipDir
		}
		imports, ok := importsOf(t, dir)
		if ok {
			name, err := filepath.Rel(root, dir)
			require.NoError(t, err)
			found[filepath.ToSlash(name)] = imports
		}
		return nil
	})
	require.NoError(t, err)
	require.Contains(t, found, "internal/layers", "the walk did not find even this package")
	return found
}

// importsOf returns what the Go files in dir import, if there are any.
func importsOf(t *testing.T, dir string) ([]string, bool) {
	t.Helper()
	var imports []string
	found := false
	for _, tags := range [][]string{nil, {"race", "invariants"}} {
		ctx := build.Default
		ctx.GOOS = "linux"
		ctx.BuildTags = tags
		p, err := ctx.ImportDir(dir, 0)
		var none *build.NoGoError
		if errors.As(err, &none) {
			continue
		}
		require.NoError(t, err)
		found = true
		imports = append(imports, p.Imports...)
	}
	slices.Sort(imports)
	return slices.Compact(imports), found
}
