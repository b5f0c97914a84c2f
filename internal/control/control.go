// Package control adapts the rate of a load to its effect: it keeps a figure at a set point, or finds the highest rate
// that a server sustains. Its controllers are pure arithmetic, and depend on no protocol and no clock.
package control

import (
	"math"
)

// The methods.
const (
	// PI keeps a figure at its goal by a proportional-integral controller.
	PI = "pi"
	// AIMD keeps a figure below its goal at the highest possible rate: it raises the rate, and lowers it each time the
	// goal is missed.
	AIMD = "aimd"
	// Gradient raises the rate until response times are a multiple of those without load. It needs no goal.
	Gradient = "gradient"
)

// Methods returns the names of all methods.
func Methods() []string { return []string{PI, AIMD, Gradient} }

// Spec describes how a load is controlled. Rates are operations per second, above 0.
type Spec struct {
	Method    string  // one of Methods
	StartPerS float64 // between MinPerS and MaxPerS
	MinPerS   float64
	MaxPerS   float64
	// Goal is the set point or limit of the figure, above 0 (PI, AIMD). For a quantile of response times, the figure is
	// the share of arrivals beyond the limit: its mean over intervals equals its value over all of them, which isn't
	// true of quantiles.
	Goal      float64
	Tolerance float64 // Gradient: response time to reach, as a multiple of that without load; above 1
	// DelayS is how long arrivals may wait to be sent before the server counts as overloaded, in seconds; above 0.
	DelayS    float64
	MaxErrors float64 // share of failed operations above which the controller backs off, 0–1
}

// Observation is what was measured since the last decision.
type Observation struct {
	IntervalS float64 // length of that time
	RatePerS  float64 // arrivals that fell due, per second
	DonePerS  float64 // successful operations per second
	Value     float64 // value of the figure; +Inf if most arrivals had no answer; NaN if unknown
	Errors    float64 // share of the completed operations that failed
	Waiting   float64 // arrivals due and not sent at the end
	Stalled   bool    // the generator stood still, so its measurements say little about the server
}

// Reason is why a decision was taken.
type Reason string

// The reasons.
const (
	Start     Reason = "start"     // the first rate
	Raise     Reason = "raise"     // the figure is below the goal
	Lower     Reason = "lower"     // the figure is beyond the goal
	Hold      Reason = "hold"      // the figure is at the goal
	Overload  Reason = "overload"  // arrivals wait: the server takes less than is sent
	Drain     Reason = "drain"     // arrivals still wait, after an overload
	Resume    Reason = "resume"    // none wait any longer
	Errors    Reason = "errors"    // too many operations fail
	Probe     Reason = "probe"     // nothing is known, but some load must continue
	Baseline  Reason = "baseline"  // response times with little load are measured
	Stall     Reason = "stall"     // the generator stood still
	AtMost    Reason = "at-most"   // the figure would allow more than the highest rate
	AtLeast   Reason = "at-least"  // the figure would need less than the lowest rate
	Uncertain Reason = "uncertain" // the figure isn't known, and there is no problem
)

// Decision is the rate that a controller requests, operations per second, and the reason.
type Decision struct {
	RatePerS float64
	Reason   Reason
}

// law is the part in which methods differ: how the rate follows from the figure while the server keeps up.
type law interface {
	// next returns the next rate, after a rate at which the figure had this value. ceilingPerS is an upper bound of the
	// server's capacity; +Inf if none is known.
	next(ratePerS, value, intervalS, ceilingPerS float64) (float64, Reason)
	// overloaded is called when a rate was too high, with that rate and the rate at which the load will continue.
	overloaded(tooMuchPerS, goesOnPerS float64)
	// save copies the law's state into s, and load from it.
	save(s *State)
	load(s *State)
}

// State is what a controller remembers between decisions. Its fields are those of the controller and of its law.
type State struct {
	RatePerS    float64 `json:"rate_per_s"`
	CeilingPerS float64 `json:"ceiling_per_s,omitempty"` // 0: unknown
	Drains      bool    `json:"drains,omitempty"`
	Rests       bool    `json:"rests,omitempty"`
	Backs       int     `json:"backs,omitempty"`

	Goal   float64 `json:"goal,omitempty"` // PI and Gradient
	Gain   float64 `json:"gain,omitempty"`
	Last   float64 `json:"last,omitempty"`
	Same   int     `json:"same,omitempty"`
	StepUp float64 `json:"step_up,omitempty"`

	TooFar float64 `json:"too_far,omitempty"` // AIMD
	From   float64 `json:"from,omitempty"`
	SinceS float64 `json:"since_s,omitempty"` // AIMD and Gradient
	Error  float64 `json:"error,omitempty"`

	Floors []float64 `json:"floors,omitempty"` // Gradient
	Before float64   `json:"before,omitempty"`
}

// Controller takes the decisions of one phase. It must be used by one goroutine.
type Controller struct {
	spec    Spec
	law     law
	rate    float64
	ceiling float64 // the server's capacity as measured in overload, raised slowly afterwards; +Inf if unknown
	drains  bool    // arrivals of an overload are still waiting
	rests   bool    // the next observation still contains answers to arrivals that waited
	backs   int     // number of consecutive decisions to back off because of errors
}

// New returns the controller of a phase. The specification must be valid; see its fields.
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

// State returns the state after the last decision.
func (c *Controller) State() State {
	s := State{RatePerS: c.rate, Drains: c.drains, Rests: c.rests, Backs: c.backs}
	if !math.IsInf(c.ceiling, 1) {
		s.CeilingPerS = c.ceiling
	}
	c.law.save(&s)
	return s
}

// Restore continues from a state that a controller with the same Spec had.
func (c *Controller) Restore(s State) {
	c.rate, c.drains, c.rests, c.backs = s.RatePerS, s.Drains, s.Rests, s.Backs
	if c.ceiling = s.CeilingPerS; c.ceiling == 0 {
		c.ceiling = math.Inf(1)
	}
	c.law.load(&s)
}

// First returns the decision before anything is sent.
func (c *Controller) First() Decision { return Decision{c.rate, Start} }

const (
	// backOff is the factor on the rate when too many operations fail.
	backOff = 0.5
	// resumeAt is the share of the measured capacity at which the load continues after an overload.
	resumeAt = 0.9
	// forget is the factor by which the known capacity is raised after a good interval near it, so that a server that
	// became faster is noticed.
	forget = 1.01
	// leastDone is the rate up to which the server counts as not responding.
	leastDone = 1e-9
)

// Next returns the decision that follows from the observation since the last decision.
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
		return c.overload(o)
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

// overload lowers the rate so that the server can work off the waiting arrivals within an interval.
func (c *Controller) overload(o Observation) (float64, Reason) {
	c.drains = true
	if o.DonePerS <= leastDone {
		c.law.overloaded(c.rate, c.rate*backOff)
		c.ceiling = math.Inf(1)
		return c.rate * backOff, Probe
	}
	// While arrivals wait, the rate of answers is the server's capacity.
	c.ceiling = o.DonePerS
	c.law.overloaded(c.ceiling, c.ceiling*resumeAt)
	return c.draining(o), Overload
}

// draining returns the rate at which the waiting arrivals are worked off in the next interval.
func (c *Controller) draining(o Observation) float64 {
	rate := c.ceiling - o.Waiting/max(o.IntervalS, 1e-3)
	return min(max(rate, 0.3*c.ceiling), resumeAt*c.ceiling)
}

// drain continues at a low rate until no arrivals wait.
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
	// The capacity may have fallen since the overload began.
	c.ceiling = min(c.ceiling, max(o.DonePerS, 0.3*c.ceiling))
	if math.IsInf(c.ceiling, 1) {
		c.ceiling = o.DonePerS
	}
	c.law.overloaded(c.ceiling, c.ceiling*resumeAt)
	return c.draining(o), Drain
}
