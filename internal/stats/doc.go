// Package stats is pure statistics: every function cites its source and is tested against values
// from an independent implementation. It does no I/O; random numbers are handed in.
package stats
