package ycsb

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"brunt/internal/dialect/ycsb/output"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// Meter collects the data for results during the load, and prints progress lines. It is a measure.Sink.
type Meter struct {
	job     *Job
	out     io.Writer
	results *output.Results
	raw     *output.Raw  // nil unless every operation is recorded
	logs    *output.Logs // nil unless logs are written

	parts [2]struct { // the read and the update of READ_MODIFY_WRITE
		mu         sync.Mutex
		ok, failed *measure.Histogram
	}

	updates sync.Map // by operation number: start of an update that has several requests

	startNs, nextNs int64 // start of what counts, and time of the next progress line
	zeroUnixNs      int64 // wall clock at the start of the run's clock
	begun           bool
}

// NewMeter returns a meter that prints progress lines to out. open creates files.
func NewMeter(j *Job, out io.Writer, open output.Open) *Meter {
	m := &Meter{job: j, out: out, results: output.NewResults()}
	if j.Settings.Output.Raw {
		m.raw = &output.Raw{}
	}
	if j.Settings.Output.Logs {
		m.logs = &output.Logs{Prefix: j.Settings.Output.LogPrefix, Open: open}
	}
	for i := range m.parts {
		m.parts[i].ok, m.parts[i].failed = measure.NewHistogram(), measure.NewHistogram()
	}
	return m
}

// Attach registers m with a compiled workload, if m needs times that intervals don't have.
func (m *Meter) Attach(w *workload.Workload) {
	if m.raw != nil {
		w.Timed = m.timed
	}
	if m.Parts() {
		w.TimedRequests = m.part
	}
}

// Parts reports whether there are operations whose parts are only known from Timed.
func (m *Meter) Parts() bool {
	return slices.ContainsFunc(m.job.Plan.Operations, func(o plan.Operation) bool { return o.Name == OpRMW })
}

// timed is called for each operation.
func (m *Meter) timed(t workload.Timing) {
	start := t.SentNs
	if m.job.Settings.Output.Measure != "op" {
		start = t.IntendedNs
	}
	name := m.job.Plan.Operations[t.Operation].Name
	failed := t.Class != protocol.OK && name != OpRMW
	m.raw.Add(named(name, failed), !failed && name != OpRMW, start, t.EndNs-start)
}

// part is called for each request. It adds the read or the update of a READ_MODIFY_WRITE: its first request, or all
// others together.
func (m *Meter) part(t workload.Timing) {
	if m.job.Plan.Operations[t.Operation].Name != OpRMW {
		return
	}
	part, label := 0, OpRead
	failed := t.Class != protocol.OK
	if t.Step > 0 {
		part, label = 1, OpUpdate
		if last := len(m.job.Plan.Operations[t.Operation].Steps) - 1; last > 1 {
			if t.Step == 1 {
				m.updates.Store(t.Index, t.SentNs)
			}
			if t.Step < last && !failed {
				return
			}
			if began, ok := m.updates.LoadAndDelete(t.Index); ok {
				t.SentNs = began.(int64)
			}
		}
	}
	p := &m.parts[part]
	p.mu.Lock()
	if failed {
		p.failed.Record(t.EndNs - t.SentNs)
	} else {
		p.ok.Record(t.EndNs - t.SentNs)
	}
	p.mu.Unlock()
	if m.raw != nil {
		m.raw.Add(named(label, failed), !failed, t.SentNs, t.EndNs-t.SentNs)
	}
}

func named(name string, failed bool) string {
	if failed {
		return name + "_ERROR"
	}
	return name
}

// Interval implements measure.Sink.
func (m *Meter) Interval(iv *measure.Interval) error {
	m.zeroUnixNs = iv.UnixNs - iv.StartNs
	if iv.WarmUp {
		m.dropParts()
		return nil
	}
	every := int64(m.job.Settings.Output.Every)
	if !m.begun {
		m.begun, m.startNs, m.nextNs = true, iv.StartNs, iv.StartNs+every
	}
	m.results.Elapsed(iv.EndNs - m.startNs)
	var errs []error
	for i := range iv.Operations {
		errs = append(errs, m.operation(iv, i))
	}
	m.takeParts()
	if iv.EndNs >= m.nextNs-every/20 {
		m.nextNs += every
		errs = append(errs, m.progress())
	}
	return errors.Join(errs...)
}

// operation adds an operation's data of an interval.
func (m *Meter) operation(iv *measure.Interval, i int) error {
	o, name := &iv.Operations[i], m.job.Plan.Operations[i].Name
	what := m.job.Settings.Output.Measure
	total, failures := output.Total, named(name, true)
	if name == OpRMW {
		total, failures = "", name
	}
	headline := o.Service
	if what == "intended" {
		headline = o.Response
	}
	m.results.Merge(name, total, headline)
	m.results.Merge(failures, "", o.FailedResponse)
	if what == "both" {
		intendedTotal := ""
		if total != "" {
			intendedTotal = "Intended-" + total
		}
		m.results.Merge("Intended-"+name, intendedTotal, o.Response)
	}
	if m.logs == nil {
		return nil
	}
	return m.logs.Add(name, iv.UnixNs, iv.EndNs-iv.StartNs, headline)
}

// takeParts adds the parts of READ_MODIFY_WRITEs since the last interval to the results.
func (m *Meter) takeParts() {
	for i, name := range []string{OpRead, OpUpdate} {
		p := &m.parts[i]
		p.mu.Lock()
		m.results.Merge(name, output.Total, p.ok)
		m.results.Merge(named(name, true), "", p.failed)
		p.ok.Reset()
		p.failed.Reset()
		p.mu.Unlock()
	}
}

// dropParts discards the parts of READ_MODIFY_WRITEs during the warm-up.
func (m *Meter) dropParts() {
	for i := range m.parts {
		p := &m.parts[i]
		p.mu.Lock()
		p.ok.Reset()
		p.failed.Reset()
		p.mu.Unlock()
	}
}

// progress prints the results so far, as go-ycsb does at each interval.
func (m *Meter) progress() error {
	if m.raw != nil || m.out == nil {
		return nil
	}
	return m.results.Write(m.out, m.job.Settings.Output.Style)
}

// Finish writes the results: files, and lines to out, or instead to the file that measurement.output_file or exportfile
// names.
func (m *Meter) Finish(out io.Writer, open output.Open) (err error) {
	o := &m.job.Settings.Output
	m.takeParts()
	if m.logs != nil {
		if err := m.logs.Close(); err != nil {
			return fmt.Errorf("histogram log: %w", err)
		}
	}
	if o.Percentiles && m.raw == nil {
		if err := m.results.Percentiles(out, o.PercentilePrefix, open); err != nil {
			return err
		}
	}
	if o.File != "" {
		f, err := open(o.File)
		if err != nil {
			return fmt.Errorf("result: %w; check measurement.output_file or exportfile", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	switch {
	case m.raw != nil:
		return m.raw.Write(out, m.startNs, m.zeroUnixNs)
	case o.Exporter != "":
		return m.results.WriteYCSB(out, o.Exporter)
	}
	return m.results.Write(out, o.Style)
}
