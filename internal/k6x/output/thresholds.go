package output

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/record"
)

// aggregation is the left side of a threshold of k6, such as "p(95)" or "rate", how it must be to the limit, and that.
var aggregation = regexp.MustCompile(`^\s*(p\(\s*[0-9.]+\s*\)|[a-z]+)\s*([<>=!]+)\s*([-+0-9.eE]+)`)

// thresholds are k6's rules as k6 has judged them.
func (o *Output) thresholds() (out []record.Threshold) {
	for name, rules := range o.rules {
		sink, contains := o.sink(name)
		for _, t := range rules.Thresholds {
			r := record.Threshold{Text: name + ": " + t.Source, Pass: !t.LastFailed, Aborted: t.LastFailed && rules.Abort, Unit: "count"}
			if m := aggregation.FindStringSubmatch(t.Source); m != nil && sink != nil {
				limit, _ := strconv.ParseFloat(m[3], 64)
				value := valueOf(sink, strings.ReplaceAll(m[1], " ", ""))
				r.Value, r.Limit = record.Figure(value), limit
				if contains == metrics.Time && m[1] != "rate" && m[1] != "count" {
					r.Unit, r.Value, r.Limit = "ns", record.Figure(value*1e6), limit*1e6
				} else if _, counter := sink.(*metrics.CounterSink); m[1] == "rate" && counter {
					r.Unit = "per_s"
				} else if m[1] == "rate" {
					r.Unit = "fraction"
				}
				r.Aggregate = &record.Aggregate{How: m[1], Holds: m[2], Values: valuesOf(sink)}
			}
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record.Threshold) int { return strings.Compare(a.Text, b.Text) })
	return out
}

// sink finds the values of the metric or the part of one that a threshold names.
func (o *Output) sink(name string) (metrics.Sink, metrics.ValueType) {
	base, _, _ := strings.Cut(name, "{")
	m := o.seen[base]
	if m == nil {
		return nil, metrics.Default
	}
	if base == name {
		return m.Sink, m.Contains
	}
	for _, sub := range m.Submetrics {
		if sub.Name == name || strings.ReplaceAll(sub.Name, " ", "") == strings.ReplaceAll(name, " ", "") {
			return sub.Metric.Sink, m.Contains
		}
	}
	return nil, metrics.Default
}

// valuesOf is how many values a sink has taken; of a counter, its sum.
func valuesOf(sink metrics.Sink) float64 {
	switch s := sink.(type) {
	case *metrics.CounterSink:
		return s.Value
	case *metrics.RateSink:
		return float64(s.Total)
	case *metrics.TrendSink:
		return float64(s.Count())
	case *metrics.GaugeSink:
		if !s.IsEmpty() {
			return 1
		}
	}
	return 0
}

// valueOf is a sink's value of an aggregation, NaN if it has none.
func valueOf(sink metrics.Sink, what string) float64 {
	if t, ok := sink.(*metrics.TrendSink); ok && strings.HasPrefix(what, "p(") {
		p, err := strconv.ParseFloat(strings.Trim(what, "p()"), 64)
		if err == nil && p >= 0 && p <= 100 {
			return t.P(p / 100)
		}
	}
	if v, ok := sink.Format(0)[what]; ok {
		return v
	}
	return math.NaN()
}
