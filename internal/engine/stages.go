package engine

import (
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
)

// stagesOf groups phases into stages. Adjoining open phases form one stage, so that a backlog continues from one phase
// to the next, as it would for users.
func stagesOf(phases []plan.Phase) (out [][]plan.Phase) {
	for _, p := range phases {
		if n := len(out); n > 0 && goesOn(&out[n-1][0], &p) {
			out[n-1] = append(out[n-1], p)
		} else {
			out = append(out, []plan.Phase{p})
		}
	}
	return out
}

// goesOn reports whether phase p belongs to the stage that begins with first.
func goesOn(first, p *plan.Phase) bool {
	return first.Kind == plan.Open && p.Kind == plan.Open && processOf(first) == processOf(p) && first.Operations == 0 &&
		p.Operations == 0 && first.Adaptive == nil && p.Adaptive == nil
}

func processOf(p *plan.Phase) schedule.Process {
	if p.Arrivals == "poisson" {
		return schedule.Poisson
	}
	return schedule.Uniform
}

// scheduled returns the stage that consists of the given phases.
func scheduled(phases []plan.Phase, first uint64, start int64, cfg Config) (schedule.Stage, error) {
	p := &phases[0]
	left, limited := p.Operations, p.Operations > 0
	if total := cfg.Workload.Total; total > 0 {
		if rest := total - min(first, total); !limited || left > rest {
			left, limited = rest, true
		}
	}
	s := schedule.Stage{
		First: first, StartNs: start, Part: cfg.Part, Process: processOf(p), Seed: cfg.Workload.Plan.Seed +
			cfg.Workload.Plan.First,
		Sessions: p.Sessions,
	}
	if p.Kind != plan.Open {
		s.Operations, s.DurationNs = left, int64(p.Duration)
		return s, nil
	}
	var segments []schedule.Segment
	var exact []schedule.Exact
	end := start
	for i, p := range phases {
		if end += int64(p.Duration); i < len(phases)-1 {
			s.PhaseEnds = append(s.PhaseEnds, end)
		}
		segment, counted := p.Segment()
		segments, exact = append(segments, segment), append(exact, counted)
	}
	var err error
	s.Shape, err = schedule.NewExactShape(segments, exact, left)
	return s, err
}

// cutter computes when the intervals of a stage end: at multiples of the interval's length after the beginning of their
// phase, where phases meet, and where the schedule ends.
type cutter struct {
	run         *run
	phases      []plan.Phase // of the stage
	phase       int          // index of the current phase
	begin       int64        // when it began
	end         int64        // when the phase's schedule ends; 0 if only the fleet knows
	scheduleEnd int64        // when the stage's schedule ends; 0 if it has none
	drain       bool         // the schedule has ended
}

// newCutter returns the cutter of a stage that begins at start. Its schedule, if it has one, ends at scheduleEnd.
func newCutter(r *run, phases []plan.Phase, start, scheduleEnd int64) *cutter {
	c := &cutter{run: r, phases: phases, phase: -1, end: start, scheduleEnd: scheduleEnd}
	c.enter()
	return c
}

// enter begins the next phase.
func (c *cutter) enter() {
	c.phase++
	p := c.phases[c.phase]
	c.begin, c.end = c.end, 0
	if p.Kind == plan.Open {
		c.end = min(c.begin+int64(p.Duration), c.scheduleEnd)
	}
}

// boundary returns when the current interval ends, and whether the phase's schedule ends with it.
func (c *cutter) boundary() (at int64, schedule bool) {
	n := c.run.intervalNs
	next := c.begin + (max(c.run.startNs-c.begin, 0)/n+1)*n
	if c.end > 0 && !c.drain && c.end <= next {
		return c.end, true
	}
	return next, false
}

// more reports whether the phase ends by the clock and another phase follows.
func (c *cutter) more() bool { return c.end > 0 && c.phase+1 < len(c.phases) }

// grace is how long after the end of the last schedule its interval ends, so that operations that are answered at once
// are still part of the interval.
const grace = 5 * time.Millisecond

// wait returns the time until the interval is cut. Where phases meet, this is later than the boundary, so that answers
// to arrivals of the phase before are counted in it: those that come within half an interval, or a quarter of the next
// phase if that is shorter.
func (c *cutter) wait() time.Duration {
	at, schedule := c.boundary()
	switch {
	case schedule && c.more():
		at += min(c.run.intervalNs/2, int64(c.phases[c.phase+1].Duration)/4)
	case schedule:
		at += int64(grace)
	}
	return time.Duration(max(at-c.run.cfg.Clock.Now(), 0))
}

// settling is how long an interval is extended if the generator stood still in it, so that arrivals that fell due
// during the stall, and are now sent late or given up, belong to this interval and not to the next one.
const settling = 100 * time.Millisecond

// cut ends the interval at its boundary. now must not be before the boundary.
func (c *cutter) cut(now int64) {
	at, schedule := c.boundary()
	if now < at {
		return
	}
	if schedule && c.more() {
		// The arrivals of the next phase are kept apart, so that it begins when it was meant to, however late this is.
	} else if c.run.lookAtHealth() {
		time.Sleep(settling)
		at = c.run.cfg.Clock.Now()
	} else if late := now - at; late > c.run.intervalNs/10+int64(grace) {
		at = now
	}
	c.run.cutInterval(at, c.current(), measure.Meta{ScheduleEnd: schedule && !c.more(), Drain: c.drain})
	for c.more() && c.end <= at {
		c.enter()
	}
	c.drain = c.drain || schedule && !c.more() && c.end <= at
}

// finish ends the stage's last interval.
func (c *cutter) finish(now int64) {
	for c.more() && c.end <= now {
		if c.end > c.run.startNs {
			c.run.cutInterval(c.end, c.current(), measure.Meta{})
		}
		c.enter()
	}
	c.run.cutInterval(max(now, c.run.startNs+1), c.current(), measure.Meta{Idle: true, Drain: c.drain})
}

func (c *cutter) current() *plan.Phase { return &c.phases[c.phase] }
