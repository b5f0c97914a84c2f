package session

import (
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// EngineRun is a plan that brunt's own engine runs as part of a run of k6. Its intervals are added to the run's. While
// there are any, the run's intervals are cut at the same times as those of the first EngineRun, so that none contains
// two of them.
type EngineRun struct {
	s          *Session
	startNs    int64 // origin of the guest's clock, on the run's clock
	operations []int // numbers in the run of the guest's operations
	addresses  []int
	begun      bool // startNs is known

	// The cutter's mutex guards what follows.
	pending  measure.Account // not yet part of an interval of the run
	sessions int             // connected at the end of its last interval
	left     bool
}

var _ measure.Sink = (*EngineRun)(nil)

// Join adds a plan's run, which is about to send its load.
func (s *Session) Join(run *record.Run) *EngineRun {
	g := &EngineRun{s: s}
	for i := range run.Operations {
		g.operations = append(g.operations, s.Operation(run.Operations[i].Name))
	}
	for i := range run.Targets {
		t := &run.Targets[i]
		n := s.Address(t.Protocol, t.Address)
		s.Describe(n, t.Product, t.Version)
		g.addresses = append(g.addresses, n)
	}
	s.Tolerates(time.Duration(run.ToleranceNs))
	s.draft.mu.Lock()
	if s.native {
		s.run.Tier, s.run.TierReason, s.run.Timing = run.Tier, run.TierReason, run.Timing
		delete(s.run.Flags, "engine")
	}
	s.draft.mu.Unlock()
	c := &s.cutter
	c.mu.Lock()
	c.engineRuns = append(c.engineRuns, g)
	c.mu.Unlock()
	return g
}

// Interval implements measure.Sink.
func (g *EngineRun) Interval(iv *measure.Interval) error {
	if !g.begun {
		g.begun, g.startNs = true, g.s.At(time.Unix(0, iv.UnixNs))-iv.StartNs
	}
	g.s.requests.Store(true)
	g.s.touch(g.startNs + iv.EndNs)
	c := &g.s.cutter
	c.mu.Lock()
	a := g.translated(iv)
	g.pending.Add(&a)
	g.sessions = iv.Sessions
	leads := len(c.engineRuns) > 0 && c.engineRuns[0] == g && iv.DurationNs() >= int64(interval/2)
	c.mu.Unlock()
	if leads {
		select {
		case c.cutsDue <- g.startNs + iv.EndNs:
		default: // the cutter is late; its next interval will include what is pending
		}
	}
	return nil
}

// translated converts the interval's account to the run's numbers and clock. It shares the histograms with iv.
func (g *EngineRun) translated(iv *measure.Interval) measure.Account {
	a := iv.Account
	a.Operations = make([]measure.OperationAccount, mostOperations)
	for i := range iv.Operations {
		to := &a.Operations[g.operations[i]]
		to.Add(&iv.Operations[i])
		to.Standstills = g.onRunsClock(to.Standstills, iv.Operations[i].Standstills)
	}
	a.Addresses = make([]measure.AddressAccount, mostAddresses)
	for i := range iv.Addresses {
		if n := g.addresses[i]; n >= 0 {
			addAddress(&a.Addresses[n], &iv.Addresses[i])
		}
	}
	a.StartNs, a.EndNs = a.StartNs+g.startNs, a.EndNs+g.startNs
	a.Standstills = g.onRunsClock(nil, iv.Standstills)
	return a
}

// onRunsClock converts standstills of the guest to the run's clock, and appends them to to.
func (g *EngineRun) onRunsClock(to, standstills []measure.Standstill) []measure.Standstill {
	for _, s := range standstills {
		to = append(to, measure.Standstill{StartNs: s.StartNs + g.startNs, EndNs: s.EndNs + g.startNs})
	}
	return to
}

func addAddress(to, from *measure.AddressAccount) {
	to.Counts.Add(&from.Counts)
	if from.Service.Count() > 0 {
		if to.Service == nil {
			to.Service = measure.NewHistogram()
		}
		to.Service.Merge(from.Service)
	}
	to.Up += from.Up
	to.Reconnects += from.Reconnects
}

// addTo adds the pending account to an interval of the run.
func (g *EngineRun) addTo(iv *measure.Interval) {
	a := &g.pending
	if !g.left || a.Intervals > 0 {
		iv.Sessions += g.sessions
	}
	if a.Intervals == 0 {
		return
	}
	for i := range a.Operations {
		o := &iv.Operations[i]
		o.Add(&a.Operations[i])
		o.Standstills = append(o.Standstills, a.Operations[i].Standstills...)
	}
	for i := range a.Addresses {
		addAddress(&iv.Addresses[i], &a.Addresses[i])
	}
	iv.OwnLag.Merge(a.OwnLag)
	iv.Turnaround.Merge(a.Turnaround)
	iv.Offered += a.Offered
	iv.Overdue += a.Overdue
	iv.Standstills = append(iv.Standstills, a.Standstills...)
	iv.Events = append(iv.Events, a.Events...)
	iv.Busy, iv.Backlog = iv.Busy+a.Busy, iv.Backlog+a.Backlog
	iv.Health.LoopBusy = max(iv.Health.LoopBusy, a.Health.LoopBusy)
	iv.Health.SendStalls += a.Health.SendStalls
	iv.Health.LoopRunQueueNs += a.Health.LoopRunQueueNs
	g.pending = measure.Account{}
}

// Leave marks the end of the guest's load.
func (g *EngineRun) Leave() {
	g.s.cutter.mu.Lock()
	g.left = true
	g.s.cutter.mu.Unlock()
}

// forgetEngineRuns removes the engine runs that have left and have nothing pending.
func (c *cutter) forgetEngineRuns() {
	kept := c.engineRuns[:0]
	for _, g := range c.engineRuns {
		if !g.left || g.pending.Intervals > 0 {
			kept = append(kept, g)
		}
	}
	c.engineRuns = kept
}
