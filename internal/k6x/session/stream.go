package session

import (
	"time"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/measure"
)

const (
	// mostPerOperation is how many values of a Trend or a Rate an operation has in an interval for k6's outputs, at
	// most: more operations stand for themselves by so many quantiles.
	mostPerOperation = 100
	// mostPerInterval is how many values all operations have together, and leastPerOperation what each has even so.
	mostPerInterval, leastPerOperation = 1000, 10
)

// stream gives k6's outputs samples of our metrics, interval by interval. It is used with the cutter's mutex held.
type stream struct {
	on   bool
	tags map[string]string // of the whole run
	of   []streamed        // by operation
}

// streamed is one operation.
type streamed struct {
	tags *metrics.TagSet
	owed float64 // failures that samples have not said yet, of those that stand for several operations
}

// Outputs says that k6 has outputs that want samples, and which tags all samples of the run have.
func (s *Session) Outputs(tags map[string]string) {
	s.cutter.mu.Lock()
	s.cutter.stream.on, s.cutter.stream.tags = true, tags
	s.cutter.mu.Unlock()
}

// interval sends the samples of an interval to where k6 takes them from. Where k6 doesn't take them, because an output
// keeps it waiting, they are dropped rather than waited for.
func (st *stream) interval(s *Session, iv *measure.Interval) {
	m := s.metrics.Load()
	if !st.on || m == nil {
		return
	}
	var all metrics.Samples
	s.mu.Lock()
	names := s.run.OperationNames()
	s.mu.Unlock()
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

// samples appends those of one operation.
func (o *streamed) samples(all metrics.Samples, m *Metrics, from *measure.OperationAccount, start time.Time,
	length time.Duration, most int) metrics.Samples {
	add := func(metric *metrics.Metric, at time.Time, v float64) {
		all = append(all, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: o.tags}, Time: at, Value: v})
	}
	// Stores of time series tell values of one series apart by their times.
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

// step mixes the order of values in an interval, which would rise in each one else.
const step = 37
