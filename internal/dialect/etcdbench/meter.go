package etcdbench

import (
	"time"

	"brunt/internal/measure"
)

// Meter adds up the intervals of a run for the reports. Its methods must be called from one goroutine.
type Meter struct {
	service    bool
	startNs    int64
	endNs      int64
	operations []meterOperation
}

type meterOperation struct {
	times   *measure.Histogram
	failed  uint64
	seconds []Second
}

var _ measure.Sink = (*Meter)(nil)

// NewMeter returns a meter for a number of operations. service says that times count from the send.
func NewMeter(operations int, service bool) *Meter {
	m := &Meter{service: service, operations: make([]meterOperation, operations)}
	for i := range m.operations {
		m.operations[i].times = measure.NewHistogram()
	}
	return m
}

// Interval implements measure.Sink.
func (m *Meter) Interval(iv *measure.Interval) error {
	if m.endNs == 0 {
		m.startNs = iv.StartNs
	}
	m.endNs = iv.EndNs
	for i := range min(len(m.operations), len(iv.Operations)) {
		o, times := &m.operations[i], iv.Operations[i].Response
		if m.service {
			times = iv.Operations[i].Service
		}
		o.failed += iv.Operations[i].Failed()
		if times.Count() == 0 {
			continue
		}
		o.times.Merge(times)
		o.add(Second{Unix: iv.UnixNs / int64(time.Second), Min: time.Duration(times.Min()),
			Mean: time.Duration(times.Mean()), Max: time.Duration(times.Max()), Count: times.Count()})
	}
	return nil
}

// add adds a second, or an interval's part of one.
func (o *meterOperation) add(s Second) {
	if n := len(o.seconds); n > 0 && o.seconds[n-1].Unix >= s.Unix {
		last := &o.seconds[n-1]
		all := last.Count + s.Count
		last.Mean = time.Duration((float64(last.Mean)*float64(last.Count) + float64(s.Mean)*float64(s.Count)) / float64(all))
		last.Min, last.Max, last.Count = min(last.Min, s.Min), max(last.Max, s.Max), all
		return
	}
	o.seconds = append(o.seconds, s)
}

// Report returns the report of an operation.
func (m *Meter) Report(o *Options, operation int) *Report {
	of := &m.operations[operation]
	return &Report{Precise: o.Precise, Sample: o.Sample, Total: time.Duration(m.endNs - m.startNs), Times: of.times,
		Seconds: of.seconds}
}

// Count returns how many times an operation was sent, and how often it failed.
func (m *Meter) Count(operation int) (all, failed uint64) {
	of := &m.operations[operation]
	return of.times.Count() + of.failed, of.failed
}
