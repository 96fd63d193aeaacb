// Package synth makes up a population of network devices: any number of them, of
// mixed kinds, all from one seed, to try programs where no kernel could hold so
// many.
//
// A Population stands where the kernel stands otherwise. It is a netdev.Source,
// which tells of its devices and of each change, and the netdev.Files behind the
// mirror. Its one idea: only what can change is kept. Everything else, counters
// too, is computed when it is read from the seed, the ifindex, the kind and the
// time, so that a million devices fit beside the mirror of them.
package synth
