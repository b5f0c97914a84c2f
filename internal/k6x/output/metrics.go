package output

import (
	"time"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/k6x/session"
	"brunt/internal/k6x/trend"
	"brunt/internal/measure"
)

// ourMetrics are what k6 is told of the operations that modules and executors record by themselves:
// without a sample for each, k6's sinks are brought up to date from the record's sums.
type ourMetrics struct {
	s     *session.Session
	shown bool
}

// first is a sample of each metric, the first time that there is something to show.
func (m *ourMetrics) first(at time.Time, tags *metrics.TagSet) (out []metrics.Sample) {
	ours := m.s.Metrics()
	if m.shown || ours == nil || !m.s.Requested() {
		return nil
	}
	m.shown = true
	for _, metric := range []*metrics.Metric{ours.Response, ours.Service, ours.Operations, ours.Failed} {
		out = append(out, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Time: at})
	}
	return out
}

// fill brings k6's sinks up to date: those with thresholds, or all.
func (m *ourMetrics) fill(all bool) {
	ours := m.s.Metrics()
	if ours == nil || !m.s.Requested() {
		return
	}
	if !all && !ruled(ours.Response, ours.Service, ours.Operations, ours.Failed) {
		return
	}
	m.s.Sums(func(total *measure.Account, names []string) {
		each(ours.Response, total, names, func(o *measure.OperationAccount, sink metrics.Sink) { fillTrend(sink, o.Response) })
		each(ours.Service, total, names, func(o *measure.OperationAccount, sink metrics.Sink) { fillTrend(sink, o.Service) })
		each(ours.Operations, total, names, func(o *measure.OperationAccount, sink metrics.Sink) {
			if c, ok := sink.(*metrics.CounterSink); ok {
				c.Value = float64(o.Done)
				if c.First.IsZero() && o.Done > 0 {
					c.First = time.Now()
				}
			}
		})
		each(ours.Failed, total, names, func(o *measure.OperationAccount, sink metrics.Sink) {
			if r, ok := sink.(*metrics.RateSink); ok {
				r.Trues, r.Total = int64(o.Failed()), int64(o.Done)
			}
		})
	})
}

// ruled reports whether any of the metrics, or a part of it, has thresholds.
func ruled(all ...*metrics.Metric) bool {
	for _, m := range all {
		if len(m.Thresholds.Thresholds) > 0 {
			return true
		}
		for _, sub := range m.Submetrics {
			if len(sub.Metric.Thresholds.Thresholds) > 0 {
				return true
			}
		}
	}
	return false
}

// each calls f for a metric, and for each part of it with the operations that have its tag.
func each(m *metrics.Metric, total *measure.Account, names []string, f func(*measure.OperationAccount, metrics.Sink)) {
	all := total.All()
	f(&all, m.Sink)
	for _, sub := range m.Submetrics {
		var part measure.OperationAccount
		for i := range total.Operations {
			if i < len(names) && matches(sub.Tags, names[i]) {
				part.Add(&total.Operations[i])
			}
		}
		f(&part, sub.Metric.Sink)
	}
}

// matches reports whether tags ask for an operation and nothing else.
func matches(tags *metrics.TagSet, operation string) bool {
	want := tags.Map()
	return len(want) == 1 && want[session.TagOperation] == operation
}

func fillTrend(sink metrics.Sink, h *measure.Histogram) {
	t, ok := sink.(*metrics.TrendSink)
	if !ok {
		return
	}
	const ms = float64(time.Millisecond)
	trend.Fill(t, trend.Distribution{
		N: h.Count(), Min: float64(h.Min()) / ms, Max: float64(h.Max()) / ms, Sum: h.Sum() / ms,
		Each: func(f func(lo, hi float64, n uint64)) {
			h.Each(func(lo, hi int64, n uint64) bool {
				f(float64(lo)/ms, float64(hi)/ms, n)
				return true
			})
		},
	})
}
