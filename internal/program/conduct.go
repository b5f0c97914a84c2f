// Package program runs one load after another and decides the next from the last: repetitions, A against
// B, the search for the highest load that a target sustains, and settings against each other. What
// decides is pure; how a single run goes is its caller's to say.
package program

import (
	"context"
	"fmt"
	"time"

	"brunt/internal/engine"
	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/verdict"
)

// Order is one run of a series.
type Order struct {
	Name     string      // of its bundle, in the series' folder
	Plan     *plan.Plan  // not changed
	Next     engine.Next // names the phases; nil: the plan's
	PeakPerS float64     // the highest rate that Next names, operations a second
}

// Outcome is what came of a run, all of it read from its bundle.
type Outcome struct {
	Dir string      // the bundle
	Run *record.Run // judged
	// AnsweredInTime is how many of the arrivals offered were answered well while the schedule of the load ran.
	// What the warm-up left on its way stands for what is on its way at the end, and for no more: it is never
	// more than was offered, less what failed and what was given up.
	AnsweredInTime uint64
	// Outstanding is, at the end of each interval of the load without warm-up and drain, how many arrivals
	// were due and not answered.
	Outstanding  []float64
	P95Ns        []float64 // of response time in each of these intervals that had answers
	AnsweredPerS []float64 // answered well in each of these intervals, a second
}

// RunFunc carries out a run: it connects, sends, keeps the bundle, and reads it back. An error means that
// there is no result, and ends the series. One that was ended by hand has an outcome that says so.
type RunFunc func(ctx context.Context, o Order) (*Outcome, error)

// Onward is conduct, each of whose runs sends other requests than those before it: its random choices go on where
// theirs ended. The same ones would find in caches what was read before, and gone what was deleted. A plan that is a
// queue of counts has no other requests.
func Onward(conduct RunFunc) RunFunc {
	sent := uint64(0)
	return func(ctx context.Context, o Order) (*Outcome, error) {
		o.Plan = From(o.Plan, sent)
		out, err := conduct(ctx, o)
		if err == nil {
			sent += out.Requests()
		}
		return out, err
	}
}

// From is p, whose random choices go on where those of n requests more ended.
func From(p *plan.Plan, n uint64) *plan.Plan {
	if n == 0 || p.Mix == plan.ByCount {
		return p
	}
	out := *p
	out.First += n
	return &out
}

// Requests is how many requests the run was, those of its warm-up too.
func (o *Outcome) Requests() (n uint64) {
	for i := range o.Run.Phases {
		n += o.Run.Phases[i].Offered
	}
	return n
}

// Read reads the outcome of a run from its bundle. It fails if the run isn't complete.
func Read(fsys record.FS, dir string) (*Outcome, error) {
	b, err := record.Open(fsys, dir)
	if err != nil {
		return nil, err
	}
	if !b.Run.Complete {
		return nil, fmt.Errorf("the run in %s was killed; repeat it", dir)
	}
	o := &Outcome{Dir: dir, Run: b.Run}
	w := window{o: o}
	err = b.Intervals(w.Interval)
	o.AnsweredInTime = w.answered()
	return o, err
}

// window sums up the intervals of a load without warm-up and drain.
type window struct {
	o                   *Outcome
	offered, well, lost uint64
}

// Interval implements measure.Sink.
func (w *window) Interval(iv *measure.Interval) error {
	if iv.Kind != measure.KindOpen || iv.WarmUp || iv.Drain {
		return nil
	}
	all := iv.All()
	w.offered, w.well, w.lost = w.offered+iv.Offered, w.well+all.OK(), w.lost+all.Failed()+all.Dropped()
	if seconds := float64(iv.EndNs-iv.StartNs) / 1e9; seconds > 0 {
		w.o.AnsweredPerS = append(w.o.AnsweredPerS, float64(all.OK())/seconds)
	}
	if all.Response.Count() > 0 {
		w.o.P95Ns = append(w.o.P95Ns, float64(all.Answers().Quantile(0.95)))
	}
	w.o.Outstanding = append(w.o.Outstanding, float64(iv.Backlog)+float64(iv.Busy))
	return nil
}

// answered is Outcome.AnsweredInTime.
func (w *window) answered() uint64 { return min(w.well, w.offered-min(w.lost, w.offered)) }

// AchievedPerS is how much of Run.Total.OfferedPerS was answered well in time, a second.
func (o *Outcome) AchievedPerS() float64 {
	total := &o.Run.Total
	if total.Offered == 0 {
		return 0
	}
	return total.OfferedPerS * float64(o.AnsweredInTime) / float64(total.Offered)
}

// AskedPerS is the rate that the run's load was set to, operations a second: the highest of its open phases
// without warm-up. Random arrivals make what is offered more or less than that.
func (o *Outcome) AskedPerS() (rate float64) {
	for i := range o.Run.Phases {
		if p := &o.Run.Phases[i]; p.Kind == measure.KindOpen && !p.WarmUp {
			rate = max(rate, p.RateFrom, p.RateTo)
		}
	}
	return rate
}

// AcceptInvalid gives a run that the generator spoiled the verdict that its thresholds have, and says so in its
// reasons: for rehearsals on machines that others use too.
func (o *Outcome) AcceptInvalid() {
	v := &o.Run.Verdict
	if v.Result != verdict.Invalid {
		return
	}
	v.Result = verdict.Pass
	var broken []message.Message
	for i := range o.Run.Thresholds {
		if t := &o.Run.Thresholds[i]; !t.Pass {
			v.Result = verdict.Fail
			broken = append(broken, verdict.Broken(t))
		}
	}
	v.Reasons = append(append(broken, message.New("judged-anyway")), v.Reasons...)
}

// Rest waits between runs, or returns ctx's error.
type Rest func(ctx context.Context, d time.Duration) error

// Sleep is the Rest of real time.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
