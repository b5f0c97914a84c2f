package control

import (
	"math"

	"brunt/internal/base/stats"
)

// Settled is the result of a controlled load.
type Settled struct {
	Intervals int     // number of all decisions
	After     int     // number of decisions before it settled
	RatePerS  float64 // mean of the rates after it settled
	LowPerS   float64 // its 95 % confidence interval; NaN if there are too few decisions
	HighPerS  float64
	Spread    float64 // standard deviation of the rates after it settled, as a share of their mean
	Steady    bool    // it settled before the middle and doesn't oscillate
	// AtMost and AtLeast are the shares of the decisions after it settled that a limit restricted.
	AtMost, AtLeast float64
	// Met and Missed count those of all decisions that found the figure within its goal, or beyond it.
	Met, Missed int
}

// unsteadySpread is the spread above which a load counts as oscillating.
const unsteadySpread = 0.2

// Settle computes the result of a series of decisions. It cuts off the decisions before the steady part (MSER-5, see
// stats.MSER5), and ignores measurements of the baseline.
func Settle(all []Decision) Settled {
	var rates []float64
	var kept []Decision
	for _, d := range all {
		if d.Reason != Baseline {
			rates, kept = append(rates, d.RatePerS), append(kept, d)
		}
	}
	cut, steady := stats.MSER5(rates)
	s := Settled{Intervals: len(kept), After: cut, LowPerS: math.NaN(), HighPerS: math.NaN()}
	for _, d := range kept {
		switch d.Reason {
		case Raise, Hold, AtMost:
			s.Met++
		case Lower, AtLeast, Overload, Drain, Errors:
			s.Missed++
		}
	}
	rest := rates[cut:]
	if len(rest) == 0 {
		return s
	}
	s.RatePerS = stats.Mean(rest)
	if s.RatePerS > 0 && len(rest) > 1 {
		s.Spread = stats.Deviation(rest) / s.RatePerS
	}
	s.Steady = steady && s.Spread <= unsteadySpread
	if ci, err := stats.MeanCI(rest, 0.95); err == nil {
		s.LowPerS, s.HighPerS = max(ci.Low, 0), ci.High
	}
	for _, d := range kept[cut:] {
		switch d.Reason {
		case AtMost:
			s.AtMost += 1 / float64(len(rest))
		case AtLeast:
			s.AtLeast += 1 / float64(len(rest))
		}
	}
	return s
}
