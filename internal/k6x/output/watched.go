//go:build !nok6

package output

import (
	"slices"
	"strings"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/record"
)

// mostChecks bounds the checks that are told apart.
const mostChecks = 100

// checked counts how often a check held.
type checked struct{ held, tried float64 }

// check counts a sample of k6's checks by the check's name.
func (o *Output) check(s *metrics.Sample) {
	name, _ := s.Tags.Get(metrics.TagCheck.String())
	c := o.checks[name]
	if c == nil {
		if len(o.checks) >= mostChecks {
			return
		}
		c = &checked{}
		o.checks[name] = c
	}
	c.tried++
	if s.Value != 0 {
		c.held++
	}
}

// watched is what the record says of checks, iterations and the script's own metrics. Of a Trend first is
// the least value and last the mean.
func (o *Output) watched() record.Watched {
	w := record.Watched{Source: "k6"}
	add := func(name, unit string, first, mean, most, last float64) {
		w.Metrics = append(w.Metrics, record.WatchedMetric{Name: name, Unit: unit, First: first, Min: min(first, mean), Mean: mean, Max: most, Last: last})
	}
	for name, c := range o.checks {
		share := c.held / c.tried
		add("check "+name, "share", share, share, share, share)
	}
	for name, m := range o.seen {
		if strings.HasPrefix(name, "http_req") || strings.HasPrefix(name, "brunt_") || strings.HasPrefix(name, "vus") || m.Sink.IsEmpty() {
			continue
		}
		unit, scale := "count", 1.0
		switch m.Contains {
		case metrics.Time:
			unit, scale = "seconds", 1e-3
		case metrics.Data:
			unit = "bytes"
		}
		switch sink := m.Sink.(type) {
		case *metrics.CounterSink:
			add(name, unit, sink.Value*scale, sink.Value*scale, sink.Value*scale, sink.Value*scale)
		case *metrics.GaugeSink:
			add(name, unit, sink.Min*scale, sink.Value*scale, sink.Max*scale, sink.Value*scale)
		case *metrics.RateSink:
			share := float64(sink.Trues) / float64(max(sink.Total, 1))
			add(name, "share", share, share, share, share)
		case *metrics.TrendSink:
			add(name, unit, sink.Min()*scale, sink.Avg()*scale, sink.Max()*scale, sink.Avg()*scale)
		}
	}
	slices.SortFunc(w.Metrics, func(a, b record.WatchedMetric) int { return strings.Compare(a.Name, b.Name) })
	w.Samples = uint64(len(w.Metrics))
	return w
}
