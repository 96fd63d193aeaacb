package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/fs"
)

func TestWhyNothingWasMountedIsOneLine(t *testing.T) {
	needFuse(t) // What is wrong with the device goes before what the mount answered.
	for _, c := range []struct {
		err  error
		says string
	}{
		{unix.EPERM, "no permission to mount on /m: be root, or install fuse3 for its fusermount3"},
		{unix.EACCES, "no permission to mount on /m: be root, or install fuse3 for its fusermount3"},
		{unix.EBUSY, "mounting on /m: device or resource busy"},
		{errors.New("exited with 1"), "mounting on /m by fusermount3, which has said why not: exited with 1"},
	} {
		assert.EqualError(t, explainMount(fmt.Errorf("fs: mount on /m: %w", c.err), "/m"), c.says)
	}
}

func TestOfTwoErrorsTheFirstDecides(t *testing.T) {
	first := errors.New("first")
	assert.NoError(t, both(nil, nil))
	assert.Equal(t, first, both(first, nil))
	assert.Equal(t, fs.ErrBusy, both(nil, fs.ErrBusy))
	err := both(first, fs.ErrBusy)
	assert.ErrorIs(t, err, first)
	assert.NotErrorIs(t, err, fs.ErrBusy)
	assert.NotContains(t, err.Error(), "\n")
}

func TestAPathInAMessageNeverBreaksTheLine(t *testing.T) {
	assert.Equal(t, "/a b/ü", shown("/a b/ü"))
	assert.Equal(t, `"/a\nb"`, shown("/a\nb"))
	assert.Equal(t, `"/a\x1b[2J"`, shown("/a\x1b[2J"))
	assert.Equal(t, `""`, shown(""))
}
