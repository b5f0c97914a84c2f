package session

import (
	"sync"
	"time"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/measure"
)

// TagOperation is the tag that selects an operation of brunt's metrics in thresholds.
const TagOperation = "operation"

// Metrics are k6's metrics for operations that are recorded without k6's samples.
type Metrics struct {
	Response   *metrics.Metric // brunt_response: ms, successful operations
	Service    *metrics.Metric // brunt_service: ms, successful operations
	Operations *metrics.Metric // brunt_operations: finished operations
	Failed     *metrics.Metric // brunt_failed: share of failed operations
	root       *metrics.TagSet
}

// Named returns the metric with that name, nil if there is none.
func (m *Metrics) Named(name string) *metrics.Metric {
	for _, one := range []*metrics.Metric{m.Response, m.Service, m.Operations, m.Failed} {
		if one != nil && one.Name == name {
			return one
		}
	}
	return nil
}

// Iterations counts iterations that ended at a given time.
func (s *Session) Iterations(n uint64, at time.Time) {
	s.iterations.Add(n)
	s.touch(s.At(at))
}

// Iteration records an iteration of a scenario as an operation, unless its requests are operations.
func (s *Session) Iteration(scenario string, ms float64, at time.Time) {
	if s.requests.Load() {
		return
	}
	end := s.At(at)
	sent := end - int64(ms*float64(time.Millisecond))
	m := measure.Sample{Address: -1, Intended: sent, Sent: sent, End: end, Attempts: 1}
	if s.held.on {
		s.loadBegan(sent)
		s.held.keep(scenario, m)
		s.touch(end)
		return
	}
	m.Operation = s.Operation(IterationName(scenario))
	s.record(s.shards[0], &m)
}

// held stores iterations, which become operations only if the whole run has no requests. It is safe for concurrent use.
type held struct {
	on bool // set before the load

	mu        sync.Mutex
	scenarios map[string]int // number of the operation in collector
	collector *measure.Collector
	recorder  *measure.Shared
}

// keep stores an iteration of a scenario.
func (h *held) keep(scenario string, m measure.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.collector == nil {
		h.scenarios, h.collector = map[string]int{}, measure.NewCollector(mostOperations, 0)
		h.recorder = h.collector.NewShared()
		h.collector.Begin(0)
	}
	n, known := h.scenarios[scenario]
	if !known {
		if n = len(h.scenarios); n >= mostOperations {
			return
		}
		h.scenarios[scenario] = n
	}
	m.Operation = n
	h.recorder.Record(&m)
}

// release adds the stored iterations as operations to an interval that ends at ns, if the run had no requests.
func (h *held) release(s *Session, iv *measure.Interval, ns int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.collector == nil || s.requests.Load() {
		return
	}
	from := h.collector.Cut(ns, measure.Meta{Phase: loadPhase})
	for scenario, n := range h.scenarios {
		iv.Operations[s.Operation(IterationName(scenario))].Add(&from.Operations[n])
	}
	h.collector = nil
}

// Recorder returns a recorder for an executor. tell is called before each hand-over. It must be made before the load
// begins.
func (s *Session) Recorder(tell func(*measure.Recorder)) *measure.Shared {
	r := s.cutter.collector.NewShared()
	r.Tell(tell)
	return r
}

// Overdue counts arrivals that are still waiting at the end of their schedule.
func (s *Session) Overdue(n uint64) { s.cutter.overdue.Add(n) }
