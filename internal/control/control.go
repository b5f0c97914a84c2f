// Package control decides how a load goes on from what it has caused: it keeps a figure at a set point, or takes as
// much as a server gives. Its controllers are arithmetic: they know neither protocols nor clocks.
package control

import (
	"math"
)

// The methods.
const (
	// PI keeps a figure at its goal by a proportional-integral controller.
	PI = "pi"
	// AIMD sends as much as keeps a figure below its goal: more and more, and less after each time that it didn't.
	AIMD = "aimd"
	// Gradient sends as much as lets response times grow to a multiple of those without load; it needs no goal.
	Gradient = "gradient"
)

// Methods are the names of all methods.
func Methods() []string { return []string{PI, AIMD, Gradient} }

// Spec says how a load is controlled. Rates are operations a second, above 0.
type Spec struct {
	Method    string  // one of Methods
	StartPerS float64 // between MinPerS and MaxPerS
	MinPerS   float64
	MaxPerS   float64
	// Goal is the figure's set point or limit, above 0 (PI, AIMD). Of a quantile of response times the figure is the
	// share of arrivals beyond its limit, whose mean over intervals is what it is over all of them; quantiles of
	// intervals have no such mean.
	Goal      float64
	Tolerance float64 // Gradient: how many times the response time without load is taken; above 1
	// DelayS is how long arrivals may wait to be sent before the server counts as overloaded, seconds; above 0.
	DelayS    float64
	MaxErrors float64 // share of failed operations from which the controller backs off, 0–1
}

// Observation is what happened since the last decision.
type Observation struct {
	IntervalS float64 // how long that is
	RatePerS  float64 // arrivals that fell due, a second
	DonePerS  float64 // operations answered well, a second
	Value     float64 // of the figure; +Inf if most arrivals had no answer; NaN if nothing is known of it
	Errors    float64 // share of the operations done that failed
	Waiting   float64 // arrivals due and not sent at its end
	Stalled   bool    // the generator stood still: what it saw says little about the server
}

// Reason says why a decision was taken.
type Reason string

// The reasons.
const (
	Start     Reason = "start"     // the first rate
	Raise     Reason = "raise"     // the figure leaves room
	Lower     Reason = "lower"     // the figure is beyond the goal
	Hold      Reason = "hold"      // the figure is at the goal
	Overload  Reason = "overload"  // arrivals wait: the server takes less than is sent
	Drain     Reason = "drain"     // arrivals still wait, after an overload
	Resume    Reason = "resume"    // none wait any more
	Errors    Reason = "errors"    // too many operations fail
	Probe     Reason = "probe"     // nothing is known: some load must go on
	Baseline  Reason = "baseline"  // response times without much load are measured
	Stall     Reason = "stall"     // the generator stood still
	AtMost    Reason = "at-most"   // more would be possible, and the limit is reached
	AtLeast   Reason = "at-least"  // less would be needed, and the limit is reached
	Uncertain Reason = "uncertain" // the figure isn't known, and nothing is wrong
)

// Decision is the rate that a controller asks for, operations a second, and why.
type Decision struct {
	RatePerS float64
	Reason   Reason
}

// law is what tells methods apart: how the rate follows from the figure while the server keeps up.
type law interface {
	// next is the rate after one at which the figure had this value. ceilingPerS is what the server is known not to
	// exceed, +Inf if nothing is known.
	next(ratePerS, value, intervalS, ceilingPerS float64) (float64, Reason)
	// overloaded tells it that a rate was too much, and at which rate the load will go on.
	overloaded(tooMuchPerS, goesOnPerS float64)
}

// Controller takes the decisions of one phase. It is used by one goroutine.
type Controller struct {
	spec    Spec
	law     law
	rate    float64
	ceiling float64 // the server's capacity as it showed when it was overloaded, slowly forgotten; +Inf if unknown
	drains  bool    // arrivals of an overload still wait
	rests   bool    // the next observation still shows answers to arrivals that waited
	backs   int     // how many times in a row it backed off because of errors
}

// New returns the controller of a phase. The specification must be valid, see its fields.
func New(s Spec) *Controller {
	c := &Controller{spec: s, rate: s.StartPerS, ceiling: math.Inf(1)}
	switch s.Method {
	case AIMD:
		c.law = &aimd{spec: &c.spec}
	case Gradient:
		c.law = &gradient{spec: &c.spec, pi: newPI(0)}
	default:
		c.law = newPI(s.Goal)
	}
	return c
}

// First is the decision before anything was sent.
func (c *Controller) First() Decision { return Decision{c.rate, Start} }

const (
	// backOff is by how much the rate falls when too many operations fail.
	backOff = 0.5
	// resumeAt is the share of the capacity seen at which the load goes on after an overload.
	resumeAt = 0.9
	// forget is by how much the known capacity is raised in an interval near it that went well, so that a server
	// that got faster is noticed.
	forget = 1.01
	// leastDone is the rate below which nothing was answered.
	leastDone = 1e-9
)

// Next decides from what happened since the last decision.
func (c *Controller) Next(o Observation) Decision {
	rate, why := c.decide(o)
	switch {
	case rate >= c.spec.MaxPerS:
		rate = c.spec.MaxPerS
		if why == Raise {
			why = AtMost
		}
	case rate <= c.spec.MinPerS:
		rate = c.spec.MinPerS
		if why == Lower {
			why = AtLeast
		}
	}
	c.rate = rate
	return Decision{rate, why}
}

func (c *Controller) decide(o Observation) (float64, Reason) {
	if o.Stalled {
		return c.rate, Stall
	}
	done := o.DonePerS
	if o.Errors > c.spec.MaxErrors && o.Errors > 0 {
		if c.backs++; c.backs == 1 {
			c.law.overloaded(c.rate, c.rate*backOff)
		}
		return c.rate * backOff, Errors
	}
	cameBack := c.backs > 0
	c.backs = 0
	waitS := math.Inf(1)
	switch {
	case o.Waiting == 0:
		waitS = 0
	case done > leastDone:
		waitS = o.Waiting / done
	}
	if c.drains {
		return c.drain(o, waitS)
	}
	if waitS > c.spec.DelayS {
		return c.overload(o, waitS)
	}
	if c.rests || cameBack {
		c.rests = false
		return c.rate, Resume
	}
	if math.IsNaN(o.Value) {
		return c.rate, Uncertain
	}
	if done > resumeAt*c.ceiling {
		c.ceiling *= forget
	}
	return c.law.next(c.rate, o.Value, o.IntervalS, c.ceiling)
}

// overload lowers the rate so that the server can work off what waits within an interval.
func (c *Controller) overload(o Observation, waitS float64) (float64, Reason) {
	c.drains = true
	if o.DonePerS <= leastDone {
		c.law.overloaded(c.rate, c.rate*backOff)
		c.ceiling = math.Inf(1)
		return c.rate * backOff, Probe
	}
	// While arrivals wait, what is answered is what the server can take.
	c.ceiling = o.DonePerS
	c.law.overloaded(c.ceiling, c.ceiling*resumeAt)
	return c.draining(o), Overload
}

// draining is the rate at which what waits is worked off in the coming interval.
func (c *Controller) draining(o Observation) float64 {
	rate := c.ceiling - o.Waiting/max(o.IntervalS, 1e-3)
	return min(max(rate, 0.3*c.ceiling), resumeAt*c.ceiling)
}

// drain goes on with a low rate until nothing waits any more.
func (c *Controller) drain(o Observation, waitS float64) (float64, Reason) {
	switch {
	case waitS <= c.spec.DelayS/4:
		c.drains, c.rests = false, true
		if math.IsInf(c.ceiling, 1) {
			return c.rate, Resume
		}
		return resumeAt * c.ceiling, Resume
	case o.DonePerS <= leastDone:
		return c.rate * backOff, Probe
	}
	// Less may be possible than when the overload began.
	c.ceiling = min(c.ceiling, max(o.DonePerS, 0.3*c.ceiling))
	if math.IsInf(c.ceiling, 1) {
		c.ceiling = o.DonePerS
	}
	c.law.overloaded(c.ceiling, c.ceiling*resumeAt)
	return c.draining(o), Drain
}
