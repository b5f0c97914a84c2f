package runner

import (
	"os"
	"runtime"
	"runtime/debug"
)

// loadGCPercent is the collector's target while client libraries carry the load. They allocate with
// every request, over a heap of some megabytes that would otherwise be collected several times a
// second; at most four times as much memory again is the price of a quarter of the collections.
const loadGCPercent = 400

// calmCollector keeps the garbage collector out of the load as far as possible: what the set-up left
// behind is collected before, and the library tier gets loadGCPercent unless the user has set GOGC.
// Event loops allocate nothing for a request; what remains there, a few kilobytes an interval, is
// collected every few minutes with the usual target, which keeps the memory in use flat. The
// function returned undoes it.
func calmCollector(tier string) (restore func()) {
	runtime.GC()
	if tier == "codec" || os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(loadGCPercent)
	return func() { debug.SetGCPercent(before) }
}
