package compare

import (
	"fmt"
	"math"

	"brunt/internal/result"
	"brunt/internal/stats"
)

// settle gives a row its verdict: by where the interval of the change lies. A change beyond the
// tolerance must also be significant after the correction for the number of metrics.
func (o *Options) settle(r *Row, base, candidate []*result.Result) {
	if r.Verdict == Unknown {
		return
	}
	if math.IsNaN(r.P) {
		o.settleByRanks(r)
		return
	}
	low, high, t := r.Change.Low, r.Change.High, r.Tolerance
	significant := r.P < 1-o.Confidence
	switch {
	case low >= -t && high <= t:
		r.Verdict = Equivalent
	case high < -t && significant:
		r.Verdict = towards(r.Better == result.Higher)
	case low > t && significant:
		r.Verdict = towards(r.Better == result.Lower)
	default:
		r.Verdict = Inconclusive
		o.open(r, base, candidate)
	}
	if r.Better == result.Neutral && r.Verdict != Equivalent {
		r.Verdict = Inconclusive
	}
}

func towards(worse bool) Verdict {
	if worse {
		return Regression
	}
	return Improvement
}

// open says what is known of a row that isn't settled, and what would settle it.
func (o *Options) open(r *Row, base, candidate []*result.Result) {
	m := result.Metric{Name: r.Metric, Operation: r.Operation}
	if r.Operation == "" {
		a, b := values(&m, base), values(&m, candidate)
		if r.Unit == "share" {
			r.Needed = stats.RunsToSettleDifference(a, b, r.Tolerance, o.Confidence)
		} else {
			r.Needed = stats.RunsToSettle(a, b, r.Tolerance, o.Confidence)
		}
		// More runs than there are, since these don't settle it.
		if r.Needed > 0 {
			r.Needed = max(r.Needed, min(len(a), len(b))+1)
		}
	}
	if r.Better != result.Neutral && (r.Change.Low > 0 || r.Change.High < 0) {
		way := "better"
		if r.Worse() {
			way = "worse"
		}
		r.Note = fmt.Sprintf("%s for sure, but whether by more than the tolerance is open", way)
	}
}

// settleByRanks judges what has no ratio: times without end on one side, zeros.
func (o *Options) settleByRanks(r *Row) {
	r.Verdict = Inconclusive
	switch {
	case r.Base.Value == r.Candidate.Value && !math.IsInf(r.Base.Value, 0) && r.RanksP > 0.99:
		r.Verdict = Equivalent
	case r.RanksP < 1-o.Confidence:
		worse := r.Candidate.Value > r.Base.Value == (r.Better == result.Lower)
		r.Verdict = towards(worse)
	}
}
