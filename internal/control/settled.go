package control

import (
	"math"

	"brunt/internal/stats"
)

// Settled is the load that a controller came to.
type Settled struct {
	Intervals int     // decisions, all
	After     int     // how many of them came before it settled
	RatePerS  float64 // mean of the rates after that
	LowPerS   float64 // its 95 % confidence interval; NaN if there are too few decisions
	HighPerS  float64
	Spread    float64 // standard deviation of these rates, as a share of their mean
	Steady    bool    // it settled before the middle and doesn't swing
	// AtMost and AtLeast are shares of the rates after that which were at a limit that was in the way.
	AtMost, AtLeast float64
}

// unsteadySpread is the spread from which a load swings.
const unsteadySpread = 0.2

// Settle finds the load that a series of decisions came to: what comes before its steady part is cut off (MSER-5, see
// stats.MSER5). Measurements of the baseline don't count.
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
