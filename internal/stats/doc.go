// Package stats is pure statistics: every function cites its source and is tested against values
// from an independent implementation. It does no I/O and draws no random numbers.
package stats
