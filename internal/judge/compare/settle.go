package compare

import (
	"slices"

	"brunt/internal/base/stats"
	"brunt/internal/judge/result"
	"brunt/internal/plan/metric"
	"brunt/internal/render/message"
)

// verdict returns the verdict of the whole comparison.
func (c *Comparison) verdict() Verdict {
	has := func(v Verdict, among func(*Row) bool) bool {
		return slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Verdict == v && among(&r) })
	}
	every := func(*Row) bool { return true }
	primary := func(r *Row) bool { return r.Primary }
	if !slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Primary }) {
		primary = every
	}
	switch {
	case has(Unknown, every):
		return Unknown
	case has(Regression, every):
		return Regression
	case c.mostImproved():
		return Improvement
	case has(Inconclusive, primary):
		return Inconclusive
	case has(Improvement, primary):
		return Improvement
	case has(Inconclusive, func(r *Row) bool { return r.Lacking && r.Better != metric.Neutral }):
		return Inconclusive
	}
	return Equivalent
}

// mostImproved reports whether at least half of the operations have become faster. (None has become slower.) It is then
// not in doubt what the change does, even if a quantile over all operations varies too much to be settled, unless there
// may be more errors: failing may be faster.
func (c *Comparison) mostImproved() bool {
	improved, all := map[string]bool{}, map[string]bool{}
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Operation == "" && r.Metric == "errors" && r.Verdict == Inconclusive {
			return false
		}
		if r.Operation == "" || r.Metric == "rate" || r.Lacking {
			continue
		}
		all[r.Operation] = true
		if r.Verdict == Improvement {
			improved[r.Operation] = true
		}
	}
	return len(improved) > 0 && 2*len(improved) >= len(all)
}

// settle sets the verdict of a row by where the interval of the change lies. A change beyond the tolerance must also be
// significant after the correction for the number of metrics.
func (o *Options) settle(r *Row, base, candidate []*result.Result) {
	if r.Verdict == Unknown || r.Lacking {
		return
	}
	if r.ByRanks {
		m := result.Metric{Name: r.Metric, Operation: r.Operation}
		o.settleByRanks(r, values(&m, base), values(&m, candidate))
		return
	}
	low, high, t := r.Change.Low, r.Change.High, r.Tolerance
	significant := r.P < 1-o.Confidence
	switch {
	case low >= -t && high <= t:
		r.Verdict = Equivalent
	case high < -t && significant:
		r.Verdict = towards(r.Better == metric.Higher)
	case low > t && significant:
		r.Verdict = towards(r.Better == metric.Lower)
	default:
		r.Verdict = Inconclusive
		o.open(r, base, candidate)
	}
	if r.Better == metric.Neutral && r.Verdict != Equivalent {
		r.Verdict = Inconclusive
	}
}

func towards(worse bool) Verdict {
	if worse {
		return Regression
	}
	return Improvement
}

// open completes an inconclusive row: how many runs would settle it, and whether the direction of the change is
// certain.
func (o *Options) open(r *Row, base, candidate []*result.Result) {
	m := result.Metric{Name: r.Metric, Operation: r.Operation}
	if r.Operation == "" {
		a, b := values(&m, base), values(&m, candidate)
		if r.Unit == "share" {
			r.Needed = stats.RunsToSettleDifference(a, b, r.Tolerance, o.Confidence)
		} else {
			r.Needed = stats.RunsToSettle(a, b, r.Tolerance, o.Confidence)
		}
		// The present number of runs was not enough.
		if r.Needed > 0 {
			r.Needed = max(r.Needed, min(len(a), len(b))+1)
		}
	}
	if r.Better != metric.Neutral && (r.Change.Low > 0 || r.Change.High < 0) {
		r.Note = message.New("compare.better-for-sure")
		if r.Worse() {
			r.Note = message.New("compare.worse-for-sure")
		}
	}
}

// settleByRanks sets the verdict of a row that has no ratio (infinite times, zeros), as settle does for other rows: the
// candidate's values must rank beyond the base's values times 1 ± the tolerance, or between both products. An infinite
// value stays infinite when multiplied.
func (o *Options) settleByRanks(r *Row, base, candidate []float64) {
	level := 1 - o.Confidence
	against := func(factor float64) (above, below bool) {
		scaled := make([]float64, len(base))
		for i, x := range base {
			scaled[i] = factor * x
		}
		ranks := stats.MannWhitney(scaled, candidate)
		return ranks.P < level && ranks.Delta > 0, ranks.P < level && ranks.Delta < 0
	}
	aboveHigh, belowHigh := against(1 + r.Tolerance)
	aboveLow, belowLow := against(1 - r.Tolerance)
	r.Verdict = Inconclusive
	switch {
	case belowHigh && aboveLow || allZero(base) && allZero(candidate):
		r.Verdict = Equivalent
	case r.P >= level || r.Better == metric.Neutral:
	case aboveHigh:
		r.Verdict = towards(r.Better == metric.Lower)
	case belowLow:
		r.Verdict = towards(r.Better == metric.Higher)
	}
}

func allZero(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x != 0 })
}
