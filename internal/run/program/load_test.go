package program

import (
	"context"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Operations in flight at the end of the warm-up don't add to the answered arrivals. Operations in flight at the end
// count as answered only up to the number that the warm-up left in flight.
func TestOfferedAndAchievedAreOfTheSameArrivals(t *testing.T) {
	second := func(offered, ok, failed, dropped uint64, change func(*measure.Interval)) *measure.Interval {
		iv := &measure.Interval{Kind: measure.KindOpen, Phase: "hold", Account: measure.Account{EndNs: 1e9, Offered: offered,
			Operations: make([]measure.OperationAccount, 1)}}
		o := &iv.Operations[0]
		o.Done, o.Errors[protocol.Timeout], o.Unsent[measure.UnsentNoSession] = ok+failed, failed, dropped
		if change != nil {
			change(iv)
		}
		return iv
	}
	warm, drain := func(iv *measure.Interval) { iv.Phase, iv.WarmUp = "warm", true },
		func(iv *measure.Interval) { iv.Drain = true }
	busy := func(n int) func(*measure.Interval) { return func(iv *measure.Interval) { iv.Busy = n } }
	for _, c := range []struct {
		name              string
		intervals         []*measure.Interval
		offered, achieved float64
	}{
		{"all answered, and what the warm-up left", []*measure.Interval{second(7, 3, 0, 0, warm), second(21, 25, 0, 0, nil)},
			21, 21},
		{"as many on their way at the end as at the beginning", []*measure.Interval{second(100, 90, 0, 0, warm),
			second(100, 100, 0, 0, nil), second(0, 10, 0, 0, drain)}, 100, 100},
		{"more on their way at the end", []*measure.Interval{second(100, 100, 0, 0, warm), second(100, 80, 0, 0, nil),
			second(0, 20, 0, 0, drain)}, 100, 80},
		{"failures aren't made up for by the warm-up's answers", []*measure.Interval{second(100, 90, 0, 0, warm),
			second(100, 105, 5, 0, nil)}, 100, 95},
		{"neither is what was given up", []*measure.Interval{second(100, 90, 0, 0, warm), second(100, 103, 0, 7, nil)},
			100, 93},
		{"a short load without warm-up has some in flight", []*measure.Interval{second(50, 45, 0, 0, busy(5)),
			second(50, 50, 0, 0, busy(5)), second(0, 5, 0, 0, drain)}, 50, 50},
		{"a queue that grows isn't in flight", []*measure.Interval{second(50, 45, 0, 0, busy(5)),
			second(50, 35, 0, 0, busy(20)), second(0, 20, 0, 0, drain)}, 50, 42.5},
		{"in flight, and never answered", []*measure.Interval{second(50, 45, 0, 0, busy(5)),
			second(50, 50, 0, 0, busy(5)), second(0, 0, 5, 0, drain)}, 50, 47.5},
		{"all failed, and more", []*measure.Interval{second(100, 50, 0, 0, warm), second(100, 10, 140, 0, nil)}, 100, 0},
	} {
		o := &Outcome{Run: &record.Run{Operations: make([]record.Operation, 1), Phases: []record.Phase{
			{Name: "warm", Kind: measure.KindOpen, WarmUp: true, RateTo: 300},
			{Name: "hold", Kind: measure.KindOpen, RateFrom: 100, RateTo: 100},
		}}}
		w, tally := window{o: o}, &measure.Tally{}
		for i, iv := range c.intervals {
			iv.StartNs, iv.EndNs = int64(i)*1e9, int64(i+1)*1e9
			iv.Settle()
			if err := w.Interval(iv); err != nil {
				t.Fatal(err)
			}
			if err := tally.Interval(iv); err != nil {
				t.Fatal(err)
			}
		}
		o.AnsweredInTime = w.answered()
		record.Fill(o.Run, tally)
		if r := JudgeTrial(Trial{N: 1}, o, nil); r.OfferedPerS != c.offered || r.AchievedPerS != c.achieved ||
			r.AskedPerS != 100 {
			t.Errorf("%s: %g/s of %g/s, asked for %g/s; want %g of %g", c.name, r.AchievedPerS, r.OfferedPerS, r.AskedPerS,
				c.achieved, c.offered)
		}
	}
}

// If a trial is judged although the generator distorted it, the first reason is the threshold that failed.
func TestJudgedAnywayNamesTheThreshold(t *testing.T) {
	o := &Outcome{Run: &record.Run{Thresholds: []record.Threshold{{Text: "p(95) < 50ms", Unit: "ns", Value: 108e6},
		{Text: "errors < 1%", Pass: true}}}}
	o.Run.Verdict = record.Verdict{Result: verdict.Invalid, Reasons: []message.Message{message.Literal("late")}}
	o.AcceptInvalid()
	if v := o.Run.Verdict; v.Result != verdict.Fail || len(v.Reasons) != 3 ||
		v.Reasons[0].String() != "threshold p(95) < 50ms does not hold: it is 108 ms" {
		t.Errorf("%+v", v)
	}
}

// Repetitions of both plans send requests that no earlier run sent.
func TestRepetitionsSendOtherRequests(t *testing.T) {
	want, runs := uint64(7), 0
	r := &Repetition{Plan: &plan.Plan{First: 7}, Base: &plan.Plan{First: 7}, Times: 2,
		Rest: func(context.Context, time.Duration) error { return nil },
		Drive: func(_ context.Context, o Load) (*Outcome, error) {
			if runs++; o.Plan.First != want {
				t.Errorf("run %d begins with request %d, want %d", runs, o.Plan.First, want)
			}
			want += 30
			return &Outcome{Dir: o.Name, Run: &record.Run{Phases: []record.Phase{{Offered: 10, WarmUp: true},
				{Offered: 20}}}}, nil
		}}
	if _, err := r.Run(t.Context()); err != nil || runs != 4 {
		t.Errorf("%d runs: %v", runs, err)
	}
}

// The factor of scripts with rates is their only option if a plan gives none.
func TestPaceWithoutOptions(t *testing.T) {
	p := &plan.Plan{Scripts: plan.Scripts{Language: "x", ScaledBy: "factor", RatePerS: 10}}
	if pace(p, 10, 2.5, time.Second); p.Scripts.Options["factor"] != "2.5" {
		t.Errorf("options %v", p.Scripts.Options)
	}
}
