package tests

import (
	"testing"

	"github.com/prometheus/procfs/sysfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sysfsd/sysfsd/internal/testns"
)

// The library that half the world reads /sys/class/net with sees no difference.
func TestProcfsReadsTheSame(t *testing.T) {
	ns := testns.New(t)
	testns.Zoo(t, ns)
	theirs, ours := netClass(t, ns.Sysfs()), netClass(t, serve(t, ns))
	require.Contains(t, ours, "ix-big")
	require.NotNil(t, ours["ix-big"].MTU)
	assert.Equal(t, theirs, ours)
}

func netClass(t *testing.T, dir string) sysfs.NetClass {
	t.Helper()
	fs, err := sysfs.NewFS(dir)
	require.NoError(t, err)
	class, err := fs.NetClass()
	require.NoError(t, err)
	return class
}
