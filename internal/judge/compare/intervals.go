package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"brunt/internal/base/stats"
	"brunt/internal/judge/result"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Summary summarizes several runs of the same plan.
type Summary struct {
	Runs       int
	Name       string
	Servers    string
	Confidence float64
	Rows       []SummaryRow
	Warnings   []message.Message
}

// SummaryRow is one metric over the runs. Intervals that can't be computed are NaN, and Note says why.
type SummaryRow struct {
	Metric    string
	Operation string
	Unit      string
	// Typical is the most reliable interval, and TypicalIs names its centre: the geometric mean with the interval in
	// Log; for shares the mean; if some times are infinite or 0, the median.
	Typical   stats.Interval
	TypicalIs string
	// Mean is the interval as the article about Picostress defines it: x̄ ± t·s/√n.
	Mean stats.Interval
	// Log is the geometric mean and its interval by Student's t on logarithms.
	Log stats.Interval
	// Median is the median with its interval. It holds for any distribution, but needs more runs.
	Median    stats.Interval
	Deviation float64 // standard deviation ÷ mean
	Needed    int     // runs for an interval within ± the tolerance; 0 if unknown or there are enough
	Within    *record.Bounds
	Note      message.Message // why an interval is missing
}

// Values of SummaryRow.TypicalIs.
const (
	GeometricMean  = "geometric mean"
	ArithmeticMean = "mean"
	MedianOfRuns   = "median"
)

// Intervals summarizes runs of the same plan: the mean of every metric with its confidence interval. It returns a
// *Refused under the conditions under which Runs would refuse one side, unless o.Anyway is set.
func Intervals(runs []*result.Result, o Options) (*Summary, error) {
	if len(runs) == 0 {
		return nil, errors.New("name at least one result, better 6 or more")
	}
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	refused, warnings := judge(runs, nil)
	if len(refused.Reasons) > 0 && !o.Anyway {
		return nil, &refused
	}
	side := sideOf(runs)
	s := &Summary{
		Runs: len(runs), Name: cmp.Or(side.Name, runs[0].Program), Servers: side.Version, Confidence: o.Confidence,
		Warnings: append(refused.Reasons, warnings...),
	}
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b *result.Result) int { return a.Started.Compare(b.Started) })
	var lacking []string
	for _, m := range metricsOf(runs) {
		if everywhere(m, runs) {
			s.Rows = append(s.Rows, o.summarize(m, values(&m, sorted)))
			continue
		}
		name := cmp.Or(m.Operation, m.Name)
		if !slices.Contains(lacking, name) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 {
		s.Warnings = append(s.Warnings, message.New("intervals.not-everywhere", message.Nested("names", several(lacking))))
	}
	if m := runs[0].Find("rate", ""); m != nil && everywhere(*m, runs) {
		s.order(values(m, sorted))
	}
	s.missing()
	return s, nil
}

func (o *Options) summarize(m result.Metric, v []float64) SummaryRow {
	r := SummaryRow{
		Metric: m.Name, Operation: m.Operation, Unit: m.Unit,
		Mean: only(stats.Mean(v)), Log: only(math.NaN()), Median: only(stats.Median(v)), Deviation: math.NaN(),
	}
	r.Typical, r.TypicalIs = r.Mean, ArithmeticMean
	if len(v) == 1 {
		r.Within = m.Within
		return r
	}
	if median, err := stats.MedianInterval(v, o.Confidence); err == nil {
		r.Median = median
	}
	mean, err := stats.TInterval(v, o.Confidence)
	if err != nil {
		r.Typical, r.TypicalIs = r.Median, MedianOfRuns
		r.Note = message.New("intervals.infinite")
		return r
	}
	r.Mean = possible(mean, m.Unit)
	if mean.Value != 0 {
		r.Deviation = stats.Deviation(v) / math.Abs(mean.Value)
	}
	if log, err := stats.LogInterval(v, o.Confidence); err == nil {
		r.Log = possible(log, m.Unit)
	}
	switch {
	case m.Unit == "share" || m.Unit == "number" && math.IsNaN(r.Log.Value):
		r.Typical = r.Mean
	case math.IsNaN(r.Log.Value):
		r.Typical, r.TypicalIs = r.Median, MedianOfRuns
	default:
		r.Typical, r.TypicalIs = r.Log, GeometricMean
	}
	if m.Unit != "share" {
		if n := stats.RunsForWidth(v, o.Tolerances.Of(m.Name), o.Confidence); n > len(v) {
			r.Needed = n
		}
	}
	return r
}

// order warns if runs depend on those before them, that is, if their lag-1 autocorrelation exceeds twice its standard
// error, 1/√n (Bartlett 1946).
func (s *Summary) order(rates []float64) {
	if n := len(rates); n >= 6 {
		if rho := stats.Autocorrelation(rates); math.Abs(rho) > 2/math.Sqrt(float64(n)) {
			s.Warnings = append(s.Warnings, message.New("intervals.order",
				message.Text("autocorrelation", fmt.Sprintf("%.2f", rho))))
		}
	}
}

// missing warns of statistics that need more runs than there are.
func (s *Summary) missing() {
	if s.Runs < 2 {
		s.Warnings = append(s.Warnings, message.New("intervals.one-run"))
	}
	if need := stats.RunsForMedian(s.Confidence); s.Runs < need {
		s.Warnings = append(s.Warnings, message.New("intervals.median", message.Text("confidence", percent(s.Confidence)),
			message.Count("need", need), message.Count("runs", s.Runs)))
	}
}
