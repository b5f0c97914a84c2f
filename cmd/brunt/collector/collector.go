// Package collector spares a start of brunt garbage collections. The runtime initialises packages in the order of their
// import paths as soon as what they import is ready, so this one, which imports little, comes before those that
// allocate the most.
package collector

import (
	"os"
	"runtime/debug"
)

// startPercent lets the heap grow to 16 MB before the first collection. A start needs 6 MB, and would else spend a
// third
// of its CPU on a collection of them. Loads set what suits them.
const startPercent = 400

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startPercent)
	}
}
