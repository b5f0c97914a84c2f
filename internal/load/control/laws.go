package control

import (
	"math"

	"brunt/internal/base/stats"
)

// pi is a proportional-integral controller in velocity form (Åström and Hägglund 1995, 3.5). It changes the logarithm
// of the rate according to the error, which is the distance of the figure from its goal as a share of the goal. In this
// form a limited output causes no integral windup. The gain falls while the figure oscillates around its goal, and
// recovers while it stays on one side.
type pi struct{ *State }

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
	if p.Goal > 0 && !math.IsInf(value, 1) {
		e = max(1-value/p.Goal, mostBeyond)
	}
	switch {
	case e*p.Last < 0:
		p.Gain, p.Same = max(p.Gain*0.7, leastGain), 0
	case e*p.Last > 0:
		if p.Same++; p.Same >= 4 {
			p.Gain = min(p.Gain*1.2, 2)
			p.StepUp = min(p.StepUp*1.2, mostUp)
		}
	}
	step := p.Gain * (proportional*(e-p.Last) + integral*e)
	p.Last = e
	rate := ratePerS * math.Exp(min(max(step, -mostDown), p.StepUp))
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
	p.Gain = max(p.Gain*0.7, leastGain)
	p.StepUp = max(p.StepUp/3, leastUp)
	p.Last, p.Same = 0, 0
}

// aimd raises the rate while the figure is below its limit, and lowers it by a share when it isn't. The rate returns
// along a cubic curve: fast until near the rate that was too high, flat around it, and fast again if the server
// sustains it (Ha, Rhee and Xu 2008, CUBIC).
type aimd struct {
	*State
	spec *Spec
}

const (
	slowStart    = 1.25
	decrease     = 0.985
	plateauS     = 8.0  // time until the rate is back at the one that was too high
	probeByShare = 0.03 // how far above that rate it is after twice the time
)

func (a *aimd) next(ratePerS, value, intervalS, _ float64) (float64, Reason) {
	// A single interval slightly beyond the limit may be chance.
	a.Error = 0.5*a.Error + 0.5*(1-value/a.spec.Goal)
	switch {
	case a.Error < 0:
		a.overloaded(ratePerS, ratePerS*decrease)
		return a.From, Lower
	case a.TooFar == 0:
		return ratePerS * slowStart, Raise
	}
	a.SinceS += intervalS
	x := a.SinceS/plateauS - 1
	rise := a.TooFar - a.From
	switch {
	case x >= 1.5: // far above the old limit nothing is known
		a.TooFar = 0
		return ratePerS, Raise
	case x > 0:
		rise = probeByShare * a.TooFar
	}
	return max(ratePerS, a.TooFar+rise*x*x*x), Raise
}

func (a *aimd) overloaded(tooMuchPerS, goesOnPerS float64) {
	a.TooFar, a.From, a.SinceS, a.Error = tooMuchPerS, goesOnPerS, 0, 0
}

// gradient keeps response times at a multiple of those without load. It measures the latter repeatedly, at half the
// rate, as BBR does (Cardwell et al. 2016): otherwise a server that became slower can't be distinguished from one under
// load.
type gradient struct {
	pi
	spec *Spec
}

const (
	baselineS    = 20.0 // time between two measurements
	baselineAt   = 0.5  // share of the rate at which they are taken
	mostBaseline = 3    // number of measurements that count
)

func (g *gradient) next(ratePerS, value, intervalS, ceilingPerS float64) (float64, Reason) {
	g.SinceS += intervalS
	switch {
	case g.Before > 0:
		rate := g.Before
		g.measured(value)
		g.SinceS, g.Before = 0, 0
		return rate, Resume
	case len(g.Floors) == 0 || g.SinceS >= baselineS:
		g.Before = ratePerS
		return ratePerS * baselineAt, Baseline
	}
	return g.pi.next(ratePerS, value, intervalS, ceilingPerS)
}

// measured adds a response time without load. If it differs much from the last one, it replaces all earlier ones.
func (g *gradient) measured(value float64) {
	if math.IsInf(value, 1) || value <= 0 {
		return
	}
	if n := len(g.Floors); n > 0 && (value > 1.5*g.Floors[n-1] || value < g.Floors[n-1]/1.5) {
		g.Floors = g.Floors[:0]
	}
	g.Floors = append(g.Floors, value)
	if len(g.Floors) > mostBaseline {
		g.Floors = g.Floors[1:]
	}
	g.Goal = g.spec.Tolerance * stats.Mean(g.Floors)
}

func (g *gradient) overloaded(tooMuchPerS, goesOnPerS float64) {
	g.Before, g.SinceS = 0, baselineS
	g.pi.overloaded(tooMuchPerS, goesOnPerS)
}
