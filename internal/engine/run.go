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

// Run carries out the phases of the workload's plan. It returns when they are over, ctx is done
// (nothing new is then sent; what is in flight is waited for until hard is closed), or a rule
// that aborts has failed. The outcome is complete in each case.
func Run(ctx context.Context, hard <-chan struct{}, cfg Config) (*Outcome, error) {
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

	var err error
	first := uint64(0)
	for _, st := range stagesOf(cfg.Workload.Plan.Load) {
		if runCtx.Err() != nil {
			break
		}
		if first, err = r.stage(runCtx, hard, st, first); err != nil {
			break
		}
	}
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
