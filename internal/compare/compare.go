// Package compare says what several runs come to together, and whether the runs of one side are
// better or worse than those of another. The run is the unit: what happens within one run says
// nothing about the next.
package compare

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/message"
	"brunt/internal/metric"
	"brunt/internal/result"
	"brunt/internal/stats"
	"brunt/internal/units"
	"brunt/internal/verdict/exitcode"
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

// Options are how runs are compared. The zero value means the defaults named next to each.
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
	Warnings        []message.Message
	runs            []*result.Result // of both sides
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
	Better    metric.Better
	Primary   bool // judged with Holm's correction; the others with Benjamini and Hochberg's
	Base      stats.Interval
	Candidate stats.Interval
	// Change is candidate ÷ base − 1, or candidate − base for shares, with its interval.
	Change    stats.Interval
	P         float64 // of no change (Welch, or ranks where ByRanks), corrected for the number of metrics
	RanksP    float64 // of no change (Mann–Whitney), not corrected; NaN for operations unless ByRanks
	ByRanks   bool    // it has no ratio, because of times without end or zeros: ranks judge it
	Lacking   bool    // not all runs have it, so it isn't judged
	Effect    float64 // Hedges' g; NaN where there is none
	Tolerance float64
	Verdict   Verdict
	Needed    int             // runs on each side that would settle it; 0 if settled, unknown or more than stats.MostRuns
	Note      message.Message // what else to know of it
}

// Worse reports whether the change goes the wrong way.
func (r *Row) Worse() bool {
	return r.Better == metric.Lower && r.Change.Value > 0 || r.Better == metric.Higher && r.Change.Value < 0
}

// Refused is why runs aren't compared.
type Refused struct {
	Reasons []message.Message
	Invalid bool // runs are invalid, as their verdict says
}

// Error is one line.
func (e *Refused) Error() string {
	return e.In(units.English)
}

// Refusal gives a refused comparison its exit code.
func Refusal(err error) error {
	var refused *Refused
	if errors.As(err, &refused) && refused.Invalid {
		return exitcode.With(exitcode.Invalid, err)
	}
	return exitcode.Usage(err)
}

// In is the error in a language.
func (e *Refused) In(l units.Language) string {
	return message.Sentences(append(slices.Clone(e.Reasons), message.New("compare.anyway"))...).In(l)
}

// Runs compares the runs of two sides. It refuses, with a *Refused, runs whose comparison would mean
// nothing, unless Options.Anyway says otherwise. One run against one gives changes and what each run
// says of its own precision, and no verdict.
func Runs(base, candidate []*result.Result, o Options) (*Comparison, error) {
	if len(base) == 0 || len(candidate) == 0 {
		return nil, errors.New(
			"a comparison needs at least one run on each side, better 5; write base runs, --, and the others")
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
		Warnings: append(refusals.Reasons, warnings...), runs: slices.Concat(base, candidate),
	}
	common := false
	for _, m := range metrics(base, candidate) {
		r := o.row(m, base, candidate)
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

// metrics lists the metrics that are compared, each once, primary ones first.
func metrics(base, candidate []*result.Result) (all []result.Metric) {
	all = slices.DeleteFunc(metricsOf(slices.Concat(base, candidate)), func(m result.Metric) bool {
		return m.Operation != "" && !slices.Contains([]string{"rate", "response.avg", "response.p(99)"}, m.Name)
	})
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

// metricsOf lists the metrics that any of the runs has, each once, in the order of the runs.
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

// primary reports whether a metric is one of those that a run is for.
func primary(m result.Metric) bool {
	return m.Operation == "" && slices.Contains([]string{"rate", "response.p(99)", "errors"}, m.Name)
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

// row compares one metric; the verdict waits for the correction of P.
func (o *Options) row(m result.Metric, base, candidate []*result.Result) Row {
	a, b := values(&m, base), values(&m, candidate)
	r := Row{
		Metric: m.Name, Operation: m.Operation, Unit: m.Unit, Better: m.Better, Primary: primary(m),
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

// side is the geometric mean of a side's values (the mean of shares, the median where some are zero or
// endless) with its interval; of one run, with the run's own.
func (o *Options) side(m *result.Metric, v []float64, runs []*result.Result) stats.Interval {
	if len(v) == 1 {
		i := only(v[0])
		if w := runs[0].Find(m.Name, m.Operation).Within; w != nil && w.Why.IsZero() {
			i.Low, i.High, i.Correlated = w.Low, w.High, w.Correlated
		}
		return possible(i, m.Unit) // records have had others
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

// possible is an interval within the values that its unit can have: no time, rate, count or size is below 0, and
// no share above 1.
func possible(i stats.Interval, unit string) stats.Interval {
	if unit != "number" {
		i.Low = max(i.Low, 0)
	}
	if unit == "share" {
		i.High = min(i.High, 1)
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
			if r := &c.Rows[i]; r.Primary == family.primary && r.Better != metric.Neutral && !math.IsNaN(r.P) {
				at, p = append(at, i), append(p, r.P)
			}
		}
		for k, adjusted := range family.adjust(p) {
			c.Rows[at[k]].P = adjusted
		}
	}
}

// lackingOperations says which operations not all runs have.
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

// noInterval says why values of two sides are judged by ranks.
func noInterval(v []float64, unit string) message.Message {
	if i := slices.IndexFunc(v, func(x float64) bool { return !(x > 0) }); i >= 0 && unit != "share" {
		return message.New("compare.ranks.ratio", message.Text("value", strconv.FormatFloat(v[i], 'g', -1, 64)))
	}
	return message.New("compare.ranks.infinite")
}

// several is a list of at most five names.
func several(names []string) message.Message {
	const most = 5
	if len(names) > most {
		return message.New("compare.several", message.Text("names", strings.Join(names[:most], ", ")),
			message.Count("more", len(names)-most))
	}
	return message.Literal(strings.Join(names, ", "))
}
