//go:build !linux

package self

import (
	"runtime/metrics"
	"time"
)

// clocks returns the same clock twice: suspension of the machine isn't detected on these systems.
func clocks() (monotonic, boot func() int64) {
	start := time.Now()
	since := func() int64 { return int64(time.Since(start)) }
	return since, since
}

// usage returns the Go runtime's own estimate of the CPU time of Go code and garbage collection.
func usage() used {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 || s[1].Value.Kind() != metrics.KindFloat64 {
		return used{}
	}
	return used{cpuNs: int64((s[0].Value.Float64() - s[1].Value.Float64()) * 1e9)}
}

func nap(d time.Duration) { time.Sleep(d) }

// waitedClock returns a clock that advances as if the thread were always waiting for a core: the time isn't
// known here.
func waitedClock() (waited func() int64, end func()) {
	return func() int64 { return time.Now().UnixNano() }, func() {}
}
