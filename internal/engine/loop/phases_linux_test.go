package loop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/echo"
)

// perPhase returns how many arrivals fall due in each phase.
func perPhase(t *testing.T, phases []plan.Phase, process schedule.Process, seed uint64) []uint64 {
	t.Helper()
	var segments []schedule.Segment
	for _, p := range phases {
		segments = append(segments, schedule.Segment{DurationNs: int64(p.Duration), RateFrom: p.RateFrom, RateTo: p.RateTo})
	}
	shape, err := schedule.NewShape(segments, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := make([]uint64, len(phases))
	for it := shape.Arrivals(process, seed); ; {
		at, ok := it.Next()
		if !ok {
			return n
		}
		k, end := 0, int64(phases[0].Duration)
		for ; at >= end; end += int64(phases[k].Duration) {
			k++
		}
		n[k]++
	}
}

// An arrival belongs to the phase in which it falls due, also if the phases are one stage and the arrival is sent and
// answered before the interval of the phase before is collected.
func TestArrivalsBelongToTheirPhase(t *testing.T) {
	for _, arrivals := range []string{"uniform", "poisson"} {
		for _, codec := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, codec tier %v", arrivals, codec), func(t *testing.T) {
				p := single()
				p.Seed = 11
				p.Settings = plan.Settings{Interval: 250 * time.Millisecond}.WithDefaults()
				for i := range 5 {
					p.Load = append(p.Load, plan.Phase{
						Name: fmt.Sprint("phase ", i), Kind: plan.Open, Duration: 300 * time.Millisecond,
						RateFrom: 100, RateTo: 100, Arrivals: arrivals, WarmUp: i == 0,
					})
				}
				process := schedule.Uniform
				if arrivals == "poisson" {
					process = schedule.Poisson
				}
				want := perPhase(t, p.Load, process, p.Seed)
				tally := driven(t, p, codec)
				for i := range p.Load {
					a := tally.Phase(p.Load[i].Name)
					if a == nil {
						t.Fatalf("phase %d is missing", i)
					}
					if a.Offered != want[i] {
						t.Errorf("phase %d: %d arrivals fell due, want %d", i, a.Offered, want[i])
					}
				}
				var later, due uint64
				for i := len(p.Load) - 1; i >= 0; i-- {
					later, due = later+tally.Phase(p.Load[i].Name).Operations[0].Done, due+want[i]
					if later < due {
						t.Errorf("from phase %d on %d operations are counted, want those of all %d arrivals", i, later, due)
					}
				}
			})
		}
	}
}

// driven runs the load of a plan on one of the tiers and returns the sums.
func driven(t *testing.T, p *plan.Plan, codec bool) *measure.Tally {
	t.Helper()
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	cfg := engine.FleetConfig{
		Workload: w, Driver: echo.Driver{}, Sessions: 4, OperationTimeout: 30 * time.Second,
		Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(len(w.Operations), 1),
		Where:   engine.Where{Targets: []protocol.Target{{Address: listen(t, echo.Config{}).Address()}}},
		Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second},
	}
	fleet := connect(t, &cfg, echo.Driver{}, codec)
	run := engine.Config{Workload: w, Fleet: fleet, Collector: cfg.Collector, Clock: cfg.Clock}
	if _, err := engine.Drive(context.Background(), nil, run, engine.Walk(p.Load)); err != nil {
		t.Fatal(err)
	}
	return cfg.Collector.Tally()
}
