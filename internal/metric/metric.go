// Package metric declares the figures of a load that rules, comparisons and histories name, each in one place: what it
// is called, what it is computed of, and which way it should go.
package metric

import "slices"

// Better says which way a metric should go.
type Better int

// The ways; a Neutral metric is told and never judged.
const (
	Neutral Better = iota
	Higher
	Lower
)

// The units of values and limits.
const (
	Nanoseconds = "ns"
	Fraction    = "fraction"
	PerSecond   = "per_s"
	Number      = "count"
)

// Metric is a figure of one operation, or of all.
type Metric struct {
	Name       string
	Aggregates []string // that a rule may name; the first is meant where none is, but of times
	Better     Better
	// Tolerance is by how much it may change before that matters to a comparison: a share of it, or for shares a
	// difference. 0 leaves it out of comparisons.
	Tolerance float64
	Open      bool // of open loads only

	// What it is of: names of measure.Counts.Number, or Times.
	Times bool   // a distribution of times, by the metric's own name
	Part  string // a count
	Whole string // what its rate is a share of; "" if of nothing
	PerS  bool   // there are so many of Part a second
}

// All are the metrics, in the order in which they are named to people. What is added here can be used in rules and,
// with
// a tolerance, is compared and kept in histories.
var All = []Metric{
	{Name: "response", Aggregates: ofTimes, Better: Lower, Tolerance: 0.05, Times: true}, // of all arrivals
	{Name: "service", Aggregates: ofTimes, Better: Lower, Times: true},
	{Name: "lag", Aggregates: ofTimes, Better: Lower, Times: true},
	{Name: "rate", Aggregates: []string{"rate"}, Better: Higher, Tolerance: 0.03, Part: "ok", PerS: true},
	{Name: "count", Aggregates: []string{"count"}, Better: Higher, Tolerance: 0.03, Part: "done"},
	{Name: "errors", Aggregates: []string{"rate", "count"}, Better: Lower, Tolerance: 0.001, Part: "failed",
		Whole: "done"},
	{Name: "availability", Aggregates: []string{"rate"}, Better: Higher, Part: "ok", Whole: "arrivals"},
	{Name: "dropped", Aggregates: []string{"count", "rate"}, Better: Lower, Tolerance: 0.001, Part: "dropped",
		Whole: "arrivals", Open: true},
	{Name: "misdirected", Aggregates: []string{"rate", "count"}, Better: Lower, Part: "misdirected", Whole: "done"},
}

var ofTimes = []string{"p", "avg", "min", "med", "max"}

// Find returns the metric with a name, nil if there is none.
func Find(name string) *Metric {
	if i := slices.IndexFunc(All, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return &All[i]
	}
	return nil
}

// Names are those of All.
func Names() (all []string) {
	for i := range All {
		all = append(all, All[i].Name)
	}
	return all
}

// Compared is the aggregate that comparisons have of a metric that isn't of times.
func (m *Metric) Compared() string {
	if slices.Contains(m.Aggregates, "rate") {
		return "rate"
	}
	return m.Aggregates[0]
}

// UnitOf is the unit of an aggregate's values.
func (m *Metric) UnitOf(aggregate string) string {
	switch {
	case m.Times:
		return Nanoseconds
	case m.PerS:
		return PerSecond
	case aggregate == "count":
		return Number
	}
	return Fraction
}

// Of is the value of a metric that isn't of times: of the counts that number returns by their names, and of a load that
// lasted so long.
func (m *Metric) Of(number func(name string) uint64, loadNs int64, aggregate string) float64 {
	part, whole := float64(number(m.Part)), 1.0
	switch {
	case m.PerS:
		whole = float64(loadNs) / 1e9
	case aggregate != "count":
		whole = float64(number(m.Whole))
	}
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// Holds compares a value with a limit; "===", which k6 has, is "==".
func Holds(v float64, comparison string, limit float64) bool {
	switch comparison {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	case ">=":
		return v >= limit
	case "!=":
		return v != limit
	}
	return v == limit
}
