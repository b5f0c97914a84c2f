package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
)

// rising is a controller that raises the rate with each decision, and keeps the intervals that it receives.
type rising struct {
	n    int
	seen []int64
}

func (r *rising) First() measure.Control { return measure.Control{RatePerS: 100, Reason: "start"} }

func (r *rising) Next(iv *measure.Interval) measure.Control {
	r.n++
	r.seen = append(r.seen, iv.StartNs)
	return measure.Control{RatePerS: 100 + 10*float64(r.n), Reason: "raise"}
}

const slice = int64(100 * time.Millisecond)

// ledPlan returns a warm-up of two intervals and an adaptive phase of ten.
func ledPlan() []plan.Phase {
	return []plan.Phase{
		{Name: "warm-up", Kind: plan.Open, Duration: 2 * time.Duration(slice), RateFrom: 10, RateTo: 10},
		{Name: "adaptive", Kind: plan.Open, Duration: 10 * time.Duration(slice), RateFrom: 100, RateTo: 100,
			Adaptive: &plan.Adaptive{}},
	}
}

// decisions returns the decisions of a leader for ledPlan, and the controller. It checks that each piece is decided an
// interval before it begins.
func decisions(t *testing.T) (all []Decided, control *rising) {
	t.Helper()
	control = &rising{}
	l := NewLeader(ledPlan(), time.Duration(slice), func(*plan.Phase) Controller { return control },
		func(d Decided) { all = append(all, d) })
	l.Begin()
	for i := range int64(12) {
		iv := &measure.Interval{}
		iv.Phase, iv.StartNs, iv.EndNs = "warm-up", 1000+i*slice, 1000+(i+1)*slice
		if i >= 2 {
			iv.Phase = "adaptive"
		}
		before := len(all)
		if err := l.Interval(iv); err != nil {
			t.Fatal(err)
		}
		if i >= 2 && len(all) > before { // a decision: when does its piece begin?
			begins := int64(0)
			if before > 0 {
				begins = all[before-1].UntilNs
			}
			if now := (i - 1) * slice; begins < now+slice {
				t.Errorf("the piece from %d ns on was decided at %d ns, less than an interval before", begins, now)
			}
		}
	}
	return all, control
}

func TestALeaderDecidesAnIntervalAhead(t *testing.T) {
	all, control := decisions(t)
	for i, d := range all {
		if want := int64(i+1) * 2 * slice; d.UntilNs != want || d.Phase != "adaptive" {
			t.Errorf("piece %d is %+v, want until %d ns", i, d, want)
		}
		if want := 100 + 10*float64(i); d.Control.RatePerS != want {
			t.Errorf("piece %d has %g/s, want %g", i, d.Control.RatePerS, want)
		}
	}
	if len(all) != 5 {
		t.Errorf("%d pieces, want 5", len(all))
	}
	// The controller saw the first interval of each piece.
	want := []int64{1000 + 2*slice, 1000 + 4*slice, 1000 + 6*slice, 1000 + 8*slice}
	if !slices.Equal(control.seen, want) {
		t.Errorf("the controller saw the intervals at %v, want %v", control.seen, want)
	}
}

// All processes have the same arrivals, even if a piece arrives late, and their parts add up to the load of one
// process.
func TestPartsOfALedPhaseAreTheWhole(t *testing.T) {
	all, _ := decisions(t)
	p := ledPlan()[1]
	arrivals := func(part schedule.Part, lateNs int64) (out []int64, late int) {
		stage := schedule.Stage{StartNs: 5, Part: part, Process: schedule.Poisson, Seed: 3}
		a := newLed(&p, &stage)
		now := int64(0)
		a.follow(context.Background(), &p, func(_ context.Context, _ *plan.Phase, extend func(Decided)) {
			for i, d := range all {
				if i > 0 {
					now = all[i-1].UntilNs + lateNs
				}
				extend(d)
			}
		}, func() int64 { return now })
		arrivals, _ := stage.Arrivals(stage.Part.Worker(0, 1), 1<<62)
		for ; arrivals.Known() && !arrivals.Over; arrivals.Advance() {
			out = append(out, arrivals.IntendedNs)
		}
		if arrivals.Waits {
			t.Error("the schedule isn't whole")
		}
		return out, a.led.late
	}
	whole, late := arrivals(schedule.Part{}, -slice)
	if late != 0 {
		t.Errorf("%d pieces were late", late)
	}
	one, _ := arrivals(schedule.Part{Of: 2, Takes: []uint64{0}}, -slice)
	two, late := arrivals(schedule.Part{Of: 2, Takes: []uint64{1}}, slice)
	if late != 4 {
		t.Errorf("%d pieces were late, want 4", late)
	}
	both := slices.Concat(one, two)
	slices.Sort(both)
	if !slices.Equal(both, whole) || len(whole) < 100 {
		t.Errorf("%d and %d arrivals of the parts aren't the %d of the whole", len(one), len(two), len(whole))
	}
}

// Time without a decision has no arrivals, and the phase still ends.
func TestALedPhaseEndsWithoutItsLeader(t *testing.T) {
	p := ledPlan()[1]
	stage := schedule.Stage{}
	a := newLed(&p, &stage)
	a.follow(context.Background(), &p, func(context.Context, *plan.Phase, func(Decided)) {}, func() int64 { return 0 })
	arrivals, _ := stage.Arrivals(stage.Part.Worker(0, 1), 1<<62)
	if !arrivals.Known() || !arrivals.Over {
		t.Errorf("arrival at %d ns, known %v", arrivals.IntendedNs, arrivals.Known())
	}
}
