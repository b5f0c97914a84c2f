package control

import (
	"math"
	"slices"

	"brunt/internal/stats"
)

// pi is a proportional-integral controller in velocity form (Åström and Hägglund 1995, 3.5). It changes the logarithm
// of the rate according to the error, which is the distance of the figure from its goal as a share of the goal. In this
// form a limited output causes no integral windup. The gain falls while the figure oscillates around its goal, and
// recovers while it stays on one side.
type pi struct {
	goal   float64
	gain   float64
	last   float64 // previous error; 0 at first
	same   int     // number of consecutive errors with the same sign
	stepUp float64 // the largest increase of the logarithm of the rate at once
}

func newPI(goal float64) *pi { return &pi{goal: goal, gain: 1, stepUp: mostUp} }

const (
	proportional = 0.05
	integral     = 0.15
	mostUp       = 0.35 // largest increase of the logarithm of the rate before the first overload
	leastUp      = 0.05
	mostDown     = 0.2
	mostBeyond   = -10.0 // limit on the error, as a share of the goal
	atGoal       = 0.05  // errors below this count as at the goal
	leastGain    = 1.0 / 16
)

func (p *pi) next(ratePerS, value, _, ceilingPerS float64) (float64, Reason) {
	e := mostBeyond
	if p.goal > 0 && !math.IsInf(value, 1) {
		e = max(1-value/p.goal, mostBeyond)
	}
	switch {
	case e*p.last < 0:
		p.gain, p.same = max(p.gain*0.7, leastGain), 0
	case e*p.last > 0:
		if p.same++; p.same >= 4 {
			p.gain = min(p.gain*1.2, 2)
			p.stepUp = min(p.stepUp*1.2, mostUp)
		}
	}
	step := p.gain * (proportional*(e-p.last) + integral*e)
	p.last = e
	rate := ratePerS * math.Exp(min(max(step, -mostDown), p.stepUp))
	if rate > ratePerS {
		rate = max(ratePerS, min(rate, ceilingPerS))
	}
	switch {
	case math.Abs(e) < atGoal:
		return rate, Hold
	case e > 0:
		return rate, Raise
	}
	return rate, Lower
}

func (p *pi) overloaded(float64, float64) {
	p.gain = max(p.gain*0.7, leastGain)
	p.stepUp = max(p.stepUp/3, leastUp)
	p.last, p.same = 0, 0
}

// aimd raises the rate while the figure is below its limit, and lowers it by a share when it isn't. The rate returns
// along a cubic curve: fast until near the rate that was too high, flat around it, and fast again if the server
// sustains it (Ha, Rhee and Xu 2008, CUBIC).
type aimd struct {
	spec   *Spec
	tooFar float64 // last rate that was too high; 0 if there was none
	from   float64 // rate at which the load continued
	sinceS float64
	error  float64 // smoothed distance of the figure from its limit, as a share of the limit
}

const (
	slowStart    = 1.25
	decrease     = 0.985
	plateauS     = 8.0  // time until the rate is back at the one that was too high
	probeByShare = 0.03 // how far above that rate it is after twice the time
)

func (a *aimd) next(ratePerS, value, intervalS, _ float64) (float64, Reason) {
	// A single interval slightly beyond the limit may be chance.
	a.error = 0.5*a.error + 0.5*(1-value/a.spec.Goal)
	switch {
	case a.error < 0:
		a.overloaded(ratePerS, ratePerS*decrease)
		return a.from, Lower
	case a.tooFar == 0:
		return ratePerS * slowStart, Raise
	}
	a.sinceS += intervalS
	x := a.sinceS/plateauS - 1
	rise := a.tooFar - a.from
	switch {
	case x >= 1.5: // far above the old limit nothing is known
		a.tooFar = 0
		return ratePerS, Raise
	case x > 0:
		rise = probeByShare * a.tooFar
	}
	return max(ratePerS, a.tooFar+rise*x*x*x), Raise
}

func (a *aimd) overloaded(tooMuchPerS, goesOnPerS float64) {
	a.tooFar, a.from, a.sinceS, a.error = tooMuchPerS, goesOnPerS, 0, 0
}

// gradient keeps response times at a multiple of those without load. It measures the latter repeatedly, at half the
// rate, as BBR does (Cardwell et al. 2016): otherwise a server that became slower can't be distinguished from one under
// load.
type gradient struct {
	spec   *Spec
	pi     *pi
	floors []float64 // latest measurements of the response time without load
	sinceS float64   // since the last measurement
	before float64   // rate before the measurement in progress; 0 if there is none
}

const (
	baselineS    = 20.0 // time between two measurements
	baselineAt   = 0.5  // share of the rate at which they are taken
	mostBaseline = 3    // number of measurements that count
)

func (g *gradient) next(ratePerS, value, intervalS, ceilingPerS float64) (float64, Reason) {
	g.sinceS += intervalS
	switch {
	case g.before > 0:
		rate := g.before
		g.measured(value)
		g.sinceS, g.before = 0, 0
		return rate, Resume
	case len(g.floors) == 0 || g.sinceS >= baselineS:
		g.before = ratePerS
		return ratePerS * baselineAt, Baseline
	}
	return g.pi.next(ratePerS, value, intervalS, ceilingPerS)
}

// measured adds a response time without load. If it differs much from the last one, it replaces all earlier ones.
func (g *gradient) measured(value float64) {
	if math.IsInf(value, 1) || value <= 0 {
		return
	}
	if n := len(g.floors); n > 0 && (value > 1.5*g.floors[n-1] || value < g.floors[n-1]/1.5) {
		g.floors = g.floors[:0]
	}
	g.floors = append(g.floors, value)
	if len(g.floors) > mostBaseline {
		g.floors = g.floors[1:]
	}
	g.pi.goal = g.spec.Tolerance * stats.Mean(g.floors)
}

func (g *gradient) overloaded(tooMuchPerS, goesOnPerS float64) {
	g.before, g.sinceS = 0, baselineS
	g.pi.overloaded(tooMuchPerS, goesOnPerS)
}

func (p *pi) save(s *State) {
	s.Goal, s.Gain, s.Last, s.Same, s.StepUp = p.goal, p.gain, p.last, p.same, p.stepUp
}

func (p *pi) load(s *State) {
	p.goal, p.gain, p.last, p.same, p.stepUp = s.Goal, s.Gain, s.Last, s.Same, s.StepUp
}

func (a *aimd) save(s *State) {
	s.TooFar, s.From, s.SinceS, s.Error = a.tooFar, a.from, a.sinceS, a.error
}

func (a *aimd) load(s *State) {
	a.tooFar, a.from, a.sinceS, a.error = s.TooFar, s.From, s.SinceS, s.Error
}

func (g *gradient) save(s *State) {
	g.pi.save(s)
	s.Floors, s.SinceS, s.Before = slices.Clone(g.floors), g.sinceS, g.before
}

func (g *gradient) load(s *State) {
	g.pi.load(s)
	g.floors, g.sinceS, g.before = slices.Clone(s.Floors), s.SinceS, s.Before
}
