package engine

import (
	"context"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/schedule"
	"brunt/internal/tier"
	"brunt/internal/workload"
)

// Config is what a run needs from outside.
type Config struct {
	Workload  *workload.Workload
	Fleet     tier.Fleet // connected
	Collector *measure.Collector
	Clock     tier.Clock
	Sinks     []measure.Sink        // told of each interval, in order
	SinkError func(error)           // told of what a sink returned; the load goes on
	Health    func() measure.Health // the generator's state since the last call; may be nil
	Stride    uint64                // this machine's part of the operations: see schedule.Stage
	Offset    uint64
}

// Outcome is what a run came to. All times are on the run's clock.
type Outcome struct {
	Total       *measure.Interval // all intervals that aren't warm-up
	DurationNs  int64             // of the phases that aren't warm-up or pauses
	Interrupted bool              // ctx ended before the plan did
	Aborted     string            // the rule that ended the run early, or ""
	Thresholds  []ThresholdOutcome
}

// Next says which phases come next, none if the load is over. sofar is what happened until now, valid
// during the call; nil before the first phase. Open phases that are named together and adjoin share
// their backlog.
type Next func(sofar *measure.Interval) []plan.Phase

// Walk is the Next of a load that is fixed from the start.
func Walk(phases []plan.Phase) Next {
	return func(*measure.Interval) (all []plan.Phase) {
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
	r.rules = newRules(cfg.Workload)
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
	r.out.Total = cfg.Collector.Total()
	r.out.Thresholds = r.rules.final(r.out.Total, r.out.DurationNs)
	return r.out, err
}

// run is a run under way.
type run struct {
	cfg        Config
	cancel     context.CancelFunc
	out        *Outcome
	rules      *rules
	intervalNs int64
	startNs    int64           // of the interval under way
	health     *measure.Health // in it; nil until it is looked at
}

// drive runs stages until there are no more, or ctx ends.
func (r *run) drive(ctx context.Context, hard <-chan struct{}, next Next) error {
	first, sofar := uint64(0), (*measure.Interval)(nil)
	for ctx.Err() == nil {
		stages := stagesOf(next(sofar))
		if len(stages) == 0 {
			return nil
		}
		for _, st := range stages {
			if ctx.Err() != nil {
				return nil
			}
			var err error
			if first, err = r.stage(ctx, hard, st, first); err != nil {
				return err
			}
		}
		sofar = r.cfg.Collector.Total()
	}
	return nil
}

// stage runs one stage while cutting intervals, and returns the next operation's number.
func (r *run) stage(ctx context.Context, hard <-chan struct{}, st stage, first uint64) (uint64, error) {
	start := r.cfg.Clock.Now()
	work, err := st.schedule(first, start, r.cfg)
	if err != nil {
		return first, err
	}
	type ended struct {
		next uint64
		err  error
	}
	done := make(chan ended, 1)
	go func() {
		if st.pause {
			sleep(ctx, time.Duration(st.durationNs))
			done <- ended{first, nil}
			return
		}
		next, err := r.cfg.Fleet.Run(ctx, hard, work)
		done <- ended{next, err}
	}()
	c := newCutter(r, st, start)
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

// cutInterval ends the interval under way, which belongs to p, tells the sinks and checks the rules.
// idle says that everything begun has finished.
func (r *run) cutInterval(endNs int64, p *plan.Phase, idle bool) {
	meta := measure.Meta{
		Phase:  p.Name,
		WarmUp: p.WarmUp,
		Idle:   idle,
		UnixNs: r.cfg.Clock.Unix(r.startNs),
	}
	r.lookAtHealth()
	meta.Health, r.health = *r.health, nil
	iv := r.cfg.Collector.Cut(endNs, meta)
	if !p.WarmUp && p.Kind != plan.Pause {
		r.out.DurationNs += endNs - r.startNs
	}
	r.startNs = endNs
	for _, s := range r.cfg.Sinks {
		if err := s.Interval(iv); err != nil && r.cfg.SinkError != nil {
			r.cfg.SinkError(err)
		}
	}
	if r.out.Aborted == "" {
		if why := r.rules.check(r.cfg.Collector.Total(), r.out.DurationNs, endNs); why != "" {
			r.out.Aborted = why
			r.cancel()
		}
	}
}

// schedule turns the stage into what a fleet runs.
func (s *stage) schedule(first uint64, start int64, cfg Config) (schedule.Stage, error) {
	work := schedule.Stage{
		First: first, StartNs: start, Stride: cfg.Stride, Offset: cfg.Offset,
		Process: s.process, Seed: cfg.Workload.Plan.Seed,
		Sessions: s.sessions, Operations: s.operations, DurationNs: s.durationNs,
	}
	if s.closed || s.pause {
		if s.closed && cfg.Workload.Total > 0 {
			left := cfg.Workload.Total - min(first, cfg.Workload.Total)
			if work.Operations == 0 || work.Operations > left {
				work.Operations = left
			}
		}
		return work, nil
	}
	limit := s.operations
	if total := cfg.Workload.Total; total > 0 {
		if left := total - min(first, total); limit == 0 || limit > left {
			limit = left
		}
	}
	shape, err := schedule.NewShape(s.segments, limit)
	work.Shape, work.DurationNs, work.Operations = shape, 0, 0
	return work, err
}
