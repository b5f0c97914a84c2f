package record

import (
	"brunt/internal/measure"
)

// Tally sums up a run from its intervals: live while it is written, or afterwards from the
// record. Memory is fixed by the number of operations, addresses and phases.
type Tally struct {
	total     Interval // warm-up excluded
	durations struct{ loadNs, openNs int64 }
	scheduled int64 // planned length of the open phases, warm-up excluded; 0 if unknown
	phases    []phaseTally
	health    healthTally
	still     standstillTally
	lastNs    int64 // where the last interval ended
	lastUnix  int64 // the same on the wall clock
	intervals int
}

type phaseTally struct {
	phase    Phase
	seen     bool
	response *measure.Histogram
}

// NewTally returns the sums of nothing yet. run names the operations, targets and phases.
func NewTally(run *Run) *Tally {
	t := &Tally{}
	t.total.Operations = make([]measure.OperationInterval, len(run.Operations))
	t.total.Addresses = make([]measure.AddressInterval, len(run.Targets))
	for _, p := range run.Phases {
		p.Done, p.Errors, p.Offered, p.Response = 0, 0, 0, Latency{}
		t.Expect(p)
	}
	return t
}

// Add adds the next interval.
func (t *Tally) Add(iv *Interval) {
	p := t.phase(iv.Phase, iv.WarmUp)
	p.add(iv)
	t.lastNs = max(t.lastNs, iv.EndNs)
	t.lastUnix = max(t.lastUnix, iv.UnixNs+iv.DurationNs())
	t.intervals += iv.Slices
	t.health.add(iv)
	if iv.WarmUp {
		return
	}
	if p.phase.Kind != kindPause {
		t.durations.loadNs += iv.DurationNs()
	}
	if p.phase.Kind == kindOpen || (p.phase.Kind == "" && iv.Offered > 0) {
		t.durations.openNs += iv.DurationNs()
	}
	t.total.add(iv)
	t.still.add(iv, t.total.StartNs)
}

// Expect makes the sums know a phase before its first interval.
func (t *Tally) Expect(p Phase) {
	t.phase(p.Name, p.WarmUp).phase = p
	if p.Kind == kindOpen && !p.WarmUp {
		t.scheduled += p.DurationNs
	}
}

// the kinds of phases as plan.PhaseKind names them
const (
	kindOpen   = "open"
	kindClosed = "closed"
	kindPause  = "pause"
)

func (t *Tally) phase(name string, warmUp bool) *phaseTally {
	for i := range t.phases {
		if t.phases[i].phase.Name == name {
			return &t.phases[i]
		}
	}
	t.phases = append(t.phases, phaseTally{phase: Phase{Name: name, WarmUp: warmUp}})
	return &t.phases[len(t.phases)-1]
}

func (p *phaseTally) add(iv *Interval) {
	if !p.seen {
		p.seen, p.phase.StartNs = true, iv.StartNs
	}
	p.phase.DurationNs = iv.EndNs - p.phase.StartNs
	p.phase.Offered += iv.Offered
	for i := range iv.Operations {
		o := &iv.Operations[i]
		p.phase.Done += o.Done
		p.phase.Errors += o.Failed()
		mergeInto(&p.response, o.Response)
	}
}

// LastNs is where the last interval ended, on the run's clock.
func (t *Tally) LastNs() int64 { return t.lastNs }

// Response is the distribution of response times of one operation, or of all for operation −1.
// It may be nil, is shared with the tally and
// valid until the next Add.
func (t *Tally) Response(operation int) *measure.Histogram {
	if operation >= 0 && operation < len(t.total.Operations) {
		return t.total.Operations[operation].Response
	}
	all := t.all()
	return all.Response
}

func (t *Tally) all() (all measure.OperationInterval) {
	for i := range t.total.Operations {
		addOperation(&all, &t.total.Operations[i])
	}
	return all
}

// Total is the sums so far, warm-up excluded, shared with the tally.
func (t *Tally) Total() *Interval { return &t.total }

// Fill puts the sums into run: DurationNs, Operations' and Targets' figures, Total, Phases,
// Health and Standstill. What run already says of names, versions and limits stays.
func (t *Tally) Fill(run *Run) {
	run.DurationNs = t.durations.loadNs
	run.Operations = resize(run.Operations, len(t.total.Operations))
	for i := range run.Operations {
		t.fillOperation(&run.Operations[i], &t.total.Operations[i])
	}
	all := t.all()
	run.Total.Name = "all"
	t.fillOperation(&run.Total, &all)
	run.Total.OfferedPerS = t.offeredPerS()
	run.Targets = resize(run.Targets, len(t.total.Addresses))
	for i := range run.Targets {
		a := &t.total.Addresses[i]
		run.Targets[i].Counts = countsOf(&a.Counts)
		run.Targets[i].Service = LatencyOf(a.Service, true)
		run.Targets[i].Reconnects = a.Reconnects
	}
	run.Phases = make([]Phase, len(t.phases))
	for i := range t.phases {
		p := t.phases[i].phase
		p.Response = LatencyOf(t.phases[i].response, true)
		run.Phases[i] = p
	}
	ceiling := run.Health.CeilingPerS
	run.Health = t.health.summary(&t.total, &all, t.durations.loadNs)
	run.Health.CeilingPerS = ceiling
	run.Standstill = t.still.summary(t.durations.loadNs, all.OK())
}

// offeredPerS is the mean rate of arrivals in the open phases. What was sent after a schedule's
// end doesn't make the schedule longer.
func (t *Tally) offeredPerS() float64 {
	ns := t.durations.openNs
	if t.scheduled > 0 {
		ns = min(ns, t.scheduled)
	}
	if ns <= 0 {
		return 0
	}
	return float64(t.total.Offered) / (float64(ns) / 1e9)
}

func resize[T any](s []T, n int) []T {
	out := make([]T, n)
	copy(out, s)
	return out
}

func (t *Tally) fillOperation(o *Operation, p *measure.OperationInterval) {
	o.Counts = countsOf(&p.Counts)
	o.RatePerS = 0
	if t.durations.loadNs > 0 {
		o.RatePerS = float64(o.OK) / (float64(t.durations.loadNs) / 1e9)
	}
	o.Response, o.Service = LatencyOf(p.Response, true), LatencyOf(p.Service, true)
	o.Lag, o.FailedResponse = LatencyOf(p.Lag, true), LatencyOf(p.FailedResponse, true)
}

// FromTotals fills run's Operations, Total and Targets from a collector's totals; see
// measure.Collector.Total. The load's duration is taken to be the interval's. A Bundle's Tally
// knows more (phases, health): prefer it where there is one.
func FromTotals(run *Run, total *measure.Interval) {
	t := NewTally(run)
	t.Add(&Interval{Interval: *total, Slices: 1})
	phases, health := run.Phases, run.Health
	t.Fill(run)
	run.Phases, run.Health = phases, health
}
