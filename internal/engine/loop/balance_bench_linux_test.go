package loop_test

import (
	"context"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
	"brunt/internal/protocol/echo"
)

// BenchmarkBalance reports the CPU of the loop's thread for a request to one of three echo servers in the same process:
// with sessions that have one server each (per=session), and with each way to choose a server for every request.
func BenchmarkBalance(b *testing.B) {
	b.Run("per=session", func(b *testing.B) { benchmarkBalance(b, nil) })
	for _, mode := range balance.Modes() {
		b.Run(mode, func(b *testing.B) {
			benchmarkBalance(b, &balance.Options{Mode: mode, Seed: 1, Now: func() int64 { return time.Now().UnixNano() }})
		})
	}
}

func benchmarkBalance(b *testing.B, o *balance.Options) {
	var targets []protocol.Target
	for range 3 {
		s := listen(b, echo.Config{})
		targets = append(targets, protocol.Target{Address: s.Address()})
	}
	p := single()
	p.Operations[0].Steps[0].Params[0].Name = "id"
	if o != nil && o.Mode == "hash" {
		p.Target.Balance = plan.Balance{Mode: o.Mode, Per: "request", Hash: "id"}
	}
	if o != nil && o.Mode == "bucket" {
		for i := range targets {
			p.Target.Addresses = append(p.Target.Addresses, targets[i].Address)
		}
		p.Target.Balance = plan.Balance{Mode: o.Mode, By: []string{"id"}, Buckets: 3000, HashFunction: "murmur3",
			Map: plan.BucketMap{Ranges: []plan.BucketRange{{From: 1, To: 3000, Address: targets[0].Address}}}}
	}
	work, err := workload.Compile(p)
	if err != nil {
		b.Fatal(err)
	}
	cfg := engine.FleetConfig{
		Workload: work, Sessions: 48, Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(1, len(targets)),
		Where: engine.Where{Nodes: protocol.NewNodes(targets, 0)}, ForLoops: engine.ForLoops{Pipeline: 1, Loops: 1},
	}
	if o != nil {
		if cfg.RequestsBy, err = balance.NewBalancer(*o, cfg.Nodes); err != nil {
			b.Fatal(err)
		}
		owner := make([]int32, 3001)
		for i := range owner {
			owner[i] = int32(i%len(targets)) + 1
		}
		cfg.RequestsBy.SetBuckets(owner)
	}
	f, err := loop.NewFleet(cfg, echo.Driver{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(f.Close)
	if err := f.Connect(context.Background()); err != nil {
		b.Fatal(err)
	}
	before := threadCPU(b, f.Threads())
	b.ResetTimer()
	if _, err := f.Run(context.Background(), nil, schedule.Stage{Operations: uint64(b.N)}); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(threadCPU(b, f.Threads())-before)/float64(b.N), "cpu-ns/op")
}
