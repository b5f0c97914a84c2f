package etcd

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/engine/pool"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// operation returns an operation with one request, on records number 0 to 99.
func operation(verb protocol.Verb, fields ...string) plan.Operation {
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("user", i)
	}
	value := func(s gen.Spec) plan.Param { return plan.Param{Value: &plan.ValueSpec{Spec: s}} }
	params := []plan.Param{value(gen.Spec{Type: gen.TypeOneOf, Distribution: gen.Sequential, Values: keys})}
	for range fields {
		params = append(params, value(gen.Spec{Type: gen.TypeString, HasRange: true, IntLo: 100, IntHi: 100}))
	}
	kinds := make([]gen.Kind, len(params))
	for i := range kinds {
		kinds[i] = gen.String
	}
	return plan.Operation{Name: fmt.Sprint(verb), Weight: 1, Steps: []plan.Step{{
		Request: protocol.Request{Verb: verb, Text: "tiers", Fields: fields, Params: kinds}, Params: params,
	}}}
}

// run executes a plan's first operations on one tier, all of which must succeed, and returns the processor time per
// operation in ns.
func run(t testing.TB, p *plan.Plan, address string, sessions, pipeline int, operations uint64, codec bool) int64 {
	t.Helper()
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	cfg := engine.FleetConfig{
		Workload: w, Driver: New(), Sessions: sessions, OperationTimeout: 30 * time.Second,
		Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(len(w.Operations), 1),
		Where:   engine.Where{Targets: []protocol.Target{{Address: address}}},
		Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second}, Retrying: engine.Retrying{Retries: 3},
		ForLoops: engine.ForLoops{Pipeline: pipeline},
	}
	var fleet engine.Fleet
	if codec {
		fleet, err = loop.NewFleet(cfg, New())
	} else {
		fleet, err = pool.NewPool(cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	before := processorTime()
	if _, err := fleet.Run(t.Context(), nil,
		schedule.Stage{Operations: operations, StartNs: cfg.Clock.Now()}); err != nil {
		t.Fatal(err)
	}
	took := processorTime() - before
	cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
	if total := cfg.Collector.Total().Totals(); total.Done != operations || total.Errors != (measure.ByClass{}) ||
		total.Retries > 0 {
		t.Errorf("%d done, failed %v, %d retries", total.Done, total.Errors, total.Retries)
	}
	return took / int64(operations)
}

// processorTime returns the processor time of this process in ns.
func processorTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// Calls beyond the number of streams that the server takes wait for room.
func TestMoreCallsThanTheServerTakesStreams(t *testing.T) {
	s := testserver.Etcd(t, testserver.Settings("--max-concurrent-streams", "4"))
	run(t, &plan.Plan{Operations: []plan.Operation{operation(protocol.Insert, "field")}}, s.Addr, 2, 40, 400, true)
}

// BenchmarkRead reads records of 1 KB in 16 sessions.
func BenchmarkRead(b *testing.B) {
	address := servers.Etcd(b).Addr
	var fields []string
	for i := range 10 {
		fields = append(fields, fmt.Sprint("field", i))
	}
	run(b, &plan.Plan{Operations: []plan.Operation{operation(protocol.Insert, fields...)}}, address, 16, 1, 100, true)
	read := &plan.Plan{Operations: []plan.Operation{operation(protocol.Read)}}
	for _, codec := range []bool{false, true} {
		b.Run(map[bool]string{false: "library", true: "codec"}[codec], func(b *testing.B) {
			cpu := run(b, read, address, 16, 1, uint64(b.N), codec)
			b.ReportMetric(float64(cpu), "cpu-ns/op")
		})
	}
}
