package confidence

import (
	"math"

	"brunt/internal/load/control"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The stable ids of warnings about adaptive phases.
const (
	WarnAdaptiveUnsettled = "adaptive-unsettled"
	WarnAdaptiveAtMost    = "adaptive-at-most"
	WarnAdaptiveAtLeast   = "adaptive-at-least"
)

// settle fills in the result of an adaptive phase, and returns a warning if the result isn't conclusive.
func (t *Taker) settle(p *record.Phase) (out []record.Warning) {
	a := p.Adaptive
	s := control.Settle(t.decisions[p.Name])
	a.Decisions, a.SettledAfter, a.RatePerS, a.Spread, a.Settled = s.Intervals, s.After, s.RatePerS, s.Spread, s.Steady
	a.AtMost, a.AtLeast, a.Rate = s.AtMost, s.AtLeast, nil
	a.NeverMet = s.Met == 0 && s.Missed > 0
	if !math.IsNaN(s.LowPerS) {
		a.Rate = &record.Bounds{Low: s.LowPerS, High: s.HighPerS}
	}
	name := message.Text("phase", p.Name)
	switch {
	case a.Decisions == 0:
	case a.AtMost > record.AtLimit:
		out = append(out, record.NewWarning(WarnAdaptiveAtMost, name, message.Rate("most", a.MaxPerS)))
	case a.AtLeast > record.AtLimit:
		out = append(out, record.NewWarning(WarnAdaptiveAtLeast, name, message.Rate("least", a.MinPerS)))
	case !a.Settled:
		out = append(out, record.NewWarning(WarnAdaptiveUnsettled, name, message.Share("spread", a.Spread)))
	}
	return out
}
