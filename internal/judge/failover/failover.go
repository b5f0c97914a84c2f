// Package failover computes the account of outages from a run's intervals: when arrivals began to fail, how long none
// succeeded, when the service had recovered, and how much was lost. It is a pure function of intervals and faults. The
// definitions follow the failover tests of CockroachDB and etcd, but use every arrival instead of only the longest
// request, which a timeout cuts short. docs/failover.md states them.
package failover

import (
	"cmp"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The defaults of the account's settings.
const (
	DefaultDeadlineNs  = 1_000_000_000 // or the operations' timeout, if that is shorter
	DefaultToleranceNs = 100_000_000
	DefaultHoldNs      = 5_000_000_000 // or three intervals, if those are longer
)

// enough is the number of arrivals that must fall into the shortest outage that is reported. etcd's robustness tests
// similarly require at least 50 to 100 requests a second.
const enough = 10

// rateSlack is how much lower than needed the rate of arrivals may be: random arrivals at the rate needed are as often
// fewer as more.
const rateSlack = 0.1

// The maximum number of operations and of addresses that get their own figures.
const (
	mostOperations = 16
	mostAddresses  = 32
)

// Taker collects a run's intervals. It keeps about 200 bytes per second for all arrivals together, for each operation
// and for each address, and one slot for each 2.1 ms with bad arrivals. It is a measure.Sink and must be used by one
// goroutine.
type Taker struct {
	scopes     []*scope // all arrivals, then operations, then the addresses seen
	operations int      // number of operations in scopes; 0 if there are too many
	spans      []span
	lost       uint64
}

var _ measure.Sink = (*Taker)(nil)

// span is what the account needs of an interval.
type span struct {
	stretch
	pause, closed, drain bool
	stoodNs              int64  // how long the generator itself was stopped
	lagNs                int64  // the longest time by which the generator itself was late
	answers              []byte // response times of successful arrivals; see measure.Histogram.AppendCompact
}

// NewTaker returns a Taker for a run that hasn't begun.
func NewTaker(run *record.Run) *Taker {
	t := &Taker{scopes: []*scope{newScope(record.Scope{})}}
	if n := len(run.Operations); n > 1 && n <= mostOperations {
		t.operations = n
		for i := range run.Operations {
			t.scopes = append(t.scopes, newScope(record.Scope{Operation: run.Operations[i].Name}))
		}
	}
	return t
}

// Interval implements measure.Sink. It never fails.
func (t *Taker) Interval(iv *measure.Interval) error {
	s := span{stretch: stretch{iv.StartNs, iv.EndNs}, pause: iv.Kind == measure.KindPause,
		closed: iv.Kind == measure.KindClosed, drain: iv.Drain, stoodNs: iv.Health.PausedNs + iv.Health.HeldNs,
		lagNs: int64(iv.OwnLag.Max())}
	t.lost += iv.ArrivalsLost
	if iv.WarmUp {
		return nil
	}
	if all := iv.All(); all.Response.Count() > 0 {
		s.answers = all.Response.AppendCompact(nil)
	}
	t.spans = append(t.spans, s)
	for i := range iv.Arrivals {
		a := &iv.Arrivals[i]
		scopes := []*scope{t.scopes[0]}
		if a.Operation < t.operations {
			scopes = append(scopes, t.scopes[1+a.Operation])
		}
		if a.Address != measure.NoAddress && a.Address < mostAddresses {
			scopes = append(scopes, t.address(a.Address))
		}
		for _, s := range scopes {
			for k := range a.Slots {
				s.add(&a.Slots[k])
			}
		}
	}
	for _, s := range t.scopes {
		s.thinOut()
	}
	return nil
}

// address returns the scope of the i-th address. It adds scopes as needed, since addresses can join during the load.
func (t *Taker) address(i int) *scope {
	for len(t.scopes) <= 1+t.operations+i {
		t.scopes = append(t.scopes, newScope(record.Scope{}))
	}
	return t.scopes[1+t.operations+i]
}

// Fill computes the run's account of outages from the intervals that the iterator yields. It does nothing if
// run.Failover is nil. Its error is the iterator's.
func Fill(run *record.Run, intervals func(func(*measure.Interval) error) error) error {
	if run.Failover == nil {
		return nil
	}
	t := NewTaker(run)
	if err := intervals(t.Interval); err != nil {
		return err
	}
	t.Fill(run)
	return nil
}

// Fill writes the account of outages to run.Failover. It does nothing if that is nil.
func (t *Taker) Fill(run *record.Run) {
	if run.Failover == nil {
		return
	}
	addresses := t.scopes[1+t.operations:]
	if len(run.Targets) < 2 { // a single address has the figures of all arrivals
		t.scopes, addresses = t.scopes[:1+t.operations], nil
	}
	for i := range addresses[:min(len(addresses), len(run.Targets))] {
		addresses[i].Address = run.Targets[i].Address
	}
	a := account{t: t, settings: run.Failover}
	for _, f := range run.Faults {
		if f.BeginNs > 0 && f.Error == "" {
			f.DoneNs = max(f.DoneNs, f.BeginNs)
			a.faults = append(a.faults, f)
		}
	}
	slices.SortStableFunc(a.faults, func(x, y record.Fault) int { return cmp.Compare(x.BeginNs, y.BeginNs) })
	a.make()
}

// account holds the state while an account of outages is computed.
type account struct {
	t        *Taker
	settings *record.Failover
	faults   []record.Fault // faults that were injected, in order of time
	fromNs   int64          // begin of the measured load, without warm-up
	toNs     int64
	closed   bool
	gaps     []stretch
	outages  [][]record.Outage // by scope
	causes   []*cause          // in order of their beginning
	owners   [][]*cause        // by scope and outage
	tooFew   []bool            // by scope
	before   *record.Incident  // the previous incident
}

func (a *account) make() {
	f := a.settings
	f.Refused, f.Outages, f.More, f.Incidents, f.ByFault, f.Stalls = message.Message{}, nil, 0, nil, nil, nil
	for i := range a.t.spans {
		s := &a.t.spans[i]
		switch {
		case s.pause:
			a.gaps = append(a.gaps, s.stretch)
		case !s.drain:
			if a.toNs == 0 {
				a.fromNs = s.fromNs
			}
			a.toNs = s.toNs
			a.closed = a.closed || s.closed
		}
	}
	f.RatePerS = a.ratePerS(a.t.scopes[0])
	needed := enough / (float64(f.ToleranceNs) / 1e9)
	switch {
	case a.t.lost > 0:
		f.Refused = message.New("failover.lost", message.Count("n", a.t.lost))
		return
	case f.RatePerS < (1-rateSlack)*needed:
		f.Refused = message.New("failover.few", message.Rate("rate", f.RatePerS), message.Rate("needed", needed),
			message.Ns("tolerance", f.ToleranceNs))
		return
	}
	f.Stalls = a.t.scopes[0].stalls()
	a.findOutages()
	a.findCauses()
	a.listStalls()
	a.listOutages()
	a.addHarm()
	a.summarise()
}

func (a *account) findOutages() {
	f := a.settings
	for _, s := range a.t.scopes {
		least := f.ToleranceNs
		rate := a.ratePerS(s)
		tooFew := rate*float64(f.ToleranceNs)/1e9 < (1-rateSlack)*enough
		if tooFew {
			least = int64(enough * 1e9 / max(rate, 1e-9))
		}
		all := s.outages(least, a.toNs, a.gaps)
		for i := range all {
			all[i].Invalid = a.still(all[i].StartNs, all[i].EndNs, all[i].EndNs-all[i].StartNs)
		}
		a.outages, a.tooFew = append(a.outages, all), append(a.tooFew, tooFew)
	}
}

// listOutages lists the outages of all scopes in order, once their causes are known.
func (a *account) listOutages() {
	f := a.settings
	for _, all := range a.outages {
		f.Outages = append(f.Outages, all...)
	}
	slices.SortStableFunc(f.Outages, func(x, y record.Outage) int { return cmp.Compare(x.StartNs, y.StartNs) })
	if more := len(f.Outages) - record.MaxOutages; more > 0 {
		f.Outages, f.More = f.Outages[:record.MaxOutages], more
	}
}

// listStalls moves the outages that are stalls of the generator to those; see isStall.
func (a *account) listStalls() {
	f := a.settings
	for i := range a.outages {
		var owners []*cause
		var outages []record.Outage
		for k, o := range a.outages[i] {
			switch {
			case a.owners[i][k] != nil:
				outages, owners = append(outages, o), append(owners, a.owners[i][k])
			case i == 0:
				f.Stalls = append(f.Stalls, record.Stall{StartNs: o.StartNs, EndNs: o.EndNs, Arrivals: o.Bad})
			}
		}
		a.outages[i], a.owners[i] = outages, owners
	}
	slices.SortStableFunc(f.Stalls, func(x, y record.Stall) int { return cmp.Compare(x.StartNs, y.StartNs) })
	f.Stalls = f.Stalls[:min(len(f.Stalls), record.MaxOutages)]
}

// still reports whether the generator itself stood still between two times for so long that arrivals went bad because
// of it: for at least the deadline, or, for an outage of lengthNs, for half of that.
func (a *account) still(fromNs, toNs, lengthNs int64) bool {
	half := cmp.Or(lengthNs, 2*(toNs-fromNs)) / 2
	for i := range a.t.spans {
		s := &a.t.spans[i]
		late := s.toNs > fromNs && s.fromNs < toNs && (s.lagNs >= a.settings.DeadlineNs ||
			s.lagNs >= max(half, a.settings.DeadlineNs/2))
		if late || s.stoodIn(fromNs, toNs) && s.stoodNs >= a.settings.DeadlineNs {
			return true
		}
	}
	return lengthNs > 0 && a.stood(fromNs, toNs) >= half
}

// stoodIn reports whether the generator may have been stopped between two times. A stop is noticed once it is over,
// which can be in the next interval.
func (s *span) stoodIn(fromNs, toNs int64) bool { return s.toNs > fromNs && s.fromNs-s.stoodNs < toNs }

// stood returns how long the generator was stopped in the intervals between two times.
func (a *account) stood(fromNs, toNs int64) (ns int64) {
	for i := range a.t.spans {
		if s := &a.t.spans[i]; s.stoodIn(fromNs, toNs) {
			ns += s.stoodNs
		}
	}
	return ns
}

// ratePerS returns the number of arrivals per second of a scope, over the time of the load in the pages that have any.
func (a *account) ratePerS(s *scope) float64 {
	var n uint64
	var ns int64
	for index, p := range s.pages {
		for k := range p.good {
			n += uint64(p.good[k]) + uint64(p.bad[k]) + uint64(p.own[k].n)
		}
		of := stretch{max(index*pageNs, a.fromNs), min((index+1)*pageNs, a.toNs)}
		ns += max(of.toNs-of.fromNs, 0)
		for _, g := range a.gaps {
			ns -= max(min(g.toNs, of.toNs)-max(g.fromNs, of.fromNs), 0)
		}
	}
	return float64(n) / (float64(max(ns, measure.SlotNs)) / 1e9)
}

// summarise summarizes the incidents of each fault.
func (a *account) summarise() {
	f := a.settings
	type values struct{ detection, outage, rto []int64 }
	var names []string
	sums, all := map[string]*record.FaultSummary{}, map[string]*values{}
	for i := range f.Incidents {
		in := &f.Incidents[i]
		if in.Healing {
			continue
		}
		s, v := sums[in.Fault], all[in.Fault]
		if s == nil {
			s, v = &record.FaultSummary{Fault: in.Fault}, &values{}
			sums[in.Fault], all[in.Fault] = s, v
			names = append(names, in.Fault)
		}
		if s.N++; in.Invalid {
			s.Invalid++
			continue
		}
		if in.Never {
			s.Never++
		}
		if in.NoticedNs != 0 && in.Fault != "" {
			v.detection = append(v.detection, in.DetectionNs)
		}
		if len(in.Scopes) > 0 {
			v.outage = append(v.outage, in.Scopes[0].OutageNs)
		}
		if in.RTONs != nil {
			v.rto = append(v.rto, *in.RTONs)
		}
	}
	for _, name := range names {
		s, v := sums[name], all[name]
		s.Detection, s.Outage, s.RTO = spreadOf(v.detection), spreadOf(v.outage), spreadOf(v.rto)
		f.ByFault = append(f.ByFault, *s)
	}
}

// spreadOf returns the minimum, the median (of an even number the mean of the middle two) and the maximum; nil for an
// empty slice.
func spreadOf(all []int64) *record.Spread {
	n := len(all)
	if n == 0 {
		return nil
	}
	slices.Sort(all)
	return &record.Spread{N: n, LeastNs: all[0], MedianNs: (all[(n-1)/2] + all[n/2]) / 2, MostNs: all[n-1]}
}
