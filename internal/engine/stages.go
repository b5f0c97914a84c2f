package engine

import (
	"time"

	"brunt/internal/plan"
	"brunt/internal/schedule"
)

// stage is a piece of the load that a fleet runs in one go: adjoining open phases form one, so
// that a backlog lives on from phase to phase as it would for users.
type stage struct {
	phases     []plan.Phase
	closed     bool
	pause      bool
	segments   []schedule.Segment
	process    schedule.Process
	sessions   int
	operations uint64
	durationNs int64
}

// stagesOf groups phases into stages.
func stagesOf(phases []plan.Phase) []stage {
	var out []stage
	for _, p := range phases {
		process := schedule.Uniform
		if p.Arrivals == "poisson" {
			process = schedule.Poisson
		}
		segment := schedule.Segment{DurationNs: int64(p.Duration), RateFrom: p.RateFrom, RateTo: p.RateTo}
		if p.Kind == plan.Open && len(out) > 0 {
			last := &out[len(out)-1]
			if !last.closed && !last.pause && last.process == process && last.operations == 0 && p.Operations == 0 {
				last.phases = append(last.phases, p)
				last.segments = append(last.segments, segment)
				continue
			}
		}
		s := stage{
			phases: []plan.Phase{p}, process: process,
			closed: p.Kind == plan.Closed, pause: p.Kind == plan.Pause,
			sessions: p.Sessions, operations: p.Operations, durationNs: int64(p.Duration),
		}
		if p.Kind == plan.Open {
			s.segments = []schedule.Segment{segment}
		}
		out = append(out, s)
	}
	return out
}

// cutter knows when the intervals of a stage end: at whole intervals of the run's clock, and
// where phases meet.
type cutter struct {
	run   *run
	stage stage
	phase int   // index of the phase under way
	end   int64 // when it ends; 0 if only the fleet knows
}

func newCutter(r *run, st stage, start int64) *cutter {
	c := &cutter{run: r, stage: st, phase: -1, end: start}
	c.enter()
	return c
}

// enter begins the next phase.
func (c *cutter) enter() {
	c.phase++
	p := c.stage.phases[c.phase]
	begin := c.end
	c.end = 0
	if p.Kind == plan.Open {
		c.end = begin + int64(p.Duration)
	}
}

// boundary is when the interval under way ends.
func (c *cutter) boundary() int64 {
	n := c.run.intervalNs
	next := (c.run.startNs/n + 1) * n
	if c.ends() && c.end < next {
		return c.end
	}
	return next
}

// ends reports whether the phase ends by the clock with another one after it.
func (c *cutter) ends() bool { return c.end > 0 && c.phase+1 < len(c.stage.phases) }

// wait is how long until the boundary.
func (c *cutter) wait() time.Duration {
	return time.Duration(max(c.boundary()-c.run.cfg.Clock.Now(), 0))
}

// settling is how long an interval in which the generator stood still goes on, so that what fell due
// meanwhile and is now sent late, or given up, ends in it and not in the next.
const settling = 100 * time.Millisecond

// cut ends the interval at its boundary, now being at or after it.
func (c *cutter) cut(now int64) {
	at := c.boundary()
	if now < at {
		return
	}
	if c.run.lookAtHealth() {
		time.Sleep(settling)
		at = c.run.cfg.Clock.Now()
	} else if late := now - at; late > c.run.intervalNs/10 {
		at = now
	}
	c.run.cutInterval(at, c.current(), false)
	for c.ends() && c.end <= at {
		c.enter()
	}
}

// finish ends the stage's last interval.
func (c *cutter) finish(now int64) {
	for c.ends() && c.end <= now {
		if c.end > c.run.startNs {
			c.run.cutInterval(c.end, c.current(), false)
		}
		c.enter()
	}
	c.run.cutInterval(max(now, c.run.startNs+1), c.current(), true)
}

func (c *cutter) current() *plan.Phase { return &c.stage.phases[c.phase] }
