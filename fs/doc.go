// Package fs answers FUSE requests from a tree.
//
// It speaks go-fuse's raw protocol: a node number is arithmetic (tree.Node), so
// there is no inode object, no table of what the kernel knows, and FORGET is
// free. Each request takes the tree's current snapshot and works on that; no
// lock is held. The only state is that of open files: a file's text is made at
// its first read and served from there, as seq_file does, so that a reader of
// single bytes never sees two values mixed.
//
// LOOKUP, GETATTR and READDIR never wait. Neither do reads but those in class
// attr.Waits, which have a bounded pool of their own.
package fs
