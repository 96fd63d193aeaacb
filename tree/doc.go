// Package tree is one namespace as a directory tree: the table of its devices,
// the links between them and the directories they stand in. It knows nothing
// of FUSE.
//
// One goroutine writes. It takes batches of changes from a source, applies each
// as a whole and publishes the result as one immutable Snapshot. Any number of
// readers work on the snapshot they took; they hold no lock and never wait.
//
// The parts of a tree, each an object with a serial of its own:
//
//	Place   a directory above the devices: class/net, devices/virtual/net, a bus device
//	Device  a device's directory and the link to it in class/net
//	Edge    an upper and a lower device: the links upper_X, lower_X and brif/X
package tree
