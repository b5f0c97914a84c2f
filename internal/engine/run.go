// Package engine carries out the load of a plan: stage after stage, interval after interval, on a Fleet of
// sessions. There are two kinds of fleet. Package loop drives codecs by event loops; package pool drives
// client libraries, or anything that blocks, by a goroutine a session. Both leave the same samples.
package engine

import (
	"context"
	"time"

	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/schedule"
	"brunt/internal/workload"
)

// Config is what a run needs from outside.
type Config struct {
	Workload  *workload.Workload
	Fleet     Fleet // connected
	Collector *measure.Collector
	Clock     Clock
	Sinks     []measure.Sink        // receives each interval, in order
	SinkError func(error)           // receives what a sink returned; the load goes on
	Health    func() measure.Health // the generator's state since the last call; may be nil
	// Check is asked after each interval, outcome so far and run's clock given, whether the load must stop:
	// it returns why, or "". It may be nil.
	Check func(total *measure.Account, nowNs int64) message.Message
	Part  schedule.Part // this machine's operations
	// Control returns what controls an adaptive phase. It is needed if there is one.
	Control func(p *plan.Phase) Controller
}

// Controller decides the rate of an adaptive phase while it runs. It is used by one goroutine.
type Controller interface {
	// First is the decision before anything is sent.
	First() measure.Control
	// Next is the decision after an interval, which is valid during the call.
	Next(iv *measure.Interval) measure.Control
}

// Outcome is how a run ended; what happened is the Collector's to say.
type Outcome struct {
	Interrupted bool            // ctx ended before the plan did
	Aborted     message.Message // why Check ended it, if it did
}

// Next says which phases come next, none if the load is over. sofar is what happened until now, by
// phase and in all, valid during the call. Open phases that are named together and adjoin share
// their backlog.
type Next func(sofar *measure.Tally) []plan.Phase

// Walk is the Next of a load that is fixed from the start.
func Walk(phases []plan.Phase) Next {
	return func(*measure.Tally) (all []plan.Phase) {
		all, phases = phases, nil
		return all
	}
}

// Drive carries out the phases that next names, one after the other. It returns when they are over,
// ctx is done (nothing new is then sent; what is in flight is waited for until hard is closed), or a
// rule that aborts has failed. The outcome is complete in each case.
func Drive(ctx context.Context, hard <-chan struct{}, cfg Config, next Next) (*Outcome, error) {
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{cfg: cfg, cancel: cancel, out: &Outcome{}}
	interval := cfg.Workload.Plan.Settings.Interval
	if interval <= 0 {
		interval = time.Second
	}
	r.intervalNs = int64(interval)
	// The clock also ran while sessions connected, which is no part of the load.
	r.startNs = cfg.Clock.Now()
	cfg.Collector.Begin(r.startNs)

	err := r.drive(runCtx, hard, next)
	r.out.Interrupted = ctx.Err() != nil
	return r.out, err
}

// run is a run under way.
type run struct {
	cfg        Config
	cancel     context.CancelFunc
	out        *Outcome
	intervalNs int64
	startNs    int64           // of the interval under way
	adaptive   *adaptive       // what controls the stage under way; nil if nothing does
	health     *measure.Health // in it; nil until it is looked at
}

// drive runs stages until there are no more, or ctx ends.
func (r *run) drive(ctx context.Context, hard <-chan struct{}, next Next) error {
	first := r.cfg.Workload.Plan.First
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

// stage runs the stage of some phases while cutting intervals, and returns the next operation's number.
func (r *run) stage(ctx context.Context, hard <-chan struct{}, phases []plan.Phase, first uint64) (uint64, error) {
	start := r.cfg.Clock.Now()
	work, err := scheduled(phases, first, start, r.cfg)
	if err != nil {
		return first, err
	}
	if r.adaptive = nil; phases[0].Adaptive != nil {
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
	}
	done := make(chan ended, 1)
	go func() {
		if phases[0].Kind == plan.Pause {
			protocol.Sleep(ctx, time.Duration(phases[0].Duration))
			done <- ended{first, nil}
			return
		}
		next, err := r.cfg.Fleet.Run(ctx, hard, work)
		if scheduleEnd > 0 {
			// A schedule lasts as long as it says, though its last arrival was answered before.
			protocol.Sleep(ctx, time.Duration(scheduleEnd-r.cfg.Clock.Now()))
		}
		done <- ended{next, err}
	}()
	c := newCutter(r, phases, start, scheduleEnd)
	timer := time.NewTimer(c.wait())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			c.cut(r.cfg.Clock.Now())
			timer.Reset(c.wait())
		case e := <-done:
			c.finish(r.cfg.Clock.Now())
			return e.next, e.err
		}
	}
}

// lookAtHealth samples the generator's state for the interval under way, once, and reports whether
// the generator stood still in it.
func (r *run) lookAtHealth() (stoodStill bool) {
	if r.health == nil {
		r.health = &measure.Health{}
		if r.cfg.Health != nil {
			*r.health = r.cfg.Health()
		}
	}
	return r.health.PausedNs > 0
}

// cutInterval ends the interval under way, which belongs to p, tells the sinks and checks whether the
// load must stop.
func (r *run) cutInterval(endNs int64, p *plan.Phase, meta measure.Meta) {
	meta.Phase, meta.Kind, meta.WarmUp = p.Name, string(p.Kind), p.WarmUp
	meta.UnixNs = r.cfg.Clock.Unix(r.startNs)
	r.lookAtHealth()
	meta.Health, r.health = *r.health, nil
	meta.Control = r.adaptive.inForce()
	iv := r.cfg.Collector.Cut(endNs, meta)
	r.adaptive.next(iv)
	r.startNs = endNs
	for _, s := range r.cfg.Sinks {
		if err := s.Interval(iv); err != nil && r.cfg.SinkError != nil {
			r.cfg.SinkError(err)
		}
	}
	if r.out.Aborted.IsZero() && r.cfg.Check != nil {
		if why := r.cfg.Check(r.cfg.Collector.Total(), endNs); !why.IsZero() {
			r.out.Aborted = why
			r.cancel()
		}
	}
}
