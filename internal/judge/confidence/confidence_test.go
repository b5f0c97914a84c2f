package confidence

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// load generates a run with intervals of one second. Its response times are log-normal. drift changes them over time,
// and one of failEvery operations fails.
func load(r *rand.Rand, seconds, perS int, drift func(second int) float64, failEvery int) (*record.Run,
	[]*measure.Interval) {
	run := &record.Run{Operations: []record.Operation{{Name: "one"}}, Targets: []record.Target{{Address: "a"}},
		Phases: []record.Phase{{Name: "hold"}}}
	t := &measure.Tally{}
	var all []*measure.Interval
	for k := range seconds {
		iv := &measure.Interval{Index: k, Phase: "hold", Kind: measure.KindClosed, Account: measure.Account{
			StartNs: int64(k) * 1e9, EndNs: int64(k+1) * 1e9, Operations: make([]measure.OperationAccount, 1),
			Addresses: make([]measure.AddressAccount, 1),
		}}
		o, a := &iv.Operations[0], &iv.Addresses[0]
		o.Response, o.Service, a.Service = measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram()
		for i := range perS + r.IntN(perS/10+1) {
			o.Done++
			a.Done++
			if failEvery > 0 && i%failEvery == 0 {
				o.Errors[protocol.Server]++
				continue
			}
			ns := int64(1e6 * math.Exp(0.5*r.NormFloat64()+drift(k)))
			o.Response.Record(ns)
			o.Service.Record(ns)
			a.Service.Record(ns)
		}
		iv.Settle()
		all = append(all, iv)
		_ = t.Interval(iv)
	}
	record.Fill(run, t)
	return run, all
}

func each(all []*measure.Interval) func(func(*measure.Interval) error) error {
	return func(f func(*measure.Interval) error) error {
		for _, iv := range all {
			if err := f(iv); err != nil {
				return err
			}
		}
		return nil
	}
}

func steady(int) float64 { return 0 }

// About 95 of 100 intervals at 95 % contain the true value: the mean of these response times is e^0.125 ms, their
// median is 1 ms, and their rate is 105 per second.
func TestIntervalsCover(t *testing.T) {
	const runs = 400
	covered := map[string]int{}
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		run, all := load(r, 20, 100, steady, 0)
		if err := Fill(run, each(all)); err != nil {
			t.Fatal(err)
		}
		w := run.Total.Response.Within
		for name, c := range map[string]struct {
			b     *record.Bounds
			truth float64
		}{
			"mean": {w.Mean, 1e6 * math.Exp(0.125)}, "p50": {w.P50, 1e6}, "p90": {w.P90, 1e6 * math.Exp(0.5*1.2815515655)},
			"rate": {run.Total.RateWithin, 105}, "phase": {run.Phases[0].RateWithin, 105},
			"address": {run.Targets[0].Service.Within.P50, 1e6},
		} {
			if !c.b.Why.IsZero() {
				t.Fatalf("%s: %s", name, c.b.Why)
			}
			if c.b.Low <= c.truth && c.b.High >= c.truth {
				covered[name]++
			}
		}
	}
	for name, n := range covered {
		t.Logf("%s: %.1f %%", name, 100*float64(n)/runs)
		if share := float64(n) / runs; share < 0.93 || share > 0.97 {
			t.Errorf("the intervals of %s hold the truth in %.1f %% of the runs", name, 100*share)
		}
	}
}

func TestNoTimeIsBelowNothing(t *testing.T) {
	b := bounds([]float64{1e3, 1e3, 1e3, 1e3, 1e6}, 2e3)
	if b.Low != 0 || b.High < 1e5 {
		t.Errorf("a time around 2 µs lies between %g and %g ns", b.Low, b.High)
	}
}

func TestWhatTheDataDontCarryIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	run, all := load(r, 9, 500, steady, 0)
	if err := Fill(run, each(all)); err != nil || !run.Total.RateWithin.Why.Equal(WhyFewIntervals) ||
		!run.Total.Response.Within.Why.Equal(WhyFewIntervals) {
		t.Errorf("9 intervals: %+v, %v", run.Total.RateWithin, err)
	}
	run, all = load(r, 20, 100, steady, 0)
	if err := Fill(run, each(all)); err != nil {
		t.Fatal(err)
	}
	w := run.Total.Response.Within
	if !w.P90.Why.IsZero() || !w.P99.Why.Equal(WhyFewValues) || !w.P9999.Why.Equal(WhyFewValues) {
		t.Errorf("200 values in a tenth: p90 %+v, p99 %+v", w.P90, w.P99)
	}
	run, all = load(r, 20, 200, steady, 20)
	if err := Fill(run, each(all)); err != nil {
		t.Fatal(err)
	}
	// One operation in twenty fails, so higher quantiles are infinite and have no estimate.
	w = run.Total.Response.Within
	if w.P99 != nil || w.P90 == nil || !w.P90.Why.IsZero() || !run.Total.ResponseOK.Within.P90.Why.IsZero() {
		t.Errorf("with failures: p90 %+v, p99 %+v", w.P90, w.P99)
	}
}

func TestDriftIsSeen(t *testing.T) {
	run, all := load(rand.New(rand.NewPCG(3, 4)), 40, 200, func(k int) float64 { return float64(k) / 40 }, 0)
	if err := Fill(run, each(all)); err != nil {
		t.Fatal(err)
	}
	if p50 := run.Total.Response.Within.P50; !p50.Correlated || p50.High-p50.Low < 0.3e6 {
		t.Errorf("p50 of a run that drifts: %+v", p50)
	}
}

func TestOddRuns(t *testing.T) {
	run, all := load(rand.New(rand.NewPCG(5, 6)), 12, 50, steady, 1)
	if err := Fill(run, each(all)); err != nil || run.Total.Service.Within != nil {
		t.Errorf("without a success: %+v, %v", run.Total.Service.Within, err)
	}
	if err := Fill(&record.Run{}, each(nil)); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	if err := Fill(run, func(func(*measure.Interval) error) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestBeginningsThatDifferAreSeen(t *testing.T) {
	for name, c := range map[string]struct {
		drift func(int) float64
		want  string
	}{
		"steady": {steady, ""},
		"slow at first": {func(k int) float64 {
			if k < 20 {
				return 1
			}
			return 0
		}, WarnWarmUp},
		"ever slower": {func(k int) float64 { return float64(k) / 50 }, WarnUnsteady},
	} {
		run, all := load(rand.New(rand.NewPCG(8, 9)), 100, 200, c.drift, 0)
		if err := Fill(run, each(all)); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range run.Warnings {
			got += w.ID
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.want == WarnWarmUp && run.Warnings[0].Text.String() != "the load was another until 20 s after its start" {
			t.Error(run.Warnings[0].Text)
		}
	}
}

// Memory is bounded for runs of any length. No interval is lost, and the tenths of a run are equally long.
func TestLongRunsAreKeptInBoundedMemory(t *testing.T) {
	for name, seconds := range map[string]int{"short": 12, "as many as slots": mostSlots, "one more": mostSlots + 1,
		"long": 13*mostSlots + 7} {
		t.Run(name, func(t *testing.T) {
			run, all := load(rand.New(rand.NewPCG(10, 11)), seconds, 50, steady, 25)
			taker := NewTaker()
			for _, iv := range all {
				if err := taker.Interval(iv); err != nil {
					t.Fatal(err)
				}
			}
			if n := len(taker.load.ns); n > mostSlots || seconds > mostSlots && n < mostSlots/2 {
				t.Errorf("%d slots", n)
			}
			taker.Fill(run)
			of := taker.load.parts(taker.total[ofResponse])
			var ns int64
			var done, counts, noAnswer uint64
			for k := range parts {
				ns, done = ns+of.ns[k], done+of.done[k]
				counts, noAnswer = counts+of.counts[k], noAnswer+of.noAnswer[k]
				if share := float64(of.ns[k]) / float64(run.DurationNs); seconds > mostSlots && math.Abs(share-0.1) > 0.0126 {
					t.Errorf("part %d is %.3f of the run", k, share)
				}
			}
			if ns != run.DurationNs {
				t.Errorf("the parts last %d ns of %d", ns, run.DurationNs)
			}
			if l := run.Total.Response; done != run.Total.OK || counts != l.Count || noAnswer != l.NoAnswer {
				t.Errorf("%d done, %d answered, %d not; want %d, %d, %d", done, counts, noAnswer, run.Total.OK, l.Count, l.NoAnswer)
			}
			if p50 := run.Phases[0].Response.Within.P50; !p50.Why.IsZero() || p50.Low > float64(run.Total.Response.P50Ns) ||
				p50.High < float64(run.Total.Response.P50Ns) {
				t.Errorf("p50 of the phase: %+v around %d", p50, run.Total.Response.P50Ns)
			}
		})
	}
}

// The course of a run with very many intervals is stored as points that each combine the same number of intervals.
func TestCourseIsBounded(t *testing.T) {
	c := &course{}
	iv := &measure.Interval{Phase: "hold", Account: measure.Account{LoadNs: 1e9,
		Operations: []measure.OperationAccount{{Response: measure.NewHistogram()}}}}
	iv.Operations[0].Response.Record(1e6)
	for k := range 5 * mostPoints / 2 {
		iv.EndNs = int64(k + 1)
		iv.Operations[0].Done = uint64(k % 2)
		c.add(iv)
	}
	if n := len(c.rates); n > mostPoints || n < mostPoints/2 || len(c.tail) != n || len(c.endsNs) != n {
		t.Fatalf("%d points", n)
	}
	for k, rate := range c.rates {
		if rate != 0.5 || c.endsNs[k] != int64(c.intervals*(k+1)) {
			t.Fatalf("point %d: %g a second until %d, of %d intervals each", k, rate, c.endsNs[k], c.intervals)
		}
	}
}
