//go:build !nok6

package session

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// k6 allocates with every iteration, over a heap that its VUs hold. Fewer collections may take so much more
// memory; a heap that is large already is collected as Go does by default.
const (
	mostGCPercent  = 400
	leastGCPercent = 100
	extraBytes     = 256 << 20
)

// gcPercent is the collector's target for a heap of which so many bytes are in use.
func gcPercent(live uint64) int {
	return int(min(max(extraBytes*100/max(live, 1), leastGCPercent), mostGCPercent))
}

// calm is what sets the collector's target as the heap grows. The user's GOGC comes before.
type calm struct{ percent int }

// set is called now and then.
func (c *calm) set() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if want := gcPercent(live[0].Value.Uint64()); 10*want < 9*c.percent || 9*want > 10*c.percent {
		c.percent = want
		debug.SetGCPercent(want)
	}
}
