package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sysfsd/sysfsd/internal/testns"
	"github.com/sysfsd/sysfsd/rtnl"
)

func TestWhyThereIsNoNetlinkIsSaidOnce(t *testing.T) {
	unavailable := fmt.Errorf("rtnl: %w: %w", rtnl.ErrUnavailable, unix.EPROTONOSUPPORT)
	var s sourceFlags
	assert.EqualError(t, s.explainNetlink(unavailable), "no list of the kernel's devices; --devices N makes synthetic ones "+
		"(rtnl: netlink is not available: protocol not supported)")
	s.netns = "blue"
	assert.EqualError(t, s.explainNetlink(fmt.Errorf("rtnl: %w: %w", rtnl.ErrUnavailable, unix.EPERM)),
		"--netns blue: no permission to enter it: be root in the user namespace that it belongs to "+
			"(rtnl: netlink is not available: operation not permitted)")
	other := errors.New("other")
	assert.Equal(t, other, s.explainNetlink(other))
}

func TestTheDevicesOfAnotherNamespaceAreNotOurs(t *testing.T) {
	ns := testns.New(t)
	ns.IP("link add only-there type ifb")
	assert.NoError(t, sameNames(ns.Fd(), []string{"only-there", "lo"}))
	assert.Error(t, sameNames(ns.Fd(), []string{"lo"}))
	assert.Error(t, sameNames(0, []string{"lo", "only-there"}))
	names, err := interfaces(0)
	require.NoError(t, err)
	assert.NoError(t, sameNames(0, names))
}
