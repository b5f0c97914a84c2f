// Package metric declares the metrics of a load that rules, comparisons and histories use, each in one place: its name,
// what it is computed from, and whether higher or lower is better.
package metric

import "slices"

// Better is the direction in which a metric improves.
type Better int

// The directions. A Neutral metric is reported but never judged.
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

// Metric is a figure of one operation or of all operations.
type Metric struct {
	Name       string
	Aggregates []string // allowed in rules; the first is the default, except for times
	Better     Better
	// Tolerance is the change that doesn't matter to a comparison: relative, or a difference for fractions. A metric
	// with Tolerance 0 is not compared.
	Tolerance float64
	Open      bool // only for open loads

	// What the metric is computed from: names of measure.Counts.Number, or Times.
	Times bool   // a distribution of times with the metric's name
	Part  string // name of a count
	Whole string // name of the count that the rate is a fraction of; "" if none
	PerS  bool   // the rate is Part per second
}

// All are the metrics in the order of output. A metric that is added here can be used in rules. If it has a tolerance,
// it is also compared and kept in histories.
var All = []Metric{
	{Name: "response", Aggregates: ofTimes, Better: Lower, Tolerance: 0.05, Times: true}, // of all arrivals
	{Name: "service", Aggregates: ofTimes, Better: Lower, Times: true},
	{Name: "lag", Aggregates: ofTimes, Better: Lower, Times: true},
	{Name: "first", Aggregates: ofTimes, Better: Lower, Tolerance: 0.05, Times: true},   // of streams' first messages
	{Name: "between", Aggregates: ofTimes, Better: Lower, Tolerance: 0.05, Times: true}, // of streams' messages
	{Name: "pace", Aggregates: ofTimes, Better: Lower, Times: true},                     // of streams with an interval
	{Name: "rate", Aggregates: []string{"rate"}, Better: Higher, Tolerance: 0.03, Part: "ok", PerS: true},
	{Name: "count", Aggregates: []string{"count"}, Better: Higher, Tolerance: 0.03, Part: "done"},
	{Name: "errors", Aggregates: []string{"rate", "count"}, Better: Lower, Tolerance: 0.001, Part: "failed",
		Whole: "done"},
	{Name: "availability", Aggregates: []string{"rate"}, Better: Higher, Part: "ok", Whole: "arrivals"},
	{Name: "dropped", Aggregates: []string{"count", "rate"}, Better: Lower, Tolerance: 0.001, Part: "dropped",
		Whole: "arrivals", Open: true},
	{Name: "missing", Aggregates: []string{"rate", "count"}, Better: Lower, Part: "in_vain", Whole: "done"},
	{Name: "misdirected", Aggregates: []string{"rate", "count"}, Better: Lower, Part: "misdirected", Whole: "done"},
}

var ofTimes = []string{"p", "avg", "min", "med", "max"}

// Find returns the metric with a name; nil if there is none.
func Find(name string) *Metric {
	if i := slices.IndexFunc(All, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return &All[i]
	}
	return nil
}

// Names returns the names of All.
func Names() (all []string) {
	for i := range All {
		all = append(all, All[i].Name)
	}
	return all
}

// Compared returns the aggregate that comparisons use for a metric other than times.
func (m *Metric) Compared() string {
	if slices.Contains(m.Aggregates, "rate") {
		return "rate"
	}
	return m.Aggregates[0]
}

// UnitOf returns the unit of an aggregate's values.
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

// Of returns the value of a metric other than times. number returns a count by its name; loadNs is the load's duration.
// The value is 0 if it would be a fraction of 0.
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

// Holds compares a value with a limit. k6's "===" means "==".
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
