// Package confidence computes confidence intervals within one run: by how much its rates, means and quantiles would
// differ had the run gone on. The values of one run depend on each other, so the run is cut into ten parts of equal
// length, and the intervals are computed from the figures of the parts (batch means, sectioning; see package stats).
// The intervals do not cover differences between runs.
package confidence

import (
	"cmp"
	"math"
	"slices"

	"brunt/internal/base/stats"
	"brunt/internal/load/control"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// parts is the number of parts of a run.
const parts = 10

// The reasons why a figure has no interval.
var (
	WhyFewIntervals = message.New("interval.few-intervals")
	WhyFewValues    = message.New("interval.few-values")
	WhyUnanswered   = message.New("interval.unanswered")
)

// mostSlots is the maximum number of slots that hold a run until its length is known. It must be even.
const mostSlots = 160

// Taker collects a run's intervals. Its memory is bounded by the number of operations, addresses and phases. It is a
// measure.Sink and must be used by one goroutine.
type Taker struct {
	total      operation
	operations []operation
	addresses  []*stretch
	load       slots
	phases     map[string]*phase
	course     course
	decisions  map[string][]control.Decision // by phase
	declared   [measure.Distributions]measure.Distribution
	scratch    *measure.Histogram

	// Peers means that all addresses serve the same requests, so that a slower address is worth a warning.
	Peers bool
}

var _ measure.Sink = (*Taker)(nil)

// operation holds the times of one operation, in the order of measure.Declared. Those without values are nil.
type operation [measure.Distributions]*stretch

// phase holds the response times of all operations in a phase.
type phase struct {
	slots
	all *stretch
}

// NewTaker returns a Taker for a run that hasn't begun.
func NewTaker() *Taker {
	t := &Taker{phases: map[string]*phase{}, decisions: map[string][]control.Decision{}, scratch: measure.NewHistogram(),
		declared: measure.Declared()}
	t.total = t.operation()
	return t
}

// ofResponse is the index of response times among an operation's times. They are of arrivals, and have the rate.
const ofResponse = 0

func (t *Taker) operation() (o operation) {
	o[ofResponse] = t.load.stretch(t.scratch)
	return o
}

// add adds an operation's part of an interval.
func (t *Taker) add(to *operation, o *measure.OperationAccount) {
	for i, times := range o.Times() {
		switch {
		case i == ofResponse:
			to[i].add(*times, o.OK(), o.NoAnswer())
		case !t.declared[i].Within || (*times).Count() == 0:
		default:
			if to[i] == nil {
				to[i] = t.load.stretch(t.scratch)
			}
			to[i].add(*times, 0, 0)
		}
	}
}

// Fill fills in run's intervals as Taker.Fill does, from the intervals that the iterator yields. Its error is the
// iterator's.
func Fill(run *record.Run, intervals func(func(*measure.Interval) error) error) error {
	t := NewTaker()
	if err := intervals(t.Interval); err != nil {
		return err
	}
	t.Fill(run)
	return nil
}

// Interval implements measure.Sink. It never fails.
func (t *Taker) Interval(iv *measure.Interval) error {
	if iv.WarmUp {
		return nil
	}
	if c := iv.Control; c != nil && !iv.Drain {
		t.decisions[iv.Phase] = append(t.decisions[iv.Phase], control.Decision{RatePerS: c.RatePerS,
			Reason: control.Reason(c.Reason)})
	}
	p := t.phases[iv.Phase]
	if p == nil {
		p = &phase{}
		p.all = p.stretch(t.scratch)
		t.phases[iv.Phase] = p
	}
	p.begin(iv.DurationNs())
	for i := range iv.Operations {
		o := &iv.Operations[i]
		p.all.add(o.Response, o.Done, o.NoAnswer())
	}
	if iv.LoadNs == 0 {
		return nil
	}
	if iv.Control == nil {
		t.course.add(iv) // the rate of a controlled load is its result
	}
	t.load.begin(iv.LoadNs)
	for len(t.operations) < len(iv.Operations) {
		t.operations = append(t.operations, t.operation())
	}
	for i := range iv.Operations {
		o := &iv.Operations[i]
		t.add(&t.total, o)
		t.add(&t.operations[i], o)
	}
	for len(t.addresses) < len(iv.Addresses) {
		t.addresses = append(t.addresses, t.load.stretch(t.scratch))
	}
	for i := range iv.Addresses {
		a := &iv.Addresses[i]
		t.addresses[i].add(a.Service, a.OK(), 0)
	}
	return nil
}

// Fill sets the confidence intervals of run's figures: those of all operations, of each operation, of each address and
// of each phase except warm-ups. The figures must have been filled in before. It also adds warnings about a load that
// took long to become steady, about slow addresses, and about adaptive phases. Call it last.
func (t *Taker) Fill(run *record.Run) {
	none := t.operation()
	fill := func(o *record.Operation, from *operation) {
		for i, l := range o.Times() {
			if !t.declared[i].Within || i != ofResponse && l.Count == 0 {
				l.Within = nil
				continue
			}
			of := t.load.parts(cmp.Or(from[i], none[ofResponse]))
			l.Within = of.bounds(l, i == ofResponse)
			if i == ofResponse {
				o.RateWithin, o.ResponseOK.Within = of.rate(), of.bounds(&o.ResponseOK, false)
			}
		}
	}
	fill(&run.Total, &t.total)
	for i := range run.Operations {
		from := &none
		if i < len(t.operations) {
			from = &t.operations[i]
		}
		fill(&run.Operations[i], from)
	}
	var nodes []*sections
	for i := range run.Targets {
		from := none[ofResponse]
		if i < len(t.addresses) {
			from = t.addresses[i]
		}
		g, of := &run.Targets[i], t.load.parts(from)
		g.RateWithin, g.Service.Within = of.rate(), of.bounds(&g.Service, false)
		nodes = append(nodes, of)
	}
	if t.Peers {
		run.Warnings = append(run.Warnings, slowNodes(run, nodes)...)
	}
	for i := range run.Phases {
		p := &run.Phases[i]
		if p.WarmUp {
			continue
		}
		from := t.phases[p.Name]
		if from == nil {
			from = &phase{}
			from.all = from.stretch(t.scratch)
		}
		of := from.parts(from.all)
		p.RateWithin, p.Response.Within = of.rate(), of.bounds(&p.Response, true)
		if p.Adaptive != nil {
			run.Warnings = append(run.Warnings, t.settle(p)...)
		}
	}
	run.Warnings = append(run.Warnings, t.course.warnings()...)
}

// figures are the mean and the quantiles of a part, in the order of record.Within.
type figures [1 + len(record.Quantiles)]float64

// rate returns the interval of the rate.
func (s *sections) rate() *record.Bounds {
	var rates []float64
	var ns int64
	var done uint64
	for i := range parts {
		if s.ns[i] == 0 {
			return &record.Bounds{Why: WhyFewIntervals}
		}
		rates = append(rates, float64(s.done[i])/(float64(s.ns[i])/1e9))
		ns, done = ns+s.ns[i], done+s.done[i]
	}
	return bounds(rates, float64(done)/(float64(ns)/1e9))
}

// bounds returns the interval of a rate or a time, cut off at 0.
func bounds(of []float64, whole float64) *record.Bounds {
	ci := stats.BatchCI(of, whole, record.Confidence)
	return &record.Bounds{Low: max(ci.Low, 0), High: ci.High, Correlated: ci.Correlated}
}

// bounds returns the intervals of a distribution's figures. arrivals means that arrivals without an answer are
// included.
func (s *sections) bounds(l *record.Latency, arrivals bool) *record.Within {
	if l.Count+l.NoAnswer == 0 {
		return nil
	}
	why := s.without()
	of := (*[parts]figures)(nil)
	switch {
	case why != nil:
	case arrivals:
		of = &s.arrivals
	default:
		of = &s.answers
	}
	whole := []record.Ns{record.Ns(l.MeanNs), l.P50Ns, l.P75Ns, l.P90Ns, l.P95Ns, l.P99Ns, l.P999Ns, l.P9999Ns}
	out := make([]*record.Bounds, len(whole))
	for i, ns := range whole {
		beyond := 1.0
		if i > 0 {
			beyond = min(record.Quantiles[i-1], 1-record.Quantiles[i-1])
		}
		switch {
		case ns == record.Infinite:
		case why != nil:
			out[i] = why
		default:
			value := float64(ns)
			if i == 0 {
				value = l.MeanNs
			}
			out[i] = s.figure(of, i, value, beyond, arrivals)
		}
	}
	return record.WithinOf(out)
}

// without returns the reason why no figure has an interval; nil if some may have one.
func (s *sections) without() *record.Bounds {
	switch {
	case slices.Contains(s.ns[:], 0):
		return &record.Bounds{Why: WhyFewIntervals}
	case s.values() < parts*stats.FewestExceedances:
		return &record.Bounds{Why: WhyFewValues}
	}
	return nil
}

// figure returns the interval of figure i. beyond is the share of values beyond it; each part needs enough of them.
func (s *sections) figure(of *[parts]figures, i int, whole, beyond float64, arrivals bool) *record.Bounds {
	var values []float64
	for k := range parts {
		n := s.counts[k]
		if arrivals && i > 0 {
			n += s.noAnswer[k]
		}
		switch v := of[k][i]; {
		case float64(n)*beyond < stats.FewestExceedances:
			return &record.Bounds{Why: WhyFewValues}
		case math.IsInf(v, 1):
			return &record.Bounds{Why: WhyUnanswered}
		default:
			values = append(values, v)
		}
	}
	return bounds(values, whole)
}
