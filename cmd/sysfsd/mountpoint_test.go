package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAMountPointIsFoundWhereItReallyIs(t *testing.T) {
	base := realTempDir(t)
	odd := filepath.Join(base, "a b\n\t\\040ü")
	require.NoError(t, os.Mkdir(odd, 0o755))
	require.NoError(t, os.Symlink(odd, filepath.Join(base, "absolute")))
	require.NoError(t, os.Symlink("absolute", filepath.Join(base, "relative")))
	require.NoError(t, os.Symlink(".", filepath.Join(base, "here")))
	t.Chdir(base)
	for _, dir := range []string{
		odd, odd + "/", "./" + filepath.Base(odd), "absolute", "relative", "relative/", "here/relative", "./here/here/absolute",
	} {
		point, err := prepareMountpoint(dir, discard())
		if assert.NoError(t, err, "%q", dir) {
			assert.Equal(t, odd, point.at, "%q", dir)
			point.release()
		}
	}
	point, err := prepareMountpoint(".", discard())
	require.NoError(t, err)
	defer point.release()
	assert.Equal(t, base, point.at)
}

func TestWhatIsNoMountPointIsRefused(t *testing.T) {
	base := realTempDir(t)
	t.Chdir(base)
	require.NoError(t, os.WriteFile("file", nil, 0o644))
	require.NoError(t, os.Symlink("file", "to-file"))
	require.NoError(t, os.Symlink("nowhere", "dangling"))
	require.NoError(t, os.Symlink("loop", "loop"))
	for dir, says := range map[string]string{
		"":            "the mount point is an empty string",
		"missing":     "mount point missing does not exist",
		"missing/too": "mount point missing/too: no such file or directory",
		"mis\nsing":   `mount point "mis\nsing" does not exist`,
		"file":        "mount point file is not a directory",
		"to-file":     "mount point to-file is not a directory",
		"file/below":  "mount point file/below: not a directory",
		"dangling":    "mount point dangling does not exist",
		"loop":        "mount point loop: too many levels of symbolic links",
	} {
		_, err := prepareMountpoint(dir, discard())
		assert.EqualError(t, err, says)
	}
}

func TestOnlyAMountPointThatHoldsSomethingIsWarnedOf(t *testing.T) {
	dir := realTempDir(t)
	var log bytes.Buffer
	point, err := prepareMountpoint(dir, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	point.release()
	assert.Empty(t, log.String())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "hidden"), nil, 0o644))
	point, err = prepareMountpoint(dir, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	point.release()
	assert.Equal(t, 1, strings.Count(log.String(), "not empty"))
}

func TestAMountPointIsClaimedOnce(t *testing.T) {
	dir := realTempDir(t)
	first, err := prepareMountpoint(dir, discard())
	require.NoError(t, err)
	_, err = prepareMountpoint(dir+"/.", discard())
	assert.EqualError(t, err, "another sysfsd is about to mount on "+dir)
	first.release()
	again, err := prepareMountpoint(dir, discard())
	require.NoError(t, err)
	again.release()
}

func TestADeletedWorkingDirectoryIsToldOf(t *testing.T) {
	dir := realTempDir(t)
	t.Chdir(dir)
	require.NoError(t, os.Remove(dir))
	_, err := prepareMountpoint("m", discard())
	assert.Error(t, err)
	assert.NoError(t, unix.Mkdir(dir, 0o755)) // For the cleanup.
}

// realTempDir is a temporary directory by its name in the mount table.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
