// Package compare summarizes several runs of the same plan, and decides whether the runs of one side are better or
// worse than those of another. The run is the unit of measurement: the variation within one run doesn't predict the
// next run.
package compare

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/stats"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/plan/metric"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// Verdict is the result of comparing a metric.
type Verdict string

// The verdicts. All but Unknown depend on where the confidence interval of the change lies: beyond the tolerance on the
// worse side, beyond it on the better side, within it, or across one of its limits.
const (
	Regression   Verdict = "regression"
	Improvement  Verdict = "improvement"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
	Unknown      Verdict = "unknown" // a side has only one run
)

// Options control how runs are compared. The zero value means the defaults given in the comments.
type Options struct {
	Confidence float64    // of intervals; default 0.95
	Tolerances Tolerances // see DefaultTolerances
	Anyway     bool       // compare runs that should not be compared, with warnings
}

// Comparison is the comparison of two sides.
type Comparison struct {
	Base, Candidate Side
	Confidence      float64
	Verdict         Verdict // Regression if any metric has one; otherwise that of the primary metrics
	Rows            []Row   // primary metrics first, then the other metrics, then those of single operations
	Warnings        []message.Message
	Sums            []SumChange      // of operations whose mean response changed, if both sides know what it is made of
	Functions       []FunctionChange // of profiled services, the greatest changes first
}

// Side is the runs of one side.
type Side struct {
	Runs    int
	Name    string // of the plan of its runs
	Servers []string
	Version string // the servers' versions as the runs report them, such as "PostgreSQL 15.14"
}

// Row is the comparison of one metric.
type Row struct {
	Metric    string
	Operation string // "" for all operations together
	Unit      string
	Better    metric.Better
	Primary   bool // corrected by Holm's method; the other metrics by Benjamini and Hochberg's
	Base      stats.Interval
	Candidate stats.Interval
	// Change is candidate ÷ base − 1, or candidate − base for shares, with its interval.
	Change    stats.Interval
	P         float64 // p-value for "no change" (Welch, or ranks if ByRanks), corrected for the number of metrics
	RanksP    float64 // p-value for "no change" (Mann–Whitney), not corrected; NaN for operations unless ByRanks
	ByRanks   bool    // there is no ratio, because of infinite times or zeros, so the metric is judged by ranks
	Lacking   bool    // some runs don't have the metric, so it isn't judged
	Effect    float64 // Hedges' g; NaN if it isn't defined
	Tolerance float64
	Verdict   Verdict
	Needed    int             // runs on each side to settle it; 0 if settled, unknown or over stats.MostRuns
	Note      message.Message // a remark, such as why there is no interval
}

// Worse reports whether the change goes the wrong way.
func (r *Row) Worse() bool {
	return r.Better == metric.Lower && r.Change.Value > 0 || r.Better == metric.Higher && r.Change.Value < 0
}

// Refused is the error for runs that must not be compared.
type Refused struct {
	Reasons []message.Message
	Invalid bool // some runs are invalid by their verdict
}

// Error returns the error in English, on one line.
func (e *Refused) Error() string {
	return e.In(units.English)
}

// Refusal adds the exit code to the error of a comparison: Invalid if runs are invalid, otherwise that of wrong usage.
func Refusal(err error) error {
	if refused, ok := errors.AsType[*Refused](err); ok && refused.Invalid {
		return exitcode.With(exitcode.Invalid, err)
	}
	return exitcode.Usage(err)
}

// In returns the error in a language.
func (e *Refused) In(l units.Language) string {
	return message.Sentences(append(slices.Clone(e.Reasons), message.New("compare.anyway"))...).In(l)
}

// Runs compares the runs of two sides. It returns a *Refused for runs whose comparison would be meaningless, unless
// Options.Anyway is set. If a side has only one run, its intervals are those measured within that run, and the verdict
// is Unknown.
func Runs(base, candidate []*result.Result, o Options) (*Comparison, error) {
	if len(base) == 0 || len(candidate) == 0 {
		return nil, errors.New(
			"a comparison needs at least one run on each side, better 5; write base runs, --, and the others")
	}
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	refusals, warnings := judge(base, candidate)
	if len(refusals.Reasons) > 0 && !o.Anyway {
		return nil, &refusals
	}
	c := &Comparison{
		Base: sideOf(base), Candidate: sideOf(candidate), Confidence: o.Confidence,
		Warnings: append(refusals.Reasons, warnings...), Sums: sumChanges(base, candidate),
		Functions: functionChanges(base, candidate),
	}
	common := false
	main := primariesOf(slices.Concat(base, candidate))
	for _, m := range metrics(base, candidate, main) {
		r := o.row(m, base, candidate)
		r.Primary = primary(m, main)
		c.Rows, common = append(c.Rows, r), common || !r.Lacking
	}
	if !common {
		return nil, errors.New("the runs have no metric in common")
	}
	c.Warnings = append(c.Warnings, c.lackingOperations()...)
	c.correct()
	for i := range c.Rows {
		o.settle(&c.Rows[i], base, candidate)
	}
	c.Verdict = c.verdict()
	if c.Verdict == Unknown {
		c.Warnings = append(c.Warnings,
			message.New("compare.few-runs", message.Count("base", len(base)), message.Count("candidate", len(candidate))))
	}
	return c, nil
}

func sideOf(runs []*result.Result) Side {
	s := Side{Runs: len(runs), Name: runs[0].Name}
	for _, r := range runs {
		s.Servers = append(s.Servers, r.Servers...)
	}
	slices.Sort(s.Servers)
	s.Servers = slices.Compact(s.Servers)
	s.Version = strings.Join(s.Servers, ", ")
	return s
}

// ofOperations are the metrics of single operations that are compared.
var ofOperations = []string{"rate", "response.avg", "response.p(99)", "first.p(99)", "between.p(99)"}

// metrics returns the metrics to compare, each once, the primary ones first.
func metrics(base, candidate []*result.Result, main []string) (all []result.Metric) {
	all = slices.DeleteFunc(metricsOf(slices.Concat(base, candidate)), func(m result.Metric) bool {
		return m.Operation != "" && !slices.Contains(ofOperations, m.Name)
	})
	rank := func(m result.Metric) int {
		switch {
		case m.Operation != "":
			return 2
		case primary(m, main):
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b result.Metric) int { return rank(a) - rank(b) })
	return all
}

// metricsOf returns the metrics that any of the runs has, each once, in the order of the runs.
func metricsOf(runs []*result.Result) (all []result.Metric) {
	seen := map[[2]string]bool{}
	for _, r := range runs {
		for _, m := range r.Metrics {
			if key := [2]string{m.Name, m.Operation}; !seen[key] {
				all, seen[key] = append(all, m), true
			}
		}
	}
	return all
}

func everywhere(m result.Metric, runs []*result.Result) bool {
	return !slices.ContainsFunc(runs, func(r *result.Result) bool { return r.Find(m.Name, m.Operation) == nil })
}

// primariesOf returns the main metrics of runs: rate, p99 of response times and errors. The rate of an open load is
// what the load asked for: it says nothing of the target unless requests fail, which errors show.
func primariesOf(runs []*result.Result) []string {
	if !slices.ContainsFunc(runs, func(r *result.Result) bool { return r.LoadModel != "open" }) {
		return []string{"response.p(99)", "errors"}
	}
	return []string{"rate", "response.p(99)", "errors"}
}

// primary reports whether a metric is one of the main ones, over all operations.
func primary(m result.Metric, main []string) bool {
	return m.Operation == "" && slices.Contains(main, m.Name)
}

func values(m *result.Metric, runs []*result.Result) []float64 {
	v := make([]float64, 0, len(runs))
	for _, r := range runs {
		if of := r.Find(m.Name, m.Operation); of != nil {
			v = append(v, of.Value)
		}
	}
	return v
}

// row compares one metric. It doesn't set the verdict unless that is Unknown or the metric is lacking: settle does,
// after P is corrected.
func (o *Options) row(m result.Metric, base, candidate []*result.Result) Row {
	a, b := values(&m, base), values(&m, candidate)
	r := Row{
		Metric: m.Name, Operation: m.Operation, Unit: m.Unit, Better: m.Better,
		P: math.NaN(), RanksP: math.NaN(), Effect: math.NaN(), Tolerance: o.Tolerances.Of(m.Name),
	}
	if len(a) < len(base) || len(b) < len(candidate) {
		r.Lacking, r.Verdict = true, Inconclusive
		r.Base, r.Candidate, r.Change = only(stats.Median(a)), only(stats.Median(b)), only(math.NaN())
		r.Note = message.New("compare.lacking", message.Count("a", len(a)), message.Count("base", len(base)),
			message.Count("b", len(b)), message.Count("candidate", len(candidate)))
		return r
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
		r.Note = noInterval(slices.Concat(a, b), m.Unit)
		r.RanksP = stats.MannWhitney(a, b).P
		r.P, r.ByRanks = r.RanksP, true
		return r
	}
	r.P, r.Effect = d.P, d.Effect
	return r
}

// side returns the estimate for a side with its interval: the geometric mean, but the mean for shares, and the median
// without an interval if some values are zero or infinite. For a single run, the interval is that within the run.
func (o *Options) side(m *result.Metric, v []float64, runs []*result.Result) stats.Interval {
	if len(v) == 1 {
		i := only(v[0])
		if w := runs[0].Find(m.Name, m.Operation).Within; w != nil && w.Why.IsZero() {
			i.Low, i.High, i.Correlated = w.Low, w.High, w.Correlated
		}
		return possible(i, m.Unit) // older records have intervals beyond the limits
	}
	interval := stats.LogInterval
	if m.Unit == "share" {
		interval = stats.TInterval
	}
	i, err := interval(v, o.Confidence)
	if err != nil {
		return only(stats.Median(v))
	}
	return possible(i, m.Unit)
}

// possible clips an interval to the values that its unit can have: times, rates, counts and sizes are at least 0, and
// shares lie between 0 and 1.
func possible(i stats.Interval, unit string) stats.Interval {
	if unit != "number" {
		i.Low = max(i.Low, 0)
	}
	if unit == "share" {
		i.High = min(i.High, 1)
	}
	return i
}

// only returns an estimate without an interval.
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

// correct adjusts the p-values for the number of metrics.
func (c *Comparison) correct() {
	for _, family := range []struct {
		primary bool
		adjust  func([]float64) []float64
	}{{true, stats.Holm}, {false, stats.BenjaminiHochberg}} {
		var at []int
		var p []float64
		for i := range c.Rows {
			if r := &c.Rows[i]; r.Primary == family.primary && r.Better != metric.Neutral && !math.IsNaN(r.P) {
				at, p = append(at, i), append(p, r.P)
			}
		}
		for k, adjusted := range family.adjust(p) {
			c.Rows[at[k]].P = adjusted
		}
	}
}

// lackingOperations warns of operations that some runs don't have.
func (c *Comparison) lackingOperations() []message.Message {
	var names []string
	for _, r := range c.Rows {
		if r.Lacking && r.Operation != "" && !slices.Contains(names, r.Operation) {
			names = append(names, r.Operation)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []message.Message{message.New("compare.not-everywhere", message.Nested("names", several(names)))}
}

// noInterval returns a note on why the values are judged by ranks.
func noInterval(v []float64, unit string) message.Message {
	if i := slices.IndexFunc(v, func(x float64) bool { return !(x > 0) }); i >= 0 && unit != "share" {
		return message.New("compare.ranks.ratio", message.Text("value", strconv.FormatFloat(v[i], 'g', -1, 64)))
	}
	return message.New("compare.ranks.infinite")
}

// several joins names; of more than five it lists the first five and counts the others.
func several(names []string) message.Message {
	const most = 5
	if len(names) > most {
		return message.New("compare.several", message.Text("names", strings.Join(names[:most], ", ")),
			message.Count("more", len(names)-most))
	}
	return message.Literal(strings.Join(names, ", "))
}
