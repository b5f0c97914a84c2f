package engine

import (
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/schedule"
)

// adaptive lets the schedule of a phase grow by its controller's decisions. The methods of nil do nothing.
type adaptive struct {
	controller Controller
	shape      *schedule.Growing
	startNs    int64 // of the stage
	intervalNs int64
	decision   measure.Control // in force
}

// lead is how long before it is needed the schedule is known, so that decisions taken at the end of an interval, a
// little after it, are in time. It is a tenth of an interval, at most this.
const lead = 100 * time.Millisecond

// newAdaptive gives a stage a schedule that grows, and its beginning.
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

func (a *adaptive) leadNs() int64 { return min(int64(lead), a.intervalNs/10) }

// inForce is the decision that the load follows.
func (a *adaptive) inForce() *measure.Control {
	if a == nil {
		return nil
	}
	c := a.decision
	return &c
}

// next has the controller decide after an interval, and the schedule grow by the next one.
func (a *adaptive) next(iv *measure.Interval) {
	if a == nil || iv.Drain || a.shape.ReachesNs() >= a.shape.Shape().DurationNs() {
		return
	}
	a.decision = a.controller.Next(iv)
	// The controller's rates are within the limits of the plan, so that none can be refused.
	_ = a.shape.Extend(iv.EndNs-a.startNs+a.leadNs()+a.intervalNs, a.decision.RatePerS)
}
