package program

import (
	"math"

	"brunt/internal/judge/verdict"
)

const (
	// relaxed is the largest strain at which response times are far below their limit.
	relaxed = 1.0 / 3
	// clearlyShort is the share of the arrivals below which a trial's answers are clearly too few.
	clearlyShort = 0.9
	// doubts is how many widths above the bracket a doubtful maximum is tried, and doubtTries how often at most.
	doubts     = 4
	doubtTries = 3
)

// weak reports whether a failed trial may have failed by chance: nearly all arrivals were answered, far below the limit
// of response times. A few arrivals that are in flight when a short trial ends look like this.
func (r *Result) weak() bool {
	return r.Strain > 0 && r.Strain < relaxed && r.Errors <= failedShare && r.OfferedPerS > 0 &&
		r.AchievedPerS >= clearlyShort*r.OfferedPerS
}

// unconvincing returns the load of a zone's upper end if it has failed only once, and maybe by chance; 0 otherwise. It is
// tried again at once, so that the search isn't anchored by one bad trial.
func (s *Search) unconvincing(z *zone) float64 {
	if z.high == nil || z.high.fails != 1 || z.high.generator {
		return 0
	}
	for i := range s.results {
		if r := &s.results[i]; r.N == z.high.n && r.Verdict != verdict.Pass && r.weak() {
			return r.N
		}
	}
	return 0
}

// doubt returns a load above a bracket that is tried because the bracket is doubtful: response times at its lower end are
// far below their limit, and all failures above it may be due to chance. It returns 0 if there is no doubt.
func (s *Search) doubt(z *zone) float64 {
	low := s.last(z.low.n, verdict.Pass)
	if low == nil || !(low.Strain > 0 && low.Strain < relaxed) || z.high.generator || z.high.n >= s.o.Max {
		return 0
	}
	n := min(z.high.n*math.Pow(1+s.o.Width, doubts), s.o.Max)
	tries := 0
	for i := range s.results {
		r := &s.results[i]
		if r.N == n {
			tries++
		}
		if r.N >= z.high.n && r.Verdict == verdict.Fail && !r.TooFew && (!r.weak() || r.N > z.high.n) {
			return 0
		}
	}
	if tries >= doubtTries {
		return 0
	}
	return n
}
