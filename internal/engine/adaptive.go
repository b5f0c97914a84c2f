package engine

import (
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
)

// adaptive extends the schedule of a phase by its controller's decisions. The methods do nothing on nil.
type adaptive struct {
	controller Controller
	shape      *schedule.Growing
	startNs    int64 // of the stage
	intervalNs int64
	decision   measure.Control // in force
	led        *led            // nil if the controller is here
}

// lead is how far ahead the schedule is known, so that decisions taken shortly after the end of an interval are in
// time. It is a tenth of an interval, and at most this.
const lead = 100 * time.Millisecond

// newAdaptive sets a stage's schedule to one that grows, with its first part.
func newAdaptive(p *plan.Phase, stage *schedule.Stage, control func(*plan.Phase) Controller, intervalNs int64,
) (*adaptive, error) {
	a := &adaptive{
		controller: control(p), shape: schedule.NewGrowing(int64(p.Duration)), startNs: stage.StartNs,
		intervalNs: intervalNs,
	}
	stage.Shape = a.shape.Shape()
	a.decision = a.controller.First()
	return a, a.shape.Extend(a.leadNs()+intervalNs, a.decision.RatePerS)
}

// newLed sets a stage's schedule to one that grows as a Leader decides.
func newLed(p *plan.Phase, stage *schedule.Stage) *adaptive {
	a := &adaptive{shape: schedule.NewGrowing(int64(p.Duration)), startNs: stage.StartNs, led: &led{}}
	stage.Shape = a.shape.Shape()
	return a
}

func (a *adaptive) leadNs() int64 { return min(int64(lead), a.intervalNs/10) }

// inForce returns the decision that the load followed in an interval.
func (a *adaptive) inForce(startNs, endNs int64) *measure.Control {
	if a == nil {
		return nil
	}
	if a.led != nil {
		return a.led.at((startNs+endNs)/2 - a.startNs)
	}
	c := a.decision
	return &c
}

// next asks the controller for a decision after an interval, and extends the schedule by the next interval.
func (a *adaptive) next(iv *measure.Interval) {
	if a == nil || a.led != nil || iv.Drain || a.shape.ReachesNs() >= a.shape.Shape().DurationNs() {
		return
	}
	a.decision = a.controller.Next(iv)
	// The controller's rates are within the limits of the plan, so none is refused.
	_ = a.shape.Extend(iv.EndNs-a.startNs+a.leadNs()+a.intervalNs, a.decision.RatePerS)
}
