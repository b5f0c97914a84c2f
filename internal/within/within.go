// Package within computes confidence intervals within one run: how far its rates, means and quantiles
// would differ had it gone on. Values of one run depend on each other, so a run is cut into ten parts
// of equal length, whose figures vary around those of the whole (batch means, sectioning; see package
// stats). How far another run would differ it can't say.
package within

import (
	"math"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/stats"
)

// parts is how many parts a run is cut into.
const parts = 10

// Why a figure has no interval.
var (
	WhyFewIntervals = message.New("interval.few-intervals")
	WhyFewValues    = message.New("interval.few-values")
	WhyUnanswered   = message.New("interval.unanswered")
)

// Fill gives the figures of run their intervals within it, from its intervals: those of all operations,
// each operation, each address and each phase but warm-up. The figures themselves must be there.
// It also warns of a load that took long to come to rest.
func Fill(run *record.Run, intervals func(func(*measure.Interval) error) error) error {
	f := &filler{run: run, all: stream{lengthNs: run.DurationNs}, phases: make([]stream, len(run.Phases))}
	f.total = f.operation(&run.Total)
	for i := range run.Operations {
		f.operations = append(f.operations, f.operation(&run.Operations[i]))
	}
	for i := range run.Targets {
		f.addresses = append(f.addresses, newStretch(&f.ns, run.Targets[i].Counts.OK))
	}
	for i := range f.phases {
		f.phases[i].lengthNs = run.Phases[i].DurationNs
		f.phase = append(f.phase, newStretch(new([parts]int64), math.MaxUint64))
	}
	if err := intervals(f.interval); err != nil {
		return err
	}
	f.finish()
	run.Warnings = append(run.Warnings, f.course.warnings()...)
	return nil
}

// filler goes through a run once.
type filler struct {
	run        *record.Run
	all        stream
	total      operation
	operations []operation
	addresses  []stretch
	ns         [parts]int64 // of the whole load's parts
	phases     []stream
	phase      []stretch
	course     course
}

// operation is one operation's figures.
type operation struct{ response, service stretch }

func (f *filler) operation(of *record.Operation) operation {
	return operation{newStretch(&f.ns, of.Response.Count+of.Response.NoAnswer), newStretch(&f.ns, of.Service.Count)}
}

// stream says which part of a run an interval belongs to.
type stream struct {
	lengthNs, passedNs int64
	part               int
}

// next is the part that the next ns belong to, and whether that is another than before.
func (s *stream) next(ns int64) (part int, another bool) {
	part = s.part
	if s.lengthNs > 0 {
		part = min(int(float64(parts)*(float64(s.passedNs)+float64(ns)/2)/float64(s.lengthNs)), parts-1)
	}
	s.passedNs += ns
	another = part != s.part
	s.part = part
	return part, another
}

// interval takes the next interval.
func (f *filler) interval(iv *measure.Interval) error {
	ns := iv.LoadNs
	for i := range f.phases {
		if f.run.Phases[i].Name != iv.Phase || iv.WarmUp {
			continue
		}
		part, another := f.phases[i].next(iv.DurationNs())
		if another {
			f.phase[i].seal()
		}
		for k := range iv.Operations {
			o := &iv.Operations[k]
			f.phase[i].add(part, o.Response, o.Done, o.NoAnswer())
		}
		f.phase[i].ns[part] += iv.DurationNs()
	}
	if iv.WarmUp || ns == 0 {
		return nil
	}
	f.course.add(iv)
	part, another := f.all.next(ns)
	if another {
		f.each(func(s *stretch) { s.seal() })
	}
	f.ns[part] += ns
	for i := range iv.Operations {
		o := &iv.Operations[i]
		for _, to := range []*operation{&f.total, &f.operations[i]} {
			to.response.add(part, o.Response, o.OK(), o.NoAnswer())
			to.service.add(part, o.Service, o.OK(), 0)
		}
	}
	for i := range iv.Addresses {
		a := &iv.Addresses[i]
		f.addresses[i].add(part, a.Service, a.OK(), 0)
	}
	return nil
}

// each calls g with the stretches of the whole load.
func (f *filler) each(g func(*stretch)) {
	g(&f.total.response)
	g(&f.total.service)
	for i := range f.operations {
		g(&f.operations[i].response)
		g(&f.operations[i].service)
	}
	for i := range f.addresses {
		g(&f.addresses[i])
	}
}

// finish puts the intervals into the run.
func (f *filler) finish() {
	f.each(func(s *stretch) { s.seal() })
	fill := func(o *record.Operation, from *operation) {
		o.RateWithin = from.response.rate()
		o.Response.Within = from.response.bounds(&o.Response, true)
		o.ResponseOK.Within = from.response.bounds(&o.ResponseOK, false)
		o.Service.Within = from.service.bounds(&o.Service, false)
	}
	fill(&f.run.Total, &f.total)
	for i := range f.operations {
		fill(&f.run.Operations[i], &f.operations[i])
	}
	for i := range f.addresses {
		g := &f.run.Targets[i]
		g.RateWithin, g.Service.Within = f.addresses[i].rate(), f.addresses[i].bounds(&g.Service, false)
	}
	for i := range f.phase {
		f.phase[i].seal()
		p := &f.run.Phases[i]
		if p.WarmUp {
			continue
		}
		p.RateWithin, p.Response.Within = f.phase[i].rate(), f.phase[i].bounds(&p.Response, true)
	}
}

// figures are a part's mean and quantiles, in the order of record.Within.
type figures [1 + len(record.Quantiles)]float64

// stretch is a distribution in its ten parts, of which only the present one is kept whole.
type stretch struct {
	ns            *[parts]int64 // how long they are, shared by stretches of the same time
	done          [parts]uint64
	*distribution // nil: it has too few values for any bounds of its figures
}

// distribution is what is kept of values.
type distribution struct {
	counts   [parts]uint64 // of answers
	noAnswer [parts]uint64
	answers  [parts]figures // of those answered
	arrivals [parts]figures // of all; +Inf among those without an answer

	part int // the present one
	h    *measure.Histogram
}

// newStretch is for a distribution of so many values, those without an answer included.
func newStretch(ns *[parts]int64, values uint64) stretch {
	if float64(values) < parts*stats.FewestExceedances {
		return stretch{ns: ns}
	}
	return stretch{ns: ns, distribution: &distribution{}}
}

// add adds an interval's values to a part.
func (s *stretch) add(part int, h *measure.Histogram, done, noAnswer uint64) {
	s.done[part] += done
	if s.distribution == nil {
		return
	}
	if s.h == nil {
		s.h = measure.NewHistogram()
	}
	s.part = part
	s.h.Merge(h)
	s.noAnswer[part] += noAnswer
}

// seal ends the present part.
func (s *stretch) seal() {
	if s.distribution == nil || s.h == nil {
		return
	}
	k := s.part
	s.counts[k] = s.h.Count()
	s.answers[k][0], s.arrivals[k][0] = s.h.Mean(), s.h.Mean()
	all := measure.Answers{Times: s.h, NoAnswer: s.noAnswer[k]}
	for i, q := range record.Quantiles {
		s.answers[k][1+i] = float64(s.h.Quantile(q))
		s.arrivals[k][1+i] = float64(all.Quantile(q))
		if all.Quantile(q) == measure.Infinite {
			s.arrivals[k][1+i] = math.Inf(1)
		}
	}
	s.h.Reset()
}

// rate is the interval of the rate.
func (s *stretch) rate() *record.Bounds {
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

func bounds(of []float64, whole float64) *record.Bounds {
	ci := stats.BatchCI(of, whole, record.Confidence)
	return &record.Bounds{Low: ci.Low, High: ci.High, Correlated: ci.Correlated}
}

// bounds are the intervals of a distribution's figures, with or without the arrivals that have no answer.
func (s *stretch) bounds(l *record.Latency, arrivals bool) *record.Within {
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

// without says why none of the figures has an interval, nil if some may.
func (s *stretch) without() *record.Bounds {
	switch {
	case slices.Contains(s.ns[:], 0):
		return &record.Bounds{Why: WhyFewIntervals}
	case s.distribution == nil:
		return &record.Bounds{Why: WhyFewValues}
	}
	return nil
}

// figure is the interval of one figure of which the share beyond lies above each part's.
func (s *stretch) figure(of *[parts]figures, i int, whole, beyond float64, arrivals bool) *record.Bounds {
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
