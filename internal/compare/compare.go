// Package compare says what several runs come to together, and whether the runs of one side are
// better or worse than those of another. The run is the unit: what happens within one run says
// nothing about the next.
package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/result"
	"brunt/internal/stats"
)

// Verdict is what comes of comparing a metric.
type Verdict string

// The verdicts. Each but Unknown is about the confidence interval of the change and the tolerance:
// the interval lies wholly beyond it on the worse or the better side, or wholly within, or none.
const (
	Regression   Verdict = "regression"
	Improvement  Verdict = "improvement"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
	Unknown      Verdict = "unknown" // a side has one run only
)

// Options are how runs are compared. The zero value means the defaults named beside each.
type Options struct {
	Confidence float64    // of intervals; 0.95
	Tolerances Tolerances // see DefaultTolerances
	Anyway     bool       // compare what shouldn't be compared, and say so
}

// Comparison is what comes of it.
type Comparison struct {
	Base, Candidate Side
	Confidence      float64
	Verdict         Verdict // regression if any metric is one; otherwise of the primary metrics
	Rows            []Row   // primary metrics first, then the others, then those of operations
	Warnings        []string
}

// Side is the runs of one side.
type Side struct {
	Runs    int
	Name    string // of their plan
	Servers []string
	Version string // what the runs say of themselves, such as "PostgreSQL 15.14"
}

// Row is one metric compared.
type Row struct {
	Metric    string
	Operation string // "" of all together
	Unit      string
	Better    result.Better
	Primary   bool // judged with Holm's correction; the others with Benjamini and Hochberg's
	Base      stats.Interval
	Candidate stats.Interval
	// Change is candidate ÷ base − 1, or candidate − base for shares, with its interval.
	Change    stats.Interval
	P         float64 // of no change (Welch), corrected for the number of metrics
	RanksP    float64 // of no change (Mann–Whitney); NaN for operations
	Effect    float64 // Hedges' g
	Tolerance float64
	Verdict   Verdict
	Needed    int    // runs on each side that would settle it; 0 if settled, unknown or more than stats.MostRuns
	Note      string // what else to know of it
}

// Worse reports whether the change goes the wrong way.
func (r *Row) Worse() bool {
	return r.Better == result.Lower && r.Change.Value > 0 || r.Better == result.Higher && r.Change.Value < 0
}

// Refused is why runs aren't compared.
type Refused struct {
	Reasons []string
	Invalid bool // runs are invalid, as their verdict says
}

// Error is one line.
func (e *Refused) Error() string {
	return strings.Join(e.Reasons, "; ") + "; --anyway takes them all the same"
}

// Runs compares the runs of two sides. It refuses, with a *Refused, runs whose comparison would mean
// nothing, unless Options.Anyway says otherwise. One run against one gives changes and what each run
// says of its own precision, and no verdict.
func Runs(base, candidate []*result.Result, o Options) (*Comparison, error) {
	if len(base) == 0 || len(candidate) == 0 {
		return nil, errors.New("a comparison needs at least one run on each side, better 5; write base runs, --, and the others")
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	refusals, warnings := judge(base, candidate)
	if len(refusals.Reasons) > 0 && !o.Anyway {
		return nil, &refusals
	}
	c := &Comparison{
		Base: sideOf(base), Candidate: sideOf(candidate), Confidence: o.Confidence,
		Warnings: append(refusals.Reasons, warnings...),
	}
	for _, m := range alike(base, candidate) {
		c.Rows = append(c.Rows, o.row(m, base, candidate))
	}
	if len(c.Rows) == 0 {
		return nil, errors.New("the runs have no metric in common")
	}
	c.correct()
	for i := range c.Rows {
		o.settle(&c.Rows[i], base, candidate)
	}
	c.Verdict = c.verdict()
	if c.Verdict == Unknown {
		c.Warnings = append(c.Warnings, fmt.Sprintf("between-run variance unknown: repeat each side at least 5 times (there are %d and %d runs)", len(base), len(candidate)))
	}
	return c, nil
}

func sideOf(runs []*result.Result) Side {
	s := Side{Runs: len(runs), Name: runs[0].Name}
	for _, r := range runs {
		for _, v := range r.Servers {
			if !slices.Contains(s.Servers, v) {
				s.Servers = append(s.Servers, v)
			}
		}
	}
	slices.Sort(s.Servers)
	s.Version = strings.Join(s.Servers, ", ")
	return s
}

// alike lists the metrics that all runs have, primary ones first.
func alike(base, candidate []*result.Result) (all []result.Metric) {
	for _, m := range base[0].Metrics {
		if m.Operation != "" && !slices.Contains([]string{"rate", "response.avg", "response.p(99)"}, m.Name) {
			continue
		}
		if everywhere(m, base) && everywhere(m, candidate) {
			all = append(all, m)
		}
	}
	rank := func(m result.Metric) int {
		switch {
		case m.Operation != "":
			return 2
		case primary(m):
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b result.Metric) int { return rank(a) - rank(b) })
	return all
}

func everywhere(m result.Metric, runs []*result.Result) bool {
	return !slices.ContainsFunc(runs, func(r *result.Result) bool { return r.Find(m.Name, m.Operation) == nil })
}

// primary reports whether a metric is one of those that a run is for.
func primary(m result.Metric) bool {
	return m.Operation == "" && slices.Contains([]string{"rate", "response.p(99)", "errors"}, m.Name)
}

func values(m *result.Metric, runs []*result.Result) []float64 {
	v := make([]float64, len(runs))
	for i, r := range runs {
		v[i] = r.Find(m.Name, m.Operation).Value
	}
	return v
}

// row compares one metric; the verdict waits for the correction of P.
func (o *Options) row(m result.Metric, base, candidate []*result.Result) Row {
	a, b := values(&m, base), values(&m, candidate)
	r := Row{
		Metric: m.Name, Operation: m.Operation, Unit: m.Unit, Better: m.Better, Primary: primary(m),
		P: math.NaN(), RanksP: math.NaN(), Tolerance: o.Tolerances.Of(m.Name),
	}
	r.Base, r.Candidate = o.side(&m, a, base), o.side(&m, b, candidate)
	r.Change = only(change(m.Unit, r.Base.Value, r.Candidate.Value))
	if len(a) < 2 || len(b) < 2 {
		r.Verdict = Unknown
		return r
	}
	if m.Operation == "" {
		r.RanksP = stats.MannWhitney(a, b).P
	}
	var d stats.Change
	var err error
	if m.Unit == "share" {
		d, err = stats.WelchDifference(a, b, o.Confidence)
		r.Change = d.Difference
	} else {
		d, err = stats.Welch(a, b, o.Confidence)
		r.Change = stats.Interval{Value: d.Ratio.Value - 1, Low: d.Ratio.Low - 1, High: d.Ratio.High - 1}
	}
	if err != nil {
		r.Change = only(change(m.Unit, r.Base.Value, r.Candidate.Value))
		r.Note = "no interval: " + err.Error()
		return r
	}
	r.P, r.Effect = d.P, d.Effect
	return r
}

// side is the geometric mean of a side's values (the mean of shares, the median where some are zero or
// endless) with its interval; of one run, with the run's own.
func (o *Options) side(m *result.Metric, v []float64, runs []*result.Result) stats.Interval {
	if len(v) == 1 {
		i := only(v[0])
		if w := runs[0].Find(m.Name, m.Operation).Within; w != nil && w.Why == "" {
			i.Low, i.High, i.Correlated = w.Low, w.High, w.Correlated
		}
		return i
	}
	interval := stats.LogInterval
	if m.Unit == "share" {
		interval = stats.TInterval
	}
	i, err := interval(v, o.Confidence)
	if err != nil {
		return only(stats.Median(v))
	}
	return i
}

// only is an estimate without an interval.
func only(x float64) stats.Interval {
	return stats.Interval{Value: x, Low: math.NaN(), High: math.NaN()}
}

func change(unit string, a, b float64) float64 {
	switch {
	case unit == "share":
		return b - a
	case a == b:
		return 0
	}
	return b/a - 1
}

// correct corrects the p-values for how many there are.
func (c *Comparison) correct() {
	for _, family := range []struct {
		primary bool
		adjust  func([]float64) []float64
	}{{true, stats.Holm}, {false, stats.BenjaminiHochberg}} {
		var at []int
		var p []float64
		for i := range c.Rows {
			if r := &c.Rows[i]; r.Primary == family.primary && r.Better != result.Neutral && !math.IsNaN(r.P) {
				at, p = append(at, i), append(p, r.P)
			}
		}
		for k, adjusted := range family.adjust(p) {
			c.Rows[at[k]].P = adjusted
		}
	}
}

// verdict is that of the whole.
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
	case has(Inconclusive, primary):
		return Inconclusive
	case has(Improvement, primary):
		return Improvement
	}
	return Equivalent
}

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
