package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"brunt/internal/engine"
	"brunt/internal/inspect/observe"
	"brunt/internal/judge/verdict"
	"brunt/internal/load/control"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/server/target"
)

// checkAdaptive checks, before the load, what an adaptive phase needs.
func checkAdaptive(p *plan.Plan, part schedule.Part, led bool) error {
	for i := range p.Load {
		ph := &p.Load[i]
		if ph.Adaptive == nil || led {
			continue
		}
		if part.Of > 1 {
			return &target.UsageError{Err: fmt.Errorf(
				"phase %q is adaptive, and each part of the load would decide its rate by itself: use --workers instead of --part",
				ph.Name)}
		}
		if ph.Adaptive.Watch == "" {
			continue
		}
		source, err := observe.Parse(ph.Adaptive.Watch)
		if err == nil {
			_, err = observe.Find(source, ph.Adaptive.Metric)
		}
		if err != nil {
			return &target.UsageError{Err: fmt.Errorf("phase %q: %w", ph.Name, err)}
		}
	}
	return nil
}

// goalText describes the goal of an adaptive phase, or returns "" if it has none.
func goalText(a *plan.Adaptive) string {
	if a.Watch != "" {
		return fmt.Sprintf("%s of %s at %s", a.Metric, a.Watch, units.Digits3(a.Level))
	}
	return a.Goal.Text
}

// Leader returns the engine.Leader that decides the rates of the plan's adaptive phases, for a load that other
// processes send. tell receives the decisions.
func (r *Runner) Leader(tell func(engine.Decided)) *engine.Leader {
	p := r.system.Plan
	return engine.NewLeader(p.Load, p.Settings.WithDefaults().Interval, r.controller, tell)
}

// decidedLate warns that decisions of another process came late.
func (r *Runner) decidedLate(n int, most time.Duration) {
	r.warn(record.NewWarning("decision-late", message.Count("n", n), message.Span("late", most)))
}

// controller returns the controller of an adaptive phase's rate.
func (r *Runner) controller(p *plan.Phase) engine.Controller {
	a := p.Adaptive
	spec := control.Spec{
		Method: a.Method, StartPerS: p.RateFrom, MinPerS: a.MinPerS, MaxPerS: a.MaxPerS, Goal: a.Goal.Limit,
		Tolerance: a.Tolerance, DelayS: leastDelay.Seconds(), MaxErrors: a.MaxErrors,
	}
	c := &adaptive{plan: a, operations: r.watchedOperations(), window: &measure.Account{}}
	switch m := metric.Find(a.Goal.Metric); {
	case a.Watch != "":
		spec.Goal = a.Level
		c.follow = r.follow(a)
	case a.Method == control.Gradient:
		c.plan = &plan.Adaptive{Goal: metric.Rule{Metric: "response", Aggregate: "p", Quantile: 50}}
		c.median = true
	case m.Times:
		spec.DelayS = max(spec.DelayS, delays*a.Goal.Limit/1e9)
		if a.Goal.Aggregate == "p" {
			spec.Goal = 1 - a.Goal.Quantile/100
		}
	default: // a share of errors that is itself the goal is no reason to reduce the rate
		spec.MaxErrors = max(spec.MaxErrors, 4*a.Goal.Limit)
	}
	c.control = control.New(spec)
	return c
}

// Arrivals that wait longer than both limits indicate an overload. The limits are a time and a multiple of the limit on
// response times.
const (
	leastDelay = 100 * time.Millisecond
	delays     = 5
)

// watchedOperations returns the names of the operations, in the order of the account.
func (r *Runner) watchedOperations() (names []string) {
	for _, op := range r.Workload.Operations {
		names = append(names, op.Name)
	}
	return names
}

// follow starts sampling the source that an adaptive phase watches, until the runner is closed.
func (r *Runner) follow(a *plan.Adaptive) *observe.Follower {
	source, err := observe.Parse(a.Watch)
	if err != nil { // it was parsed successfully when the run began
		return observe.NewFollower(nil, "")
	}
	f := observe.NewFollower(source, a.Metric)
	ctx, cancel := context.WithCancel(context.Background())
	r.followed = append(r.followed, cancel)
	go f.Run(ctx, r.system.Plan.Settings.Interval)
	return f
}

// adaptive is the controller of an adaptive phase. It derives observations from intervals.
type adaptive struct {
	plan       *plan.Adaptive
	operations []string
	control    *control.Controller
	follow     *observe.Follower // the watched source; nil if the goal is a rule
	median     bool              // the figure is the median itself, not the share beyond a limit

	window  *measure.Account // since the last decision
	stalled bool             // the generator stalled within the window
	last    control.Decision
}

var _ engine.Keeper = (*adaptive)(nil)

// State implements engine.Keeper. Intervals since the last decision are no part of it.
func (a *adaptive) State() []byte {
	state, err := json.Marshal(a.control.State())
	if err != nil {
		return nil // a figure isn't finite
	}
	return state
}

// Restore implements engine.Keeper.
func (a *adaptive) Restore(state []byte) error {
	var s control.State
	if err := json.Unmarshal(state, &s); err != nil {
		return err
	}
	a.control.Restore(s)
	a.last = control.Decision{RatePerS: s.RatePerS, Reason: control.Hold}
	return nil
}

// First implements engine.Controller.
func (a *adaptive) First() measure.Control {
	a.last = a.control.First()
	return measure.Control{RatePerS: a.last.RatePerS, Reason: string(a.last.Reason)}
}

// A quantile counts as known after this number of expected arrivals beyond it, or of intervals.
const (
	enoughBeyond  = 5
	mostIntervals = 10
)

// Next implements engine.Controller.
func (a *adaptive) Next(iv *measure.Interval) measure.Control {
	a.window.Add(&iv.Account)
	// The measurements of a stalled generator say little about the server.
	a.stalled = a.stalled || iv.Health.PausedNs > 0 || iv.Health.HeldNs > iv.DurationNs()/10 ||
		iv.Pace.IdleBacklogNs > 0
	value := a.value()
	waits := iv.Pace.SaturatedNs > 0 // react to an overload before the quantile is known
	if g := &a.plan.Goal; !waits && a.follow == nil && g.Aggregate == "p" && a.window.Intervals < mostIntervals {
		c := a.window.Totals()
		if float64(c.Arrivals())*(1-g.Quantile/100) < enoughBeyond {
			return a.decision(value)
		}
	}
	c := a.window.Totals()
	seconds := float64(max(a.window.LengthNs, 1)) / 1e9
	o := control.Observation{
		IntervalS: seconds, RatePerS: float64(a.window.Offered) / seconds, DonePerS: float64(c.OK()) / seconds,
		Value: value, Waiting: float64(iv.Backlog), Stalled: a.stalled,
	}
	if c.Done > 0 {
		o.Errors = float64(c.Failed()) / float64(c.Done)
	}
	a.last = a.control.Next(o)
	a.window, a.stalled = &measure.Account{}, false
	return a.decision(value)
}

func (a *adaptive) decision(value float64) measure.Control {
	d := measure.Control{RatePerS: a.last.RatePerS, Reason: string(a.last.Reason)}
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		d.Value = &value
	}
	return d
}

// value returns the figure of the window: that of the watched source, the share of arrivals beyond the quantile's
// limit, or the rule's own. It is NaN if unknown.
func (a *adaptive) value() float64 {
	if a.follow != nil {
		return a.follow.Value()
	}
	g := &a.plan.Goal
	if m := metric.Find(g.Metric); m.Times && g.Aggregate == "p" && !a.median {
		beyond, of := verdict.Beyond(g, a.operations, a.window)
		if of == 0 {
			return math.NaN()
		}
		return float64(beyond) / float64(of)
	}
	if c := a.window.Totals(); c.Arrivals() == 0 {
		return math.NaN()
	}
	return verdict.Evaluate(g, a.operations, a.window).Value
}
