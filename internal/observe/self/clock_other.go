//go:build !linux

package self

import (
	"runtime/metrics"
	"time"
)

// clocks are one and the same here: suspended machines aren't noticed.
func clocks() (monotonic, boot func() int64) {
	start := time.Now()
	since := func() int64 { return int64(time.Since(start)) }
	return since, since
}

// usage is the runtime's own estimate of what Go code and collector have used.
func usage() used {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 || s[1].Value.Kind() != metrics.KindFloat64 {
		return used{}
	}
	return used{cpuNs: int64((s[0].Value.Float64() - s[1].Value.Float64()) * 1e9)}
}

func nap(d time.Duration) { time.Sleep(d) }

// waitedClock isn't known here: as if the thread had always waited for a core.
func waitedClock() (waited func() int64, end func()) {
	return func() int64 { return time.Now().UnixNano() }, func() {}
}

// allowedCores isn't known here, so that nothing is said of others on them.
func allowedCores() []int { return nil }
