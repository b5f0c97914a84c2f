// Package program runs loads one after another, and decides the next one from the results of the last: repetitions, A
// against B, the search for the highest load that a target sustains, and comparisons of settings. The decisions are
// pure functions. The caller provides the Driver, which drives one load.
package program

import (
	"context"
	"fmt"
	"slices"
	"time"

	"brunt/internal/engine"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Load is one load of a series.
type Load struct {
	Name     string      // name of its bundle in the series' folder
	Plan     *plan.Plan  // not changed
	Next     engine.Next // returns the phases; nil: the plan's
	PeakPerS float64     // the highest rate of Next's phases, operations a second
}

// Outcome is the result of a run, read from its bundle.
type Outcome struct {
	Dir string      // the bundle
	Run *record.Run // judged
	// AnsweredInTime is how many of the offered arrivals got a good answer while the schedule of the load ran, or soon
	// after it: arrivals that were in flight when it ended count up to the greatest value of the first half of
	// Outstanding, because any load has some in flight at any time, and bursts have more. (If the backlog grows steadily,
	// this is its median.) Answers to arrivals of the warm-up make up for arrivals still in flight at the end, and no
	// more: the number never exceeds the offered arrivals, less those that failed or were given up.
	AnsweredInTime uint64
	// Outstanding is, at the end of each interval of the load without warm-up and drain, how many arrivals
	// were due and not answered.
	Outstanding  []float64
	P95Ns        []float64 // of response time, for each of these intervals with answers
	AnsweredPerS []float64 // rate of good answers in each of these intervals, a second
}

// Driver drives one load: it connects, sends the load, stores the bundle and reads it back. An error means that there
// is no result, and ends the series. If the user interrupted the run, its outcome is marked as interrupted.
type Driver func(ctx context.Context, l Load) (*Outcome, error)

// Continuing returns a driver whose loads differ from those before them: their random choices continue where those of
// the last load ended. Repeated requests would find their data cached, and would miss what was deleted before. A plan
// that is a queue of counts always sends the same requests.
func Continuing(drive Driver) Driver {
	sent := uint64(0)
	return func(ctx context.Context, l Load) (*Outcome, error) {
		l.Plan = Continued(l.Plan, sent)
		out, err := drive(ctx, l)
		if err == nil {
			sent += out.Requests()
		}
		return out, err
	}
}

// Continued returns p with its random choices continued after n more requests.
func Continued(p *plan.Plan, n uint64) *plan.Plan {
	if n == 0 || p.Mix == plan.ByCount {
		return p
	}
	out := *p
	out.First += n
	return &out
}

// Requests returns how many requests the run sent, including its warm-up.
func (o *Outcome) Requests() (n uint64) {
	for i := range o.Run.Phases {
		n += o.Run.Phases[i].Offered
	}
	return n
}

// ReadOutcome reads the outcome of a run from its bundle. It fails if the run is incomplete.
func ReadOutcome(fsys record.FS, dir string) (*Outcome, error) {
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

// window adds up the intervals of a load without warm-up and drain.
type window struct {
	o                   *Outcome
	offered, well, lost uint64
	after               uint64 // good answers after the schedule
}

// Interval implements measure.Sink.
func (w *window) Interval(iv *measure.Interval) error {
	if iv.WarmUp || iv.Kind != measure.KindOpen && !(iv.Kind == measure.KindClosed && w.o.AskedPerS() > 0) {
		return nil
	}
	all := iv.All()
	if iv.Drain {
		w.after += all.OK()
		return nil
	}
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

// answered returns Outcome.AnsweredInTime.
func (w *window) answered() uint64 {
	inFlight := uint64(0)
	if half := w.o.Outstanding[:(len(w.o.Outstanding)+1)/2]; len(half) > 0 {
		inFlight = uint64(slices.Max(half))
	}
	return min(w.well+min(w.after, inFlight), w.offered-min(w.lost, w.offered))
}

// AchievedPerS returns the part of Run.Total.OfferedPerS that got a good answer in time, operations a second.
func (o *Outcome) AchievedPerS() float64 {
	total := &o.Run.Total
	if total.Offered == 0 {
		return 0
	}
	return total.OfferedPerS * float64(o.AnsweredInTime) / float64(total.Offered)
}

// AskedPerS returns the rate to which the run's load was set, operations a second: the highest of its phases
// without warm-up. Closed ones have rates if their scripts say how fast they send. With random arrivals, the offered rate is higher or lower.
func (o *Outcome) AskedPerS() (rate float64) {
	for i := range o.Run.Phases {
		if p := &o.Run.Phases[i]; (p.Kind == measure.KindOpen || p.Kind == measure.KindClosed) && !p.WarmUp {
			rate = max(rate, p.RateFrom, p.RateTo)
		}
	}
	return rate
}

// AcceptInvalid replaces the verdict invalid by that of the thresholds, and says so in the reasons. It is for
// rehearsals on machines that others use too.
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

// Sleep is the Rest that waits in real time.
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
