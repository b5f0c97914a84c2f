package loop_test

import (
	"context"
	"fmt"
	"sync/atomic"
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

// Answers that come after the next phase has begun count in the phase in which their arrivals fell due.
func TestAnswersBelongToThePhaseOfTheirArrivals(t *testing.T) {
	t.Parallel()
	const due = 10 // in the first phase
	for _, codec := range []bool{true, false} {
		t.Run(fmt.Sprintf("codec tier %v", codec), func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			next := make(chan struct{}) // closed when the second phase has sent something
			cfg := echoing(t, phasesOf(due), echo.Config{Answer: func(echo.Frame) bool {
				switch n := requests.Add(1); {
				case n <= due:
					<-next
				case n == due+1:
					close(next)
				}
				return true
			}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := firstInterval{cancel: cancel}
			run := engine.Config{
				Workload: cfg.Workload, Fleet: connect(t, &cfg, echo.Driver{}, codec), Collector: cfg.Collector,
				Clock: cfg.Clock, Sinks: []measure.Sink{&first},
			}
			if _, err := engine.Drive(ctx, nil, run, engine.Walk(cfg.Workload.Plan.Load)); err != nil {
				t.Fatal(err)
			}
			if first.phase != "first" || first.offered != due || first.done != due {
				t.Errorf("the first interval, of phase %q, has %d done of %d, want all %d", first.phase, first.done,
					first.offered, due)
			}
		})
	}
}

// phasesOf returns a plan whose first phase has n arrivals, and is followed by a long one.
func phasesOf(n int) *plan.Plan {
	p := single()
	p.Settings = plan.Settings{Interval: 4 * time.Second}.WithDefaults()
	for _, phase := range []plan.Phase{
		{Name: "first", Duration: 500 * time.Millisecond}, {Name: "next", Duration: time.Hour},
	} {
		phase.Kind, phase.RateFrom, phase.RateTo = plan.Open, 2*float64(n), 2*float64(n)
		p.Load = append(p.Load, phase)
	}
	return p
}

// firstInterval keeps what was counted in the first interval, and then ends the load.
type firstInterval struct {
	cancel        context.CancelFunc
	phase         string
	offered, done uint64
}

// Interval implements measure.Sink.
func (f *firstInterval) Interval(iv *measure.Interval) error {
	if f.phase == "" {
		f.phase, f.offered, f.done = iv.Phase, iv.Offered, iv.Operations[0].Done
		f.cancel()
	}
	return nil
}

// driven runs the load of a plan on one of the tiers and returns the sums.
func driven(t *testing.T, p *plan.Plan, codec bool) *measure.Tally {
	t.Helper()
	cfg := echoing(t, p, echo.Config{})
	fleet := connect(t, &cfg, echo.Driver{}, codec)
	run := engine.Config{Workload: cfg.Workload, Fleet: fleet, Collector: cfg.Collector, Clock: cfg.Clock}
	if _, err := engine.Drive(context.Background(), nil, run, engine.Walk(p.Load)); err != nil {
		t.Fatal(err)
	}
	return cfg.Collector.Tally()
}

// echoing returns a configuration that sends a plan to an own server.
func echoing(t *testing.T, p *plan.Plan, server echo.Config) engine.FleetConfig {
	t.Helper()
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return engine.FleetConfig{
		Workload: w, Driver: echo.Driver{}, Sessions: 32, OperationTimeout: 30 * time.Second,
		Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(len(w.Operations), 1),
		Where:   engine.Where{Targets: []protocol.Target{{Address: listen(t, server).Address()}}},
		Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second},
	}
}
