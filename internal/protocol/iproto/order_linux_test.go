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
	cfg := fleetOf(t, s, p, 30*time.Second)
	shape, err := schedule.NewShape([]schedule.Segment{{DurationNs: 3e8, RateFrom: 1000, RateTo: 1000}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	driven(t, &cfg, schedule.Stage{Operations: 300}, schedule.Stage{Shape: shape})
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

// fleetOf returns the configuration of event loops for a plan's operations, with two sessions and many requests in
// flight on each.
func fleetOf(t *testing.T, s *testserver.Server, p *plan.Plan, timeout time.Duration) engine.FleetConfig {
	t.Helper()
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return engine.FleetConfig{
		Workload: w, Driver: New(), Sessions: 2, OperationTimeout: timeout, Clock: engine.NewClock(time.Now()),
		Collector: measure.NewCollector(1, 1), Where: engine.Where{Targets: []protocol.Target{target(s)}},
		Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second}, ForLoops: engine.ForLoops{Pipeline: 16},
	}
}

// driven sends stages, one after the other.
func driven(t *testing.T, cfg *engine.FleetConfig, stages ...schedule.Stage) {
	t.Helper()
	fleet, err := loop.NewFleet(*cfg, New())
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := uint64(0)
	for _, stage := range stages {
		stage.First, stage.StartNs = next, cfg.Clock.Now()
		if next, err = fleet.Run(t.Context(), nil, stage); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
}

// A call whose answer is late fails alone, and its answer, which comes later, is nobody else's.
func TestALateCallEndsAlone(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(`calls = 0
		function nap(i)
			calls = calls + 1
			require('fiber').sleep(calls == 1 and 2.5 or 0.005)
			return i
		end`))
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{{Name: "nap", Weight: 1, Steps: []plan.Step{{
		Request: protocol.Request{Verb: protocol.Call, Text: "nap"},
		Params:  []plan.Param{{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger}}}},
	}}}}}
	cfg := fleetOf(t, s, p, 1500*time.Millisecond)
	driven(t, &cfg, schedule.Stage{DurationNs: 4e9})
	total := cfg.Collector.Total()
	if all := total.All(); all.Failed() != 1 || total.Addresses[0].Reconnects != 0 || all.Done < 10 {
		t.Errorf("%d of %d calls failed, %v, and sessions connected again %d times", all.Failed(), all.Done, all.Errors,
			total.Addresses[0].Reconnects)
	}
}
