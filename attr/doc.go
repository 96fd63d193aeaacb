// Package attr declares the files and names of a device's directory, each once.
//
// Two tables hold all there is to know about them. Rows (rule 1 of the design)
// has a line per file: where its value comes from and how long it is good.
// Names (rule 2) has a line per directory and link: what makes it appear.
// Decoding, lookup, listing, node numbers and docs/attributes.md are derived.
//
// The tables are held against the running kernel by a test that turns each knob
// of each kind of device and compares what was announced with what changed:
// what a table calls mirrored has to be announced. The default is Live.
package attr
