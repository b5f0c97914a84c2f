package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
)

// Config contains the parts of a run that the caller provides.
type Config struct {
	Workload  *workload.Workload
	Fleet     Fleet // connected
	Collector *measure.Collector
	Clock     Clock
	Sinks     []measure.Sink        // receives each interval, in order
	SinkError func(error)           // receives errors of sinks; the load continues
	Health    func() measure.Health // the generator's state since the last call; may be nil
	// Check is called after each interval, with the outcome so far and the run's clock. It returns why the load must
	// stop, or "". It may be nil.
	Check func(total *measure.Account, nowNs int64) message.Message
	// Enough is called after each interval, which is valid during the call. It reports whether the current stage must end:
	// nothing more of it is sent, and what comes next begins. It may be nil.
	Enough func(iv *measure.Interval) bool
	Part   schedule.Part // this machine's operations
	// Control returns the controller of an adaptive phase. It is required if there is such a phase.
	Control func(p *plan.Phase) Controller
	// Follow, if not nil, takes the place of Control: another process decides.
	Follow Follow
	// Late is called after a phase with Follow if decisions came late: how many, and by how much at most. It may be nil.
	Late func(n int, most time.Duration)
}

// Controller decides the rate of an adaptive phase while it runs. It is used by one goroutine.
type Controller interface {
	// First returns the decision before anything is sent.
	First() measure.Control
	// Next returns the decision after an interval. The interval is valid during the call.
	Next(iv *measure.Interval) measure.Control
}

// Outcome describes how a run ended. The Collector holds the measurements.
type Outcome struct {
	Interrupted bool            // ctx ended before the plan
	Aborted     message.Message // why Check, or the cause of ctx, ended the run; zero if neither did
	Passed      uint64          // operations of the whole load, of every machine, up to where this one's ended
	// Unneeded is, with Part.Shared, how many operations were given to this machine that its closed stages didn't need.
	Unneeded uint64
}

// Next returns the phases that come next, or none if the load is over. sofar contains what was measured until now, by
// phase and in total, and is valid during the call. Adjoining open phases that are returned together share their
// backlog.
type Next func(sofar *measure.Tally) []plan.Phase

// Walk returns the Next of a load whose phases are known from the start.
func Walk(phases []plan.Phase) Next {
	return func(*measure.Tally) (all []plan.Phase) {
		all, phases = phases, nil
		return all
	}
}

// Stopped is the cause of a context that ends a load by itself, and not because a user interrupted it.
type Stopped struct{ Why message.Message }

// Error returns the reason.
func (s *Stopped) Error() string { return s.Why.String() }

// StoppedBy returns why a load ended itself; zero if ctx isn't done, or for another cause.
func StoppedBy(ctx context.Context) message.Message {
	if s, ok := errors.AsType[*Stopped](context.Cause(ctx)); ok {
		return s.Why
	}
	return message.Message{}
}

// Drive executes the phases that next returns, one after another. It returns when they are over, when ctx is done, or
// when a rule that aborts has failed. When ctx is done, nothing new is sent, and Drive waits for operations in flight
// until hard is closed. The outcome is complete in each case.
func Drive(ctx context.Context, hard <-chan struct{}, cfg Config, next Next) (*Outcome, error) {
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{cfg: cfg, cancel: cancel, out: &Outcome{}}
	interval := cfg.Workload.Plan.Settings.Interval
	if interval <= 0 {
		interval = time.Second
	}
	r.intervalNs = int64(interval)
	// The clock also ran while sessions connected, which is not part of the load.
	r.startNs = cfg.Clock.Now()
	cfg.Collector.Begin(r.startNs)

	err := r.drive(runCtx, hard, next)
	if why := StoppedBy(ctx); !why.IsZero() && r.out.Aborted.IsZero() {
		r.out.Aborted = why
	}
	r.out.Interrupted = ctx.Err() != nil && StoppedBy(ctx).IsZero()
	return r.out, err
}

// run is the state of a run.
type run struct {
	cfg        Config
	cancel     context.CancelFunc
	out        *Outcome
	intervalNs int64
	startNs    int64     // of the current interval
	offsetNs   int64     // of the next stage; see schedule.Stage
	stages     int       // that have begun
	adaptive   *adaptive // controls the current stage; nil if the stage is not adaptive
	endStage   context.CancelFunc
	health     *measure.Health // in the current interval; nil until it is sampled
}

// drive runs stages until there are no more, or ctx ends.
func (r *run) drive(ctx context.Context, hard <-chan struct{}, next Next) error {
	first := r.cfg.Workload.Plan.First
	defer func() { r.out.Passed = first - r.cfg.Workload.Plan.First }()
	for ctx.Err() == nil {
		stages := stagesOf(next(r.cfg.Collector.Tally()))
		if len(stages) == 0 {
			return nil
		}
		for _, phases := range stages {
			if ctx.Err() != nil {
				return nil
			}
			var err error
			if first, err = r.stage(ctx, hard, phases, first); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage runs one stage and ends its intervals. It returns the number of the next operation.
func (r *run) stage(ctx context.Context, hard <-chan struct{}, phases []plan.Phase, first uint64) (uint64, error) {
	ctx, r.endStage = context.WithCancel(ctx)
	defer r.endStage()
	start := r.cfg.Clock.Now()
	work, err := scheduled(phases, first, start, r.cfg)
	if err != nil {
		return first, err
	}
	// The time since the last stage (its record, the decision what comes next) belongs to no phase.
	r.startNs = start
	r.cfg.Collector.Begin(start)
	work.OffsetNs = r.offsetNs
	for i := range phases {
		r.offsetNs += int64(phases[i].Duration)
	}
	r.number(&phases[0], &work)
	if r.adaptive = nil; phases[0].Adaptive != nil && r.cfg.Follow != nil {
		r.adaptive = newLed(&phases[0], &work)
		defer r.follow(ctx, &phases[0])()
	} else if phases[0].Adaptive != nil {
		if r.adaptive, err = newAdaptive(&phases[0], &work, r.cfg.Control, r.intervalNs); err != nil {
			return first, err
		}
	}
	scheduleEnd := int64(0)
	if work.Shape != nil {
		scheduleEnd = start + work.Shape.LastsNs()
	}
	type ended struct {
		next uint64
		err  error
		atNs int64
	}
	done := make(chan ended, 1)
	pauses, lasts := phases[0].Kind == plan.Pause, scheduleEnd
	if pauses {
		lasts = start + int64(phases[0].Duration)
	}
	var answered atomic.Bool // all of the stage
	go func() {
		e := ended{next: first}
		if !pauses {
			e.next, e.err = r.cfg.Fleet.Run(ctx, hard, work)
		}
		e.atNs = r.cfg.Clock.Now()
		answered.Store(true)
		// A schedule lasts for its full length, even if its last arrival was answered before its end, and not for longer
		// because this process gets no core at that moment.
		if protocol.Sleep(ctx, time.Duration(lasts-r.cfg.Clock.Now())); ctx.Err() == nil {
			e.atNs = max(e.atNs, lasts)
		} else {
			e.atNs = r.cfg.Clock.Now()
		}
		done <- e
	}()
	c := newCutter(r, phases, start, scheduleEnd)
	timer := time.NewTimer(c.wait())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			now := r.cfg.Clock.Now()
			if answered.Load() && lasts > 0 && now >= lasts {
				continue // done ends the stage
			}
			c.cut(now)
			timer.Reset(c.wait())
		case e := <-done:
			c.finish(e.atNs)
			if work.Numbers != nil && e.err == nil {
				e.next = r.endNumbers(ctx, &work)
			}
			return e.next, e.err
		}
	}
}

// number has a closed stage take its operations as they are given to this machine, if they are.
func (r *run) number(p *plan.Phase, work *schedule.Stage) {
	shared, s := r.cfg.Part.Shared, &r.cfg.Workload.Plan.Settings
	r.stages++
	if shared == nil {
		return
	}
	if work.SessionsOfAll = p.SessionsOfAll; p.SessionsOfAll == 0 {
		work.SessionsOfAll = s.SessionsOfAll
	}
	if p.Kind != plan.Closed {
		return
	}
	sessions := work.ActiveSessions()
	work.Numbers = shared.Begin(r.stages-1, work.First-r.cfg.Workload.Plan.First, work.Operations, sessions)
}

// endNumbers ends a stage with Numbers, and returns the number of the operation that follows it on all machines.
func (r *run) endNumbers(ctx context.Context, work *schedule.Stage) uint64 {
	if work.Operations > 0 && work.DurationNs == 0 && work.Numbers.Over() {
		return work.First + work.Operations
	}
	ends, unneeded, ok := work.Numbers.End(ctx)
	r.out.Unneeded += unneeded
	if !ok { // the load has ended
		return work.First
	}
	return work.First + ends
}

// follow makes the current stage's schedule follow a Leader until the returned function is called.
func (r *run) follow(ctx context.Context, p *plan.Phase) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done, a := make(chan struct{}), r.adaptive
	go func() {
		defer close(done)
		a.follow(ctx, p, r.cfg.Follow, r.cfg.Clock.Now)
	}()
	return func() {
		cancel()
		<-done
		if a.led.late > 0 && r.cfg.Late != nil {
			r.cfg.Late(a.led.late, time.Duration(a.led.mostNs))
		}
	}
}

// lookAtHealth samples the generator's state once per interval, and reports whether the generator stood still in the
// current one.
func (r *run) lookAtHealth() (stoodStill bool) {
	if r.health == nil {
		r.health = &measure.Health{}
		if r.cfg.Health != nil {
			*r.health = r.cfg.Health()
		}
	}
	return r.health.PausedNs > 0
}

// cutInterval ends the current interval, which belongs to p, passes it to the sinks, and checks whether the load must
// stop.
func (r *run) cutInterval(endNs int64, p *plan.Phase, meta measure.Meta) {
	meta.Phase, meta.Kind, meta.WarmUp = p.Name, string(p.Kind), p.WarmUp
	meta.UnixNs = r.cfg.Clock.Unix(r.startNs)
	r.lookAtHealth()
	meta.Health, r.health = *r.health, nil
	meta.Control = r.adaptive.inForce(r.startNs, endNs)
	iv := r.cfg.Collector.Cut(endNs, meta)
	r.adaptive.next(iv)
	r.startNs = endNs
	for _, s := range r.cfg.Sinks {
		if err := s.Interval(iv); err != nil && r.cfg.SinkError != nil {
			r.cfg.SinkError(err)
		}
	}
	if r.cfg.Enough != nil && r.cfg.Enough(iv) {
		r.endStage()
	}
	if r.out.Aborted.IsZero() && r.cfg.Check != nil {
		if why := r.cfg.Check(r.cfg.Collector.Total(), endNs); !why.IsZero() {
			r.out.Aborted = why
			r.cancel()
		}
	}
}
