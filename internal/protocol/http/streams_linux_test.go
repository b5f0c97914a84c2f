package http

import (
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// Event loops have several requests in flight on each connection, but not more than the server takes.
func TestStreamsOnEventLoops(t *testing.T) {
	for _, limit := range []int{0, 3} {
		streamsOnEventLoops(t, limit)
	}
}

func streamsOnEventLoops(t *testing.T, limit int) {
	target, _ := knowing(t, false, limit)
	var operations []plan.Operation
	for _, path := range []string{"/a", "/large"} {
		operations = append(operations, plan.Operation{Name: path, Weight: 1, Steps: []plan.Step{{
			Request: protocol.Request{Verb: protocol.HTTP, Web: &protocol.Web{Method: "POST", Path: path,
				Body: []byte("text")}}}}})
	}
	w, err := workload.Compile(&plan.Plan{Operations: operations})
	if err != nil {
		t.Fatal(err)
	}
	collector := measure.NewCollector(len(w.Operations), 1)
	d := New()
	cfg := engine.FleetConfig{
		Workload: w, Driver: d, Sessions: 2, OperationTimeout: time.Minute, Clock: engine.NewClock(time.Now()),
		Collector: collector, Where: engine.Where{Targets: []protocol.Target{target}},
		Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second}, ForLoops: engine.ForLoops{Pipeline: 20},
	}
	fleet, err := loop.NewFleet(cfg, d)
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	const n = 200
	if _, err := fleet.Run(t.Context(), nil, schedule.Stage{Operations: n, StartNs: cfg.Clock.Now()}); err != nil {
		t.Fatal(err)
	}
	collector.Cut(cfg.Clock.Now(), measure.Meta{})
	total := collector.Total().Totals()
	if total.Done != n || total.Errors != (measure.ByClass{}) || total.Status[2] != n {
		t.Errorf("limit %d: %d done, failed %v, statuses %v", limit, total.Done, total.Errors, total.Status)
	}
}
