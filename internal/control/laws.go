package control

import (
	"math"

	"brunt/internal/stats"
)

// pi is a proportional-integral controller in velocity form (Åström and Hägglund 1995, 3.5): the logarithm of the rate
// follows how far the figure is from its goal, as a share of that. In this form a limited output winds nothing up.
// The gain falls while the figure swings around its goal, and recovers while it stays on one side.
type pi struct {
	goal   float64
	gain   float64
	last   float64 // error before, 0 at first
	same   int     // how many errors in a row had one sign
	stepUp float64 // the most by which the logarithm of the rate may rise at once
}

func newPI(goal float64) *pi { return &pi{goal: goal, gain: 1, stepUp: mostUp} }

const (
	proportional = 0.05
	integral     = 0.15
	mostUp       = 0.35 // of the logarithm of the rate, before the server was ever overloaded
	leastUp      = 0.05
	mostDown     = 0.2
	mostBeyond   = -10.0 // errors, as shares of the goal
	atGoal       = 0.05  // an error below doesn't count as one
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

// aimd raises the rate while the figure keeps its limit and lowers it by a share when it doesn't. It comes back along a
// cubic curve, fast until near the rate that was too much, flat around it, and fast again if that passes (Ha, Rhee and
// Xu 2008, CUBIC).
type aimd struct {
	spec   *Spec
	tooFar float64 // the rate that was last too much; 0 if none was
	from   float64 // where it went on
	sinceS float64
	error  float64 // how far the figure is from its limit, as a share of that, smoothed
}

const (
	slowStart    = 1.25
	decrease     = 0.985
	plateauS     = 8.0  // until the rate is back where it was too much
	probeByShare = 0.03 // how far above it is after twice that time
)

func (a *aimd) next(ratePerS, value, intervalS, _ float64) (float64, Reason) {
	// One interval that is a little beyond its limit may be chance.
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
	case x >= 1.5: // far above it nothing is known
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

// gradient keeps response times at a multiple of what they are without load. That it measures again and again at half
// the rate, as BBR does (Cardwell et al. 2016), because a server that got slower can't be told from one that is under
// load otherwise.
type gradient struct {
	spec   *Spec
	pi     *pi
	floors []float64 // response times without load, the latest measurements
	sinceS float64   // since the last one
	before float64   // the rate before the measurement under way; 0 if none is
}

const (
	baselineS    = 20.0 // between two measurements
	baselineAt   = 0.5  // share of the rate at which they are made
	mostBaseline = 3    // how many measurements count
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

// measured takes a response time without load. One that differs much from those before takes their place.
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
