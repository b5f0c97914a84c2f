package session

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
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

// NoData warns that a threshold had no data. If broken is set, the threshold counts as failed; otherwise k6 lets it
// pass.
func (s *Session) NoData(threshold string, broken bool) {
	s.mu.Lock()
	names := strings.Join(s.run.OperationNames(), ", ")
	s.mu.Unlock()
	rule, operations := message.Text("threshold", threshold), message.Text("operations", cmp.Or(names, "-"))
	if broken {
		s.warn(record.NewWarning("k6-no-data-broken", rule, operations))
	} else {
		s.warn(record.NewWarning("k6-no-data", rule, operations))
	}
}

// register registers brunt's metrics with k6, so that thresholds can name them. k6's registry is only accessible in a
// module's init context.
func (s *Session) register(vu modules.VU) {
	s.mu.Lock()
	s.inits = append(s.inits, vu)
	s.mu.Unlock()
	init := vu.InitEnv()
	if init == nil || init.TestPreInitState == nil || s.metrics.Load() != nil {
		return
	}
	var m Metrics
	var err error
	r := init.Registry
	for _, n := range []struct {
		to    **metrics.Metric
		name  string
		kind  metrics.MetricType
		value metrics.ValueType
	}{
		{&m.Response, "brunt_response", metrics.Trend, metrics.Time},
		{&m.Service, "brunt_service", metrics.Trend, metrics.Time},
		{&m.Operations, "brunt_operations", metrics.Counter, metrics.Default},
		{&m.Failed, "brunt_failed", metrics.Rate, metrics.Default},
	} {
		if *n.to, err = r.NewMetric(n.name, n.kind, n.value); err != nil {
			return // the script has a metric of another type with that name, which takes precedence
		}
	}
	m.root = r.RootTagSet()
	s.metrics.CompareAndSwap(nil, &m)
}

// Metrics returns brunt's metrics, nil if no script has imported one of brunt's modules.
func (s *Session) Metrics() *Metrics { return s.metrics.Load() }

// RootTags returns k6's empty set of tags, nil if it isn't known.
func (s *Session) RootTags() *metrics.TagSet {
	if m := s.metrics.Load(); m != nil {
		return m.root
	}
	return nil
}

// Requested reports whether an operation other than a bare iteration was recorded.
func (s *Session) Requested() bool { return s.requests.Load() }

// ActiveVUs sets the number of active VUs, as k6 reports it.
func (s *Session) ActiveVUs(n int64) { s.activeVUs.Store(n) }

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

// Samples sets the channel to which samples for k6 are sent. Only the first call counts.
func (s *Session) Samples(to chan<- metrics.SampleContainer) { s.samples.CompareAndSwap(nil, &to) }

// State sets k6's execution state. Only the first call counts; es may be nil.
func (s *Session) State(es *lib.ExecutionState) {
	if es != nil {
		s.state.CompareAndSwap(nil, es)
	}
}

// Flush makes k6 evaluate what was recorded once more, after its last sample and before it judges. It does nothing
// after Abort: k6 doesn't judge then, and the record is complete without it. k6 closes its channel of samples next:
// after Flush returns, nothing is sent on it.
func (s *Session) Flush() {
	defer s.silence(false)
	m := s.metrics.Load()
	if m == nil {
		return
	}
	s.sending.RLock()
	defer s.sending.RUnlock()
	if s.silent {
		return
	}
	to := s.channel()
	if to == nil {
		return
	}
	defer func() { _ = recover() }() // k6 also closes the channel when it has waited half an hour for its events
	*to <- metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m.Operations, Tags: m.root}, Time: time.Now()}
}

// offer sends samples to k6, unless the channel is full or k6 is about to close it.
func (s *Session) offer(all metrics.Samples) {
	// It must not wait for Abort: Abort waits for Flush, which waits for an output that may wait for offer's caller.
	if !s.sending.TryRLock() {
		return
	}
	defer s.sending.RUnlock()
	to := s.channel()
	if s.silent || to == nil {
		return
	}
	defer func() { _ = recover() }() // as in Flush
	select {
	case *to <- all:
	default:
	}
}

// Abort is called when k6 is about to end without waiting for scripts, and to close its channel of samples. After it
// returns, nothing is sent on the channel.
func (s *Session) Abort() { s.silence(true) }

func (s *Session) silence(aborted bool) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.silent, s.aborted = true, s.aborted || aborted
}

// channel returns the channel on which k6 receives samples, nil if no virtual user was ready.
func (s *Session) channel() *chan<- metrics.SampleContainer {
	if to := s.samples.Load(); to != nil {
		return to
	}
	return s.anySamples() // no virtual user has called anything
}

// anySamples returns that channel from any virtual user that imports one of brunt's modules, nil if none was ready.
func (s *Session) anySamples() *chan<- metrics.SampleContainer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, vu := range s.inits {
		if state := vu.State(); state != nil && state.Samples != nil {
			return &state.Samples
		}
	}
	return nil
}

// Recorder returns a recorder for an executor. tell is called before each hand-over. It must be made before the load
// begins.
func (s *Session) Recorder(tell func(*measure.Recorder)) *measure.Shared {
	r := s.cutter.collector.NewShared()
	r.Tell(tell)
	return r
}

// Tolerates records how late an executor may let iterations begin, to begin them together. The highest value counts.
func (s *Session) Tolerates(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.ToleranceNs = max(s.run.ToleranceNs, int64(d))
}

// Overdue counts arrivals that are still waiting at the end of their schedule.
func (s *Session) Overdue(n uint64) { s.cutter.overdue.Add(n) }

// Failed stores a failed attempt of a plan as an example of its error class.
func (s *Session) Failed(sample record.ErrorSample) {
	s.mu.Lock()
	bundle := s.bundle
	s.mu.Unlock()
	if bundle != nil {
		bundle.Failed(&sample)
	}
}
