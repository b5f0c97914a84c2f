package loop_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/echo"
)

// plain returns a fleet without a wrapper between its loops and their recorders.
func plain(t testing.TB, cfg engine.FleetConfig) (*loop.Fleet, *measure.Collector) {
	t.Helper()
	s := listen(t, echo.Config{})
	cfg.Targets = []protocol.Target{{Address: s.Address()}}
	var err error
	if cfg.Workload, err = workload.Compile(single()); err != nil {
		t.Fatal(err)
	}
	cfg.Clock, cfg.Collector = engine.NewClock(time.Now()), measure.NewCollector(1, 1)
	f, err := loop.NewFleet(cfg, echo.Driver{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if err := f.Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	return f, cfg.Collector
}

func TestRequestsAllocateNothing(t *testing.T) {
	const n = 100_000
	for _, pipeline := range []int{1, 8} {
		c := engine.FleetConfig{Sessions: 8, ForLoops: engine.ForLoops{Pipeline: pipeline}}
		f, collector := plain(t, c)
		run := func(first, operations uint64) {
			if _, err := f.Run(context.Background(), nil, schedule.Stage{First: first, Operations: operations}); err != nil {
				t.Fatal(err)
			}
		}
		run(0, 10_000)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		run(10_000, n)
		runtime.ReadMemStats(&after)
		collector.Cut(1, measure.Meta{})
		if done := collector.Total().Operations[0].OK(); done != n+10_000 {
			t.Fatalf("%d done", done)
		}
		if mallocs := after.Mallocs - before.Mallocs; mallocs > n/100 {
			t.Errorf("pipeline %d: %d allocations during %d requests", c.Pipeline, mallocs, n)
		}
	}
}

// threadCPU returns the CPU time that threads of this process have used, in ns.
func threadCPU(b *testing.B, threads []int) (ns int64) {
	b.Helper()
	for _, tid := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", tid))
		if err != nil {
			b.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ns += n
	}
	return ns
}

// BenchmarkClosed reports the CPU of the loop's thread for a round trip to an echo server in the
// same process.
func BenchmarkClosed(b *testing.B) {
	one, deep := engine.ForLoops{Pipeline: 1}, engine.ForLoops{Pipeline: 16}
	for _, c := range []engine.FleetConfig{{Sessions: 1, ForLoops: one}, {Sessions: 16, ForLoops: one},
		{Sessions: 50, ForLoops: one}, {Sessions: 50, ForLoops: deep}} {
		b.Run(fmt.Sprintf("sessions=%d/pipeline=%d", c.Sessions, c.Pipeline), func(b *testing.B) {
			f, _ := plain(b, c)
			before := threadCPU(b, f.Threads())
			b.ResetTimer()
			if _, err := f.Run(context.Background(), nil, schedule.Stage{Operations: uint64(b.N)}); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(threadCPU(b, f.Threads())-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkOpen reports the lateness of sends, and the CPU of the loop's thread per arrival. One iteration is one
// arrival.
func BenchmarkOpen(b *testing.B) {
	for _, rate := range []float64{1_000, 10_000, 50_000} {
		for _, c := range []engine.FleetConfig{{}, {ForLoops: engine.ForLoops{TimingTolerance: 200 * time.Microsecond}}} {
			b.Run(fmt.Sprintf("rate=%g/tolerance=%v", rate, c.TimingTolerance), func(b *testing.B) {
				benchmarkOpen(b, rate, c)
			})
		}
	}
}

func benchmarkOpen(b *testing.B, rate float64, cfg engine.FleetConfig) {
	cfg.Sessions = 50
	f, collector := plain(b, cfg)
	stage := openStage(b, rate, time.Duration(float64(b.N)/rate*1e9)+1)
	before := threadCPU(b, f.Threads())
	b.ResetTimer()
	if _, err := f.Run(context.Background(), nil, stage); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	collector.Cut(1, measure.Meta{})
	o := collector.Total().Operations[0]
	b.ReportMetric(float64(threadCPU(b, f.Threads())-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(o.Lag.Quantile(0.5))/1e3, "lag-p50-µs")
	b.ReportMetric(float64(o.Lag.Quantile(0.99))/1e3, "lag-p99-µs")
	b.ReportMetric(float64(o.Service.Quantile(0.5))/1e3, "service-p50-µs")
}
