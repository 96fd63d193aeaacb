// Package sysfs reads, at the moment of the call, what the mirror doesn't hold:
// from the kernel's own sysfs of one network namespace.
//
// Its one idea: all is reached below one descriptor of a sysfs that is mounted
// nowhere, and a device's directory by a descriptor of its own, which stays that
// device's whatever is renamed and below which everything is ENOENT once it is gone.
//
// A call is openat2(2), then pread(2), getdents64(2), fstat(2) or readlinkat(2),
// then close(2); a device's first call reads its ifindex too, and asks
// SIOCGIFNAME where it was renamed. None of these takes RTNL, but a pread of a
// file whose value the kernel makes under it (speed, carrier, xps_cpus).
package sysfs
