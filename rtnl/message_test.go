package rtnl

import (
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestMessagesStopsWhereTheNextBeginsNowhere(t *testing.T) {
	whole := datagram(newLink(1, "a"), netlink.Message{Data: []byte{1, 2, 3, 4, 5}}, newLink(3, "c"))
	second := align(unix.NLMSG_HDRLEN+unix.SizeofIfInfomsg+8) + unix.NLMSG_HDRLEN // past the header of the second
	for _, test := range []struct {
		name  string
		bytes []byte
		want  int
	}{
		{"nothing", nil, 0},
		{"less than a header", whole[:15], 0},
		{"all", whole, 3},
		{"last without its padding", whole[:len(whole)-2], 2},
		{"second cut", whole[:second+2], 1},
		{"length below a header", append([]byte{15, 0, 0, 0}, whole[4:]...), 0},
		{"length beyond the end", append([]byte{255, 255, 255, 255}, whole[4:]...), 0},
	} {
		n := 0
		for range messages(test.bytes) {
			n++
		}
		assert.Equal(t, test.want, n, test.name)
	}
}

func TestNextAttribute(t *testing.T) {
	for _, test := range []struct {
		name  string
		bytes []byte
		want  attribute
		rest  int
		ok    bool
	}{
		{"nothing", nil, attribute{}, 0, false},
		{"header cut", []byte{4, 0, 1}, attribute{}, 0, false},
		{"length 3", []byte{3, 0, 1, 0}, attribute{}, 0, false},
		{"beyond the end", []byte{9, 0, 1, 0, 1, 2, 3, 4}, attribute{}, 0, false},
		{"empty", []byte{4, 0, 1, 0}, attribute{1, []byte{}}, 0, true},
		{"without its padding", []byte{5, 0, 1, 0, 7}, attribute{1, []byte{7}}, 0, true},
		{"flags", []byte{4, 0, 1, 0xc0, 4, 0, 2, 0}, attribute{1, []byte{}}, 4, true},
	} {
		got, rest, ok := nextAttribute(test.bytes)
		assert.Equal(t, test.want, got, test.name)
		assert.Len(t, rest, test.rest, test.name)
		assert.Equal(t, test.ok, ok, test.name)
	}
}

func TestErrnoOf(t *testing.T) {
	assert.Equal(t, unix.Errno(0), errnoOf(nil))
	assert.Equal(t, unix.Errno(0), errnoOf([]byte{0, 0, 0, 0}))
	assert.Equal(t, unix.EPERM, errnoOf([]byte{255, 255, 255, 255}))
	assert.Equal(t, unix.Errno(0), errnoOf([]byte{1, 0, 0, 0}), "no errno is positive")
}
