package engine

import (
	"context"
	"sync"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
)

// Decided is one piece of an adaptive phase's schedule. Its rate applies from the end of the previous piece, or from
// the phase's beginning, until UntilNs.
type Decided struct {
	Phase   string
	UntilNs int64 // after the phase's beginning
	Control measure.Control
	// State is that of the phase's Keeper after the decision; nil if its controller is none. See Leader.Resume.
	State []byte
}

// Keeper is a Controller whose state can be stored, so that another process continues with its decisions.
type Keeper interface {
	Controller
	// State returns the state after the last decision.
	State() []byte
	// Restore continues from a state in place of First.
	Restore(state []byte) error
}

// Paused is the reason of a piece without arrivals: no process decided the rate in its time.
const Paused = "paused"

// Leader decides the rates of adaptive phases for processes that send one load together. All of them append the same
// pieces to their schedules, so arrival i is the same in every process. Each piece is decided one interval before it
// begins, so that it reaches every process in time, and lasts two intervals. The controller sees only the first of
// these, because the next piece is being distributed during the second. A Leader must be used by one goroutine only.
type Leader struct {
	phases     []plan.Phase
	intervalNs int64
	control    func(*plan.Phase) Controller
	tell       func(Decided)
	reaches    map[string]int64 // end of the last piece, by phase

	phase      *plan.Phase // under way
	controller Controller
	beganNs    int64 // when it began

	now     func() int64       // the run's clock, after Resume
	resumed map[string]Decided // the last decision about each phase before Resume; removed when the phase goes on
}

// NewLeader returns the leader of a load. control returns the controller of an adaptive phase. tell is called with each
// decision.
func NewLeader(phases []plan.Phase, interval time.Duration, control func(*plan.Phase) Controller,
	tell func(Decided)) *Leader {
	return &Leader{phases: phases, intervalNs: int64(interval), control: control, tell: tell,
		reaches: map[string]int64{}}
}

// Begin announces the first piece of each adaptive phase. It is called before the load.
func (l *Leader) Begin() {
	for i := range l.phases {
		if p := &l.phases[i]; p.Adaptive != nil {
			c := l.control(p)
			l.decide(p, c, c.First())
		}
	}
}

// Resume continues with the decisions of another Leader that ended during the load, in place of Begin. now is the run's
// clock. Interval must then receive all intervals from the load's beginning. Processes send nothing in a phase whose
// last piece has ended: the phase goes on a few intervals from now, at the rate of its last decision.
func (l *Leader) Resume(all []Decided, now func() int64) {
	l.now, l.resumed = now, map[string]Decided{}
	for _, d := range all {
		l.resumed[d.Phase] = d
		l.reaches[d.Phase] = max(l.reaches[d.Phase], d.UntilNs)
	}
}

// decide announces a phase's next piece.
func (l *Leader) decide(p *plan.Phase, by Controller, c measure.Control) {
	until := l.reaches[p.Name] + 2*l.intervalNs
	l.reaches[p.Name] = until
	var state []byte
	if k, ok := by.(Keeper); ok {
		state = k.State()
	}
	l.tell(Decided{p.Name, until, c, state})
}

// resumeAfterNs is how much later than now a phase goes on after Resume, in addition to two intervals: processes must
// have found this one again by then.
const resumeAfterNs = int64(500 * time.Millisecond)

// paused announces, for a phase whose last piece ended before a Leader resumed, a piece without arrivals up to now, and
// one at the last rate. It returns false if the phase's pieces are in time.
func (l *Leader) paused() bool {
	name := l.phase.Name
	last, there := l.resumed[name]
	delete(l.resumed, name)
	if !there {
		return false
	}
	at := l.now() - l.beganNs
	if at < l.reaches[name]-l.intervalNs/2 {
		return false
	}
	intervals := (at + resumeAfterNs + 3*l.intervalNs - 1) / l.intervalNs // whole ones, so that none is paused in part
	l.reaches[name] = intervals * l.intervalNs
	l.tell(Decided{name, l.reaches[name], measure.Control{Reason: Paused}, last.State})
	if l.reaches[name] < int64(l.phase.Duration) {
		l.decide(l.phase, l.controller, last.Control)
	}
	return true
}

// Interval implements measure.Sink. It receives the intervals of all processes together.
func (l *Leader) Interval(iv *measure.Interval) error {
	if l.phase == nil || l.phase.Name != iv.Phase {
		l.enter(iv)
	}
	if l.phase.Adaptive == nil || iv.Drain || l.reaches[iv.Phase] >= int64(l.phase.Duration) {
		return nil
	}
	// The next piece is decided when the interval ends one interval before the last piece does. The interval may end
	// later if it was cut late, so compare with a margin.
	if iv.EndNs-l.beganNs+l.intervalNs+l.intervalNs/4 >= l.reaches[iv.Phase] && !l.paused() {
		l.decide(l.phase, l.controller, l.controller.Next(iv))
	}
	return nil
}

// enter begins an interval's phase.
func (l *Leader) enter(iv *measure.Interval) {
	l.phase, l.controller, l.beganNs = &plan.Phase{Name: iv.Phase}, nil, iv.StartNs
	for i := range l.phases {
		if p := &l.phases[i]; p.Name == iv.Phase && p.Adaptive != nil {
			l.phase, l.controller = p, l.control(p)
			if k, ok := l.controller.(Keeper); !ok || l.resumed[iv.Phase].State == nil ||
				k.Restore(l.resumed[iv.Phase].State) != nil {
				l.controller.First()
			}
		}
	}
}

// Follow calls extend with the pieces of a phase that a Leader decides, in order, until they reach the phase's end or
// ctx ends. It returns early if there will be no more pieces.
type Follow func(ctx context.Context, phase *plan.Phase, extend func(Decided))

// led is the schedule of a phase whose rates a Leader decides. Its methods are safe for concurrent use.
type led struct {
	mu     sync.Mutex
	pieces []Decided
	late   int   // pieces that arrived after the end of the previous piece
	mostNs int64 // the largest such delay
}

// at returns the decision that applies at a time after the phase's beginning, or nil if there is none.
func (l *led) at(ns int64) *measure.Control {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.pieces {
		if ns < l.pieces[i].UntilNs {
			c := l.pieces[i].Control
			if c.Reason == Paused {
				return nil
			}
			return &c
		}
	}
	return nil
}

// follow extends a schedule by the pieces that arrive. When it returns, the schedule is complete: time without a
// decision has no arrivals.
func (a *adaptive) follow(ctx context.Context, p *plan.Phase, follow Follow, now func() int64) {
	follow(ctx, p, func(d Decided) {
		a.led.mu.Lock()
		defer a.led.mu.Unlock()
		if late := now() - a.startNs - a.shape.ReachesNs(); late > 0 && len(a.led.pieces) > 0 && d.Control.Reason != Paused {
			a.led.late++
			a.led.mostNs = max(a.led.mostNs, late)
		}
		a.led.pieces = append(a.led.pieces, d)
		_ = a.shape.Extend(d.UntilNs, d.Control.RatePerS) // the rate is within the plan's limits, so Extend can't fail
	})
	_ = a.shape.Extend(int64(p.Duration), 0)
}
