// Package rtnl is the netdev.Source of a kernel: it mirrors the devices of one
// network namespace through rtnetlink, and their speed through ethtool netlink.
//
// Its one idea: subscribe, then dump, then follow, on sockets of their own, and
// do that again whenever something may have been missed. A marker sent through
// the event socket (see subscription.barrier) says where in the stream of
// announcements a dump stands, so that nothing older overwrites newer.
//
// Everything that takes the kernel's RTNL mutex runs in the background and
// delays nothing else.
package rtnl
