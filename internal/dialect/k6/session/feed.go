package session

import (
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/metrics"
)

// feed sends samples of brunt's metrics to k6, on k6's own channel, until k6 closes it.
type feed struct {
	metrics atomic.Pointer[Metrics]
	samples atomic.Pointer[chan<- metrics.SampleContainer]

	mu    sync.Mutex
	inits []modules.VU // virtual users that import one of brunt's modules; guarded by mu

	sending sync.RWMutex // held for reading while sending on samples
	silent  bool         // nothing is sent any more; guarded by sending
	aborted bool         // Abort was called; guarded by sending
}

// register registers brunt's metrics with k6, so that thresholds can name them. k6's registry is only accessible in a
// module's init context.
func (f *feed) register(vu modules.VU) {
	f.mu.Lock()
	f.inits = append(f.inits, vu)
	f.mu.Unlock()
	init := vu.InitEnv()
	if init == nil || init.TestPreInitState == nil || f.metrics.Load() != nil {
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
			return // the script made a metric of another type with that name before it imported the module
		}
	}
	m.root = r.RootTagSet()
	f.metrics.CompareAndSwap(nil, &m)
}

// Metrics returns brunt's metrics, nil if no script has imported one of brunt's modules.
func (f *feed) Metrics() *Metrics { return f.metrics.Load() }

// RootTags returns k6's empty set of tags, nil if it isn't known.
func (f *feed) RootTags() *metrics.TagSet {
	if m := f.metrics.Load(); m != nil {
		return m.root
	}
	return nil
}

// Samples sets the channel to which samples for k6 are sent. Only the first call counts.
func (f *feed) Samples(to chan<- metrics.SampleContainer) { f.samples.CompareAndSwap(nil, &to) }

// Flush makes k6 evaluate what was recorded once more, after its last sample and before it judges. It does nothing
// after Abort: k6 doesn't judge then, and the record is complete without it. k6 closes its channel of samples next:
// after Flush returns, nothing is sent on it.
func (f *feed) Flush() {
	defer f.silence(false)
	m := f.metrics.Load()
	if m == nil {
		return
	}
	f.sending.RLock()
	defer f.sending.RUnlock()
	if f.silent {
		return
	}
	to := f.channel()
	if to == nil {
		return
	}
	defer func() { _ = recover() }() // k6 also closes the channel when it has waited half an hour for its events
	*to <- metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m.Operations, Tags: m.root}, Time: time.Now()}
}

// offer sends samples to k6, unless the channel is full or k6 is about to close it.
func (f *feed) offer(all metrics.Samples) {
	// It must not wait for Abort: Abort waits for Flush, which waits for an output that may wait for offer's caller.
	if !f.sending.TryRLock() {
		return
	}
	defer f.sending.RUnlock()
	to := f.channel()
	if f.silent || to == nil {
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
func (f *feed) Abort() { f.silence(true) }

func (f *feed) silence(aborted bool) {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.silent, f.aborted = true, f.aborted || aborted
}

// channel returns the channel on which k6 receives samples, nil if no virtual user was ready.
func (f *feed) channel() *chan<- metrics.SampleContainer {
	if to := f.samples.Load(); to != nil {
		return to
	}
	return f.anySamples() // no virtual user has called anything
}

// anySamples returns that channel from any virtual user that imports one of brunt's modules, nil if none was ready.
func (f *feed) anySamples() *chan<- metrics.SampleContainer {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, vu := range f.inits {
		if state := vu.State(); state != nil && state.Samples != nil {
			return &state.Samples
		}
	}
	return nil
}

// wasAborted reports whether Abort was called.
func (f *feed) wasAborted() bool {
	f.sending.RLock()
	defer f.sending.RUnlock()
	return f.aborted
}
