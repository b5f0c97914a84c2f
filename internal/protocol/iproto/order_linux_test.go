package iproto

import (
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// If a server answers the requests of a session in another order, each answer is assigned to its request.
func TestAnswersComeInAnyOrder(t *testing.T) {
	s := testserver.Tarantool(t,
		testserver.Lua(
			`function nap(i) require('fiber').sleep((7 * i % 10) / 1000) return i % 3 == 0 and error('third') or i end`))
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{{Name: "nap", Weight: 1, Steps: []plan.Step{{
		Request: protocol.Request{Verb: protocol.Call, Text: "nap", Capture: []protocol.Capture{{Column: 0, Kind: gen.Int}}},
		Params: []plan.Param{{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: 0,
			IntHi: 29}}}},
	}}}}}
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	cfg := engine.FleetConfig{
		Workload: w, Driver: New(), Sessions: 2, OperationTimeout: 30 * time.Second, Clock: engine.NewClock(time.Now()),
		Collector: measure.NewCollector(1, 1), Where: engine.Where{Targets: []protocol.Target{target(s)}},
		Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second}, ForLoops: engine.ForLoops{Pipeline: 16},
	}
	fleet, err := loop.NewFleet(cfg, New())
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	shape, err := schedule.NewShape([]schedule.Segment{{DurationNs: 3e8, RateFrom: 1000, RateTo: 1000}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(0)
	for _, stage := range []schedule.Stage{{Operations: 300}, {Shape: shape}} {
		stage.First, stage.StartNs = next, cfg.Clock.Now()
		if next, err = fleet.Run(t.Context(), nil, stage); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
	thirds := uint64(0)
	cursor := cfg.NewCursor(0)
	for i := range uint64(600) {
		cursor.Begin(i)
		if cursor.Args()[0].I%3 == 0 {
			thirds++
		}
	}
	total := cfg.Collector.Total().All()
	if total.Done != 600 || total.Failed() != thirds || total.Errors[protocol.Server] != thirds {
		t.Errorf("%d done, %d failed: %v; want 600, %d", total.Done, total.Failed(), total.Errors, thirds)
	}
}
