package pool

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func TestClosedDoesExactlyTheQueue(t *testing.T) {
	a, b := one("a"), one("b")
	a.Count, b.Count = 300, 200
	for _, sessions := range []int{1, 8} {
		f := &fake{}
		bn := newBench(t, f, &plan.Plan{
			Seed: 7, Operations: []plan.Operation{a, b}, Mix: plan.ByCount,
			Load:     plan.QueueLoad().Phases,
			Settings: plan.Settings{Sessions: sessions},
		})
		out := bn.run(t, context.Background())
		na, nb := out.Total.Operations[0].Done, out.Total.Operations[1].Done
		if na != 300 || nb != 200 {
			t.Errorf("%d sessions: done %d a and %d b, want 300 and 200", sessions, na, nb)
		}
		if len(f.seen) != 500 {
			t.Errorf("%d sessions: the server saw %d requests, want 500", sessions, len(f.seen))
		}
	}
}

// A phase ends as soon as Enough says so, and the next one begins; the load isn't interrupted.
func TestEnoughEndsAPhase(t *testing.T) {
	for _, kind := range []plan.PhaseKind{plan.Closed, plan.Open} {
		endless := plan.Phase{Name: "endless", Kind: kind, Duration: time.Hour, RateFrom: 1000, RateTo: 1000}
		if kind == plan.Closed {
			endless.RateFrom, endless.RateTo = 0, 0
		}
		bn := newBench(t, &fake{}, &plan.Plan{Operations: []plan.Operation{one("a")},
			Load:     []plan.Phase{endless, {Name: "last", Kind: plan.Closed, Operations: 20}},
			Settings: plan.Settings{Sessions: 2, Interval: 20 * time.Millisecond}})
		bn.cfg.Enough = func(iv *measure.Interval) bool { return iv.Phase == "endless" && len(bn.ivs) >= 2 }
		out := bn.run(t, context.Background())
		last := uint64(0)
		for _, iv := range bn.ivs {
			if iv.phase == "last" {
				last += iv.done
			}
		}
		if out.Interrupted || last != 20 {
			t.Errorf("%s: interrupted %v, %d operations of the last phase", kind, out.Interrupted, last)
		}
	}
}

// A load with a first operation sends what a longer load sends from that operation on.
func TestLoadGoesOnAfterAnother(t *testing.T) {
	sent := func(first, operations uint64) (all []int64) {
		f := &fake{answer: func(_ context.Context, _ string, req *protocol.Request, args []gen.Value, _ *protocol.Reply) {
			all = append(all, args[0].I*10+int64(len(req.Name)))
		}}
		newBench(t, f, &plan.Plan{
			Seed: 7, First: first, Operations: []plan.Operation{one("a"), one("bb")},
			Load: []plan.Phase{{Name: "closed", Kind: plan.Closed, Operations: operations}},
		}).run(t, context.Background())
		return all
	}
	whole, rest := sent(0, 50), sent(30, 20)
	if len(whole) != 50 || !slices.Equal(whole[30:], rest) {
		t.Errorf("from 30 on %v, want %v", rest, whole[30:])
	}
	if slices.Equal(whole[:20], rest) {
		t.Error("the load begins again")
	}
}

func TestOpenSendsEveryArrival(t *testing.T) {
	bn := newBench(t, &fake{}, &plan.Plan{
		Operations: []plan.Operation{one("a")},
		Load: []plan.Phase{
			{Name: "up", Kind: plan.Open, Duration: 300 * time.Millisecond, RateFrom: 0, RateTo: 1000},
			{Name: "hold", Kind: plan.Open, Duration: 300 * time.Millisecond, RateFrom: 1000, RateTo: 1000},
		},
		Settings: plan.Settings{Sessions: 4, Interval: 100 * time.Millisecond},
	})
	out := bn.run(t, context.Background())
	c := out.Total.Totals()
	if c.Done != 450 || out.Total.Offered != 450 {
		t.Errorf("done %d of %d offered, want 450 (150 on the ramp, 300 held)", c.Done, out.Total.Offered)
	}
	phases := map[string]bool{}
	last := bn.ivs[0].start
	for _, iv := range bn.ivs {
		if iv.start != last {
			t.Errorf("interval starts at %d, the last one ended at %d", iv.start, last)
		}
		last = iv.end
		phases[iv.phase] = true
	}
	if !phases["up"] || !phases["hold"] {
		t.Errorf("intervals name the phases %v, want up and hold", phases)
	}
}

// If this process was stopped and a request's timeout expired before anything was sent, this is not a timeout of the
// server: the request is sent late. If that happens repeatedly, the request is given up.
func TestTimeIsOverBeforeAnythingIsSent(t *testing.T) {
	for name, c := range map[string]struct{ unsent, calls, failed uint64 }{
		"once": {1, 2 * 20, 0}, "three times": {3, 4 * 20, 0}, "always": {math.MaxUint64 - 1, 4 * 20, 20},
	} {
		for _, kind := range []plan.PhaseKind{plan.Open, plan.Closed} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				calls := uint64(0)
				f := &fake{answer: func(ctx context.Context, _ string, _ *protocol.Request, _ []gen.Value,
					reply *protocol.Reply) {
					if calls++; calls%(c.unsent+1) != 0 {
						<-ctx.Done()
						reply.Fail(&protocol.Error{Class: protocol.Timeout, Text: "no answer"})
						reply.Unsent = true
					}
				}}
				bn := newBench(t, f, &plan.Plan{
					Operations: []plan.Operation{one("a")},
					Load: []plan.Phase{{Name: "hold", Kind: kind, Duration: time.Minute, Operations: 20, RateFrom: 100,
						RateTo: 100}},
					Settings: plan.Settings{Sessions: 1, OperationTimeout: time.Millisecond},
				})
				n := bn.run(t, context.Background()).Total.Totals()
				if n.Done != 20 || n.Errors[protocol.Timeout] != c.failed || n.Failed() != c.failed || calls != c.calls {
					t.Errorf("%d of 20 done, %v failed of %d, in %d attempts of %d", n.Done, n.Errors, c.failed,
						calls, c.calls)
				}
			})
		}
	}
}

// A server stops for 400 ms after its 100th answer. Every arrival in that time waits until its end, so response times
// show the rest of the pause for any number of sessions, and all requests except those in flight spend it as lag.
func TestPauseShowsAtItsTrueSize(t *testing.T) {
	const pause, length, gap, sessions = 400 * time.Millisecond, time.Second, 2 * time.Millisecond, 2
	var began, answers atomic.Int64
	var bn *bench
	f := &fake{answer: func(context.Context, string, *protocol.Request, []gen.Value, *protocol.Reply) {
		if answers.Add(1) == 100 {
			began.Store(bn.cfg.Clock.Now())
		}
		if b := began.Load(); b > 0 {
			time.Sleep(time.Duration(b + int64(pause) - bn.cfg.Clock.Now()))
		}
	}}
	bn = newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{one("a")},
		Load: []plan.Phase{{Name: "hold", Kind: plan.Open, Duration: length, RateFrom: float64(time.Second / gap),
			RateTo: float64(time.Second / gap)}},
		Settings: plan.Settings{Sessions: sessions},
	})
	out := bn.run(t, context.Background())
	h, lag := out.Total.Operations[0].Response, out.Total.Operations[0].Lag
	if h.Count() != 500 {
		t.Fatalf("%d samples, want 500", h.Count())
	}
	from := time.Duration(began.Load() - bn.ivs[0].start)
	for _, wait := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond,
		390 * time.Millisecond} {
		// The arrivals that fell due in the pause, early enough, and before the end of the load.
		want := int64((min(from+pause-wait, length)-from)/gap) - 1
		above := int64(wait) * 998 / 1000 // for the histogram's buckets
		if got := int64(h.CountAbove(above)); got < want {
			t.Errorf("%d response times above %v, arithmetic says at least %d", got, wait, want)
		}
		if got := int64(lag.CountAbove(above)); got < want-sessions {
			t.Errorf("%d lags above %v, arithmetic says at least %d", got, wait, want-sessions)
		}
	}
}

func TestDropPolicyCountsWhatItGivesUp(t *testing.T) {
	f := &fake{answer: func(ctx context.Context, _ string, _ *protocol.Request, _ []gen.Value, _ *protocol.Reply) {
		time.Sleep(20 * time.Millisecond)
	}}
	bn := newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{one("a")},
		Load: []plan.Phase{{Name: "hold", Kind: plan.Open, Duration: 500 * time.Millisecond, RateFrom: 400,
			RateTo: 400}},
		Settings: plan.Settings{Sessions: 1, LatePolicy: "drop"},
	})
	out := bn.run(t, context.Background())
	c := out.Total.Totals()
	if c.Done+c.Dropped() != 200 || out.Total.Offered != 200 {
		t.Errorf("done %d + dropped %d of %d offered, want 200", c.Done, c.Dropped(), out.Total.Offered)
	}
	if c.Dropped() == 0 || c.Done == 0 {
		t.Errorf("done %d, dropped %d: want some of both", c.Done, c.Dropped())
	}
}

func TestInterruptLosesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var answered atomic.Int64
	f := &fake{answer: func(context.Context, string, *protocol.Request, []gen.Value, *protocol.Reply) {
		if answered.Add(1) == 50 {
			cancel()
		}
		time.Sleep(time.Millisecond)
	}}
	bn := newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{one("a")},
		Load:       []plan.Phase{{Name: "closed", Kind: plan.Closed, Duration: time.Minute}},
		Settings:   plan.Settings{Sessions: 4},
	})
	out := bn.run(t, ctx)
	if !out.Interrupted {
		t.Error("the outcome doesn't say that it was interrupted")
	}
	if c := out.Total.Totals(); c.Done != uint64(answered.Load()) {
		t.Errorf("recorded %d, the server answered %d", c.Done, answered.Load())
	}
}

func TestErrorThresholdAborts(t *testing.T) {
	f := &fake{answer: func(_ context.Context, _ string, _ *protocol.Request, _ []gen.Value, r *protocol.Reply) {
		r.Fail(&protocol.Error{Class: protocol.Server, Code: "XX000", Text: "no"})
		time.Sleep(time.Millisecond)
	}}
	a := one("a")
	a.Count = 100_000
	bn := newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{a}, Mix: plan.ByCount, Load: plan.QueueLoad().Phases,
		Settings: plan.Settings{Sessions: 2, ErrorThreshold: 0.01, Interval: 20 * time.Millisecond},
	})
	bn.cfg.Check = verdict.NewWatch(verdict.Rules{ErrorPercent: 0.01, Queue: 100_000}).Check
	out := bn.run(t, context.Background())
	c := out.Total.Totals()
	if out.Aborted.IsZero() || out.Interrupted {
		t.Errorf("aborted %q, interrupted %v; want aborted by the rule", out.Aborted, out.Interrupted)
	}
	if c.Done < 10 || c.Done >= 100_000 || c.Failed() != c.Done {
		t.Errorf("done %d, failed %d; want at least the 10 errors that are 0.01 %%, and not the whole queue", c.Done,
			c.Failed())
	}
}
