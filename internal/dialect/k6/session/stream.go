package session

import (
	"time"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/measure"
)

const (
	// mostPerOperation is the most values of a Trend or a Rate that k6's outputs receive for an operation in an
	// interval. If there are more operations, that many quantiles represent them.
	mostPerOperation = 100
	// mostPerInterval is the most values for all operations together. Each still gets at least leastPerOperation.
	mostPerInterval, leastPerOperation = 1000, 10
)

// stream sends samples of brunt's metrics to k6's outputs, once an interval. The cutter's mutex is held.
type stream struct {
	on   bool
	tags map[string]string // tags of all samples of the run
	of   []streamed        // by operation
}

// streamed is the state of one operation.
type streamed struct {
	tags *metrics.TagSet
	owed float64 // failures not yet in a sample; a fraction, since a sample may stand for several operations
}

// Outputs says that k6 has outputs that receive samples. tags are on all samples of the run.
func (s *Session) Outputs(tags map[string]string) {
	s.cutter.mu.Lock()
	s.cutter.stream.on, s.cutter.stream.tags = true, tags
	s.cutter.mu.Unlock()
}

// interval sends the samples of an interval to k6. If k6 doesn't accept them because an output blocks it, they are
// dropped.
func (st *stream) interval(s *Session, iv *measure.Interval) {
	m := s.metrics.Load()
	if !st.on || m == nil {
		return
	}
	var all metrics.Samples
	names := s.names()
	active := 0
	for i := range iv.Operations {
		if iv.Operations[i].Done > 0 {
			active++
		}
	}
	most := min(max(mostPerInterval/max(active, 1), leastPerOperation), mostPerOperation)
	for i := range min(len(iv.Operations), len(names)) {
		for len(st.of) <= i {
			tags := m.root.WithTagsFromMap(st.tags).With(TagOperation, names[len(st.of)])
			st.of = append(st.of, streamed{tags: tags})
		}
		if o := &iv.Operations[i]; o.Done > 0 {
			all = st.of[i].samples(all, m, o, time.Unix(0, iv.UnixNs), time.Duration(iv.DurationNs()), most)
		}
	}
	if len(all) > 0 {
		s.offer(all)
	}
}

// samples appends the samples of one operation.
func (o *streamed) samples(all metrics.Samples, m *Metrics, from *measure.OperationAccount, start time.Time,
	length time.Duration, most int) metrics.Samples {
	add := func(metric *metrics.Metric, at time.Time, v float64) {
		all = append(all, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: o.tags}, Time: at, Value: v})
	}
	// Time-series databases identify the values of a series by their timestamps.
	moment := func(i, n int) time.Time {
		if n%step != 0 {
			i = i * step % n
		}
		return start.Add(time.Duration((float64(i) + 0.5) / float64(n) * float64(length)))
	}
	add(m.Operations, start.Add(length/2), float64(from.Done))
	trend := func(metric *metrics.Metric, h *measure.Histogram) {
		n := int(min(h.Count(), uint64(most)))
		for i := range n {
			add(metric, moment(i, n), float64(h.Quantile((float64(i)+0.5)/float64(n)))/float64(time.Millisecond))
		}
	}
	trend(m.Response, from.Response)
	trend(m.Service, from.Service)
	n := int(min(from.Done, uint64(most)))
	o.owed += float64(from.Failed()) / float64(from.Done) * float64(n)
	for i := range n {
		failed := 0.0
		if o.owed >= 1-1e-9 {
			failed, o.owed = 1, o.owed-1
		}
		add(m.Failed, moment(i, n), failed)
	}
	return all
}

// step shuffles the values within an interval, which would otherwise be in ascending order.
const step = 37
