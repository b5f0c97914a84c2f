// Package control adapts the rate of a load to its effect: it keeps a figure at a set point, or finds the highest rate
// that a server sustains. Its controllers are pure arithmetic, and depend on no protocol and no clock.
package control

import (
	"math"
	"slices"
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
}

// State is what a controller and its law remember between decisions.
type State struct {
	RatePerS float64 `json:"rate_per_s"`
	// CeilingPerS is the server's capacity as measured in overload, raised slowly afterwards; 0 if unknown.
	CeilingPerS float64 `json:"ceiling_per_s,omitempty"`
	Drains      bool    `json:"drains,omitempty"` // arrivals of an overload are still waiting
	Rests       bool    `json:"rests,omitempty"`  // the next observation still contains answers to arrivals that waited
	Backs       int     `json:"backs,omitempty"`  // number of consecutive decisions to back off because of errors

	// PI and Gradient
	Goal   float64 `json:"goal,omitempty"`
	Gain   float64 `json:"gain,omitempty"`
	Last   float64 `json:"last,omitempty"`    // previous error; 0 at first
	Same   int     `json:"same,omitempty"`    // number of consecutive errors with the same sign
	StepUp float64 `json:"step_up,omitempty"` // the largest increase of the logarithm of the rate at once

	// AIMD
	TooFar float64 `json:"too_far,omitempty"` // last rate that was too high; 0 if there was none
	From   float64 `json:"from,omitempty"`    // rate at which the load continued
	SinceS float64 `json:"since_s,omitempty"` // since then; Gradient: since the last measurement
	Error  float64 `json:"error,omitempty"`   // smoothed distance of the figure from its limit, as a share of the limit

	// Gradient
	Floors []float64 `json:"floors,omitempty"` // latest measurements of the response time without load
	Before float64   `json:"before,omitempty"` // rate before the measurement in progress; 0 if there is none
}

// Controller takes the decisions of one phase. It must be used by one goroutine.
type Controller struct {
	spec  Spec
	law   law
	state State
}

// New returns the controller of a phase. The specification must be valid; see its fields.
func New(s Spec) *Controller {
	c := &Controller{spec: s, state: State{RatePerS: s.StartPerS}}
	p := pi{&c.state}
	switch s.Method {
	case AIMD:
		c.law = &aimd{&c.state, &c.spec}
	case Gradient:
		c.law = &gradient{p, &c.spec}
		c.state.Gain, c.state.StepUp = 1, mostUp
	default:
		c.law = &p
		c.state.Goal, c.state.Gain, c.state.StepUp = s.Goal, 1, mostUp
	}
	return c
}

// State returns the state after the last decision.
func (c *Controller) State() State {
	s := c.state
	s.Floors = slices.Clone(s.Floors)
	return s
}

// Restore continues from a state that a controller with the same Spec had. It keeps the slices of s.
func (c *Controller) Restore(s State) { c.state = s }

// ceiling returns an upper bound of the server's capacity; +Inf if none is known.
func (c *Controller) ceiling() float64 {
	if c.state.CeilingPerS == 0 {
		return math.Inf(1)
	}
	return c.state.CeilingPerS
}

// First returns the decision before anything is sent.
func (c *Controller) First() Decision { return Decision{c.state.RatePerS, Start} }

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
	c.state.RatePerS = rate
	return Decision{rate, why}
}

func (c *Controller) decide(o Observation) (float64, Reason) {
	s := &c.state
	if o.Stalled {
		return s.RatePerS, Stall
	}
	done := o.DonePerS
	if o.Errors > c.spec.MaxErrors && o.Errors > 0 {
		if s.Backs++; s.Backs == 1 {
			c.law.overloaded(s.RatePerS, s.RatePerS*backOff)
		}
		return s.RatePerS * backOff, Errors
	}
	cameBack := s.Backs > 0
	s.Backs = 0
	waitS := math.Inf(1)
	switch {
	case o.Waiting == 0:
		waitS = 0
	case done > leastDone:
		waitS = o.Waiting / done
	}
	if s.Drains {
		return c.drain(o, waitS)
	}
	if waitS > c.spec.DelayS {
		return c.overload(o)
	}
	if s.Rests || cameBack {
		s.Rests = false
		return s.RatePerS, Resume
	}
	if math.IsNaN(o.Value) {
		return s.RatePerS, Uncertain
	}
	if done > resumeAt*c.ceiling() {
		s.CeilingPerS *= forget
	}
	return c.law.next(s.RatePerS, o.Value, o.IntervalS, c.ceiling())
}

// overload lowers the rate so that the server can work off the waiting arrivals within an interval.
func (c *Controller) overload(o Observation) (float64, Reason) {
	s := &c.state
	s.Drains = true
	if o.DonePerS <= leastDone {
		c.law.overloaded(s.RatePerS, s.RatePerS*backOff)
		s.CeilingPerS = 0
		return s.RatePerS * backOff, Probe
	}
	// While arrivals wait, the rate of answers is the server's capacity.
	s.CeilingPerS = o.DonePerS
	c.law.overloaded(s.CeilingPerS, s.CeilingPerS*resumeAt)
	return c.draining(o), Overload
}

// draining returns the rate at which the waiting arrivals are worked off in the next interval.
func (c *Controller) draining(o Observation) float64 {
	s := &c.state
	rate := s.CeilingPerS - o.Waiting/max(o.IntervalS, 1e-3)
	return min(max(rate, 0.3*s.CeilingPerS), resumeAt*s.CeilingPerS)
}

// drain continues at a low rate until no arrivals wait.
func (c *Controller) drain(o Observation, waitS float64) (float64, Reason) {
	s := &c.state
	switch {
	case waitS <= c.spec.DelayS/4:
		s.Drains, s.Rests = false, true
		if s.CeilingPerS == 0 {
			return s.RatePerS, Resume
		}
		return resumeAt * s.CeilingPerS, Resume
	case o.DonePerS <= leastDone:
		return s.RatePerS * backOff, Probe
	}
	// The capacity may have fallen since the overload began.
	if s.CeilingPerS = min(s.CeilingPerS, max(o.DonePerS, 0.3*s.CeilingPerS)); s.CeilingPerS == 0 {
		s.CeilingPerS = o.DonePerS
	}
	c.law.overloaded(s.CeilingPerS, s.CeilingPerS*resumeAt)
	return c.draining(o), Drain
}
