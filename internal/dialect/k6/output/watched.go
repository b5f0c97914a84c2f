package output

import (
	"context"
	"slices"
	"strings"
	"sync"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"brunt/internal/base/secret"
	"brunt/internal/inspect/observe"
	"brunt/internal/record"
)

// mostFigures is the most checks and metrics of a script that are recorded separately.
const mostFigures = 200

// figures collects the checks, the iterations and the script's own metrics between two samples. It is safe for
// concurrent use.
type figures struct {
	mu     sync.Mutex
	checks map[string]*figure
	others map[*metrics.Metric]*figure // nil for those that aren't recorded
}

var _ observe.Source = (*figures)(nil)

// figure is one check or metric.
type figure struct {
	observe.Metric
	kind        metrics.MetricType
	scale       float64
	value       float64 // of a counter, or the latest one of a gauge
	sum, n      float64 // of Trends and Rates, since the last sample
	held, tried float64 // of checks, in the whole run
}

// scaleOf returns a metric's unit, and the factor that converts its values to that unit.
func scaleOf(m *metrics.Metric) (unit string, scale float64) {
	switch {
	case m.Type == metrics.Rate:
		return observe.Share, 1
	case m.Contains == metrics.Time:
		return observe.Seconds, 1e-3
	case m.Contains == metrics.Data:
		return observe.Bytes, 1
	}
	return observe.Count, 1
}

// wanted reports whether a metric is recorded here. Requests and brunt's own operations are in the record anyway.
// Checks are recorded also one by one, by their groups and names.
func wanted(name string) bool {
	return !strings.HasPrefix(name, "http_req") && !strings.HasPrefix(name, "brunt_") &&
		!strings.HasPrefix(name, metrics.VUsName)
}

// add adds a sample. tagged is the same sample with all its tags. f.mu is held.
func (f *figures) add(s, tagged *metrics.Sample) {
	if s.Metric.Name == metrics.ChecksName {
		f.check(tagged)
	}
	g, known := f.others[s.Metric]
	if !known {
		if wanted(s.Metric.Name) && len(f.others) < mostFigures {
			unit, scale := scaleOf(s.Metric)
			g = &figure{Metric: observe.Metric{Name: s.Metric.Name, Unit: unit, Counter: s.Metric.Type == metrics.Counter},
				kind: s.Metric.Type, scale: scale}
		}
		if len(f.others) < 2*mostFigures {
			f.others[s.Metric] = g
		}
	}
	switch {
	case g == nil:
	case g.kind == metrics.Counter:
		g.value += s.Value
	case g.kind == metrics.Gauge:
		g.value, g.n = s.Value, 1
	case g.kind == metrics.Rate && s.Value != 0:
		g.sum, g.n = g.sum+1, g.n+1
	default:
		g.sum, g.n = g.sum+s.Value, g.n+1
	}
}

// checkName returns the name of a check, prefixed with its groups: "cart::pay::status is 200". k6 doesn't allow the
// separator in names.
func checkName(tags *metrics.TagSet) string {
	name, _ := tags.Get(metrics.TagCheck.String())
	group, _ := tags.Get(metrics.TagGroup.String())
	return strings.TrimPrefix(group+lib.GroupSeparator+name, lib.GroupSeparator)
}

func (f *figures) check(s *metrics.Sample) {
	name := checkName(s.Tags)
	c := f.checks[name]
	if c == nil {
		if len(f.checks) >= mostFigures {
			return
		}
		c = &figure{Metric: observe.Metric{Name: record.WatchedCheck + secret.Text(name), Unit: observe.Share},
			kind: metrics.Rate, scale: 1}
		f.checks[name] = c
	}
	c.n++
	c.tried++
	if s.Value != 0 {
		c.sum++
		c.held++
	}
}

// Name implements observe.Source.
func (f *figures) Name() string { return record.WatchedScript }

// Sample implements observe.Source. Counters are totals; shares and means cover the time since the last sample.
func (f *figures) Sample(context.Context) (out observe.Sample, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.others {
		out = g.appendTo(out)
	}
	for _, g := range f.checks {
		out = g.appendTo(out)
	}
	return out, nil
}

func (g *figure) appendTo(out observe.Sample) observe.Sample {
	switch {
	case g == nil:
		return out
	case g.kind == metrics.Counter, g.kind == metrics.Gauge && g.n > 0:
		return append(out, observe.Value{Metric: g.Metric, Value: g.value * g.scale})
	case g.n == 0:
		return out
	}
	out = append(out, observe.Value{Metric: g.Metric, Value: g.sum / g.n * g.scale})
	g.sum, g.n = 0, 0
	return out
}

// watched returns the checks, iterations and the script's own metrics over the whole run.
func (o *Output) watched() record.Watched {
	w := record.Watched{Source: record.WatchedScript}
	add := func(name, unit string, kind metrics.MetricType, values, first, mean, most, last float64) {
		w.Metrics = append(w.Metrics, record.WatchedMetric{Name: name, Unit: unit, Kind: kind.String(),
			Values: uint64(max(values, 0)), First: first, Min: min(first, mean), Mean: mean, Max: most, Last: last})
	}
	o.figures.mu.Lock()
	for _, c := range o.figures.checks {
		share := c.held / c.tried
		add(c.Name, c.Unit, metrics.Rate, c.tried, share, share, share, share)
	}
	o.figures.mu.Unlock()
	for name, m := range o.seen {
		if !wanted(name) || m.Sink.IsEmpty() {
			continue
		}
		unit, scale := scaleOf(m)
		switch sink := m.Sink.(type) {
		case *metrics.CounterSink:
			add(name, unit, m.Type, valuesOf(m.Sink), sink.Value*scale, sink.Value*scale, sink.Value*scale, sink.Value*scale)
		case *metrics.GaugeSink:
			add(name, unit, m.Type, valuesOf(m.Sink), sink.Min*scale, sink.Value*scale, sink.Max*scale, sink.Value*scale)
		case *metrics.RateSink:
			share := float64(sink.Trues) / float64(max(sink.Total, 1))
			add(name, unit, m.Type, valuesOf(m.Sink), share, share, share, share)
		case *metrics.TrendSink:
			add(name, unit, m.Type, valuesOf(m.Sink), sink.Min()*scale, sink.Avg()*scale, sink.Max()*scale, sink.Avg()*scale)
		}
	}
	slices.SortFunc(w.Metrics, func(a, b record.WatchedMetric) int { return strings.Compare(a.Name, b.Name) })
	return w
}
