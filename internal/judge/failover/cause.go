package failover

import (
	"cmp"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// cause is an incident while the account is computed. The times of incidents, from BeginNs to EndNs, don't overlap.
// Each outage and each bad arrival belongs to one of them, so that their sums are those of the run.
type cause struct {
	record.Incident
	addresses []string // that the fault was done to; nil if unknown
	overNs    int64    // when it was over: healed, or done
	hit       bool     // the load as a whole got worse
	harms     []tally  // by scope
}

// tally is a scope's part of an incident.
type tally struct {
	record.Harm
	firstNs int64           // start of the first bad arrival; 0 for none
	seenNs  int64           // when the first was found to be bad; 0 for none
	brown   map[int64]int64 // by step: bad arrivals outside outages
}

// findCauses makes an incident of every fault, gives each outage to one of them, and makes incidents of the outages
// that no fault explains.
func (a *account) findCauses() {
	for i := range a.faults {
		a.addFault(i)
	}
	type one struct{ scope, outage int }
	var all []one
	a.owners = make([][]*cause, len(a.outages))
	for i := range a.outages {
		a.owners[i] = make([]*cause, len(a.outages[i]))
		for k := range a.outages[i] {
			all = append(all, one{i, k})
		}
	}
	slices.SortStableFunc(all, func(x, y one) int {
		return cmp.Compare(a.outages[x.scope][x.outage].StartNs, a.outages[y.scope][y.outage].StartNs)
	})
	for _, x := range all {
		o := &a.outages[x.scope][x.outage]
		c := a.causeOf(&o.Scope, o.StartNs, a.t.scopes[x.scope].seenNs(o.StartNs))
		if c == nil && a.isStall(a.t.scopes[x.scope], o) {
			continue // see listStalls
		}
		if c == nil {
			c = a.addUnexplained(o)
		}
		a.owners[x.scope][x.outage] = c
		o.Fault, o.Number = c.Fault, c.Number
	}
}

// isStall reports whether an outage that no fault explains is a stall of the generator: it stood still for at least
// half of the time, and in an open load, where arrivals fall due all the same, each was answered in the end. The
// lateness of those that waited for the generator's backlog isn't told apart from the server's everywhere.
func (a *account) isStall(s *scope, o *record.Outage) bool {
	if a.stood(o.StartNs, o.EndNs) < (o.EndNs-o.StartNs)/2 {
		return false
	}
	waited := true
	s.bads(o.StartNs, o.EndNs, func(slot *measure.Slot) { waited = waited && slot.Waited == slot.Bad })
	return waited || a.closed
}

// addFault adds the incident of a fault, and one of its healing if that disturbs the load after it had recovered.
func (a *account) addFault(i int) {
	x := &a.faults[i]
	if x.BeginNs >= a.toNs {
		return
	}
	limit := a.toNs
	if i+1 < len(a.faults) {
		limit = min(limit, a.faults[i+1].BeginNs)
	}
	over := max(x.DoneNs, x.HealedNs)
	c := a.follow(&cause{Incident: record.Incident{Fault: x.Name, Number: x.Number, BeginNs: x.BeginNs, DoneNs: x.DoneNs},
		addresses: x.Addresses, overNs: over}, limit)
	a.causes = append(a.causes, c)
	if x.HealBeginNs <= c.EndNs || x.HealBeginNs >= limit {
		return
	}
	healing := a.follow(&cause{Incident: record.Incident{Fault: x.Name, Number: x.Number, Healing: true,
		BeginNs: x.HealBeginNs, DoneNs: max(x.HealedNs, x.HealBeginNs)}, addresses: x.Addresses, overNs: x.HealedNs}, limit)
	a.causes = append(a.causes, healing) // addHarm removes it if it did none
}

// addUnexplained adds an incident that begins with an outage. Beyond the number that a record lists, it returns the
// incident before.
func (a *account) addUnexplained(o *record.Outage) *cause {
	at, _ := slices.BinarySearchFunc(a.causes, o.StartNs, func(c *cause, ns int64) int {
		return cmp.Or(cmp.Compare(c.BeginNs, ns), -1)
	})
	if len(a.causes) >= record.MaxOutages && at > 0 {
		return a.causes[at-1]
	}
	limit := a.toNs
	if at < len(a.causes) {
		limit = min(limit, a.causes[at].BeginNs)
	}
	c := a.follow(&cause{Incident: record.Incident{BeginNs: o.StartNs, DoneNs: o.StartNs}, overNs: o.EndNs},
		max(limit, o.StartNs))
	a.causes = slices.Insert(a.causes, at, c)
	return c
}

// follow completes an incident: it follows the load from c.BeginNs to limitNs at most. Bad arrivals that begin later
// than c.overNs plus the holding time have another cause.
func (a *account) follow(c *cause, limitNs int64) *cause {
	c.Baseline = a.baseline(c.BeginNs)
	w := a.watch(&c.Incident, c.overNs, limitNs)
	w.walk()
	w.settle()
	c.hit = w.firstBad >= 0
	c.Invalid = a.still(c.BeginNs, c.EndNs, 0)
	kept := c.Incident
	a.before = &kept
	return c
}

// causeOf returns the incident to which an arrival belongs that was due at a time, and was found to be bad at another
// time; nil if none explains it. It is the latest that had begun, or that began while the arrival was in flight.
// But an earlier fault that is still in effect at the arrival's own address comes before a later one elsewhere.
func (a *account) causeOf(s *record.Scope, atNs, seenNs int64) (latest *cause) {
	for i, c := range slices.Backward(a.causes) {
		own := s.Address != "" && slices.Contains(c.addresses, s.Address)
		switch {
		case atNs < c.BeginNs:
			if seenNs < c.BeginNs || c.BeginNs-atNs > a.inFlight(i, atNs) {
				continue
			}
		case atNs >= c.EndNs && !(own && atNs < c.overNs):
			continue
		}
		if own || s.Address == "" {
			return c
		}
		latest = cmp.Or(latest, c) // it may be done to other addresses
	}
	return latest
}

// inFlight returns for how long before the i-th incident an arrival can have been due that the incident made bad. That
// is the deadline; but while an earlier incident lasts it is the time that answers took before.
func (a *account) inFlight(i int, atNs int64) int64 {
	if i == 0 || a.causes[i-1].EndNs <= atNs {
		return a.settings.DeadlineNs
	}
	const leastSlots = 4
	return min(a.settings.DeadlineNs, max(tailFactor*int64(a.causes[i].Baseline.P99Ns), leastSlots*measure.SlotNs))
}

// addHarm gives each bad arrival to an incident, and adds up the harm that each did, per scope.
func (a *account) addHarm() {
	for _, c := range a.causes {
		c.harms = make([]tally, len(a.t.scopes))
		for i, s := range a.t.scopes {
			c.harms[i] = tally{Harm: record.Harm{Scope: s.Scope, TooFew: a.tooFew[i]}, brown: map[int64]int64{}}
		}
	}
	for i, s := range a.t.scopes {
		next := 0 // outage
		s.bads(0, (s.most+1)*pageNs, func(slot *measure.Slot) {
			at := slot.Index * measure.SlotNs
			for next < len(a.outages[i]) && a.outages[i][next].EndNs <= at {
				next++
			}
			inside := next < len(a.outages[i]) && a.outages[i][next].StartNs <= at
			var c *cause
			if inside {
				c = a.owners[i][next]
			} else {
				c = a.causeOf(&s.Scope, at, slot.SeenNs)
			}
			if c != nil {
				c.harms[i].add(slot, inside)
			}
		})
		for k, o := range a.outages[i] {
			h := &a.owners[i][k].harms[i]
			h.Outages++
			h.OutageNs += o.EndNs - o.StartNs
			h.OutageLongestNs = max(h.OutageLongestNs, o.EndNs-o.StartNs)
			a.owners[i][k].Invalid = a.owners[i][k].Invalid || i == 0 && o.Invalid
		}
	}
	for _, c := range a.causes {
		if a.conclude(c); !c.Healing || c.Affected {
			a.settings.Incidents = append(a.settings.Incidents, c.Incident)
		}
	}
}

// add adds a slot with bad or retried arrivals. inside says that it belongs to an outage.
func (t *tally) add(slot *measure.Slot, inside bool) {
	t.Retried += uint64(slot.Retried)
	if slot.Bad == 0 {
		return
	}
	at := slot.Index * measure.SlotNs
	if t.firstNs == 0 {
		t.firstNs = max(at, 1)
	}
	if t.seenNs == 0 || slot.SeenNs < t.seenNs {
		t.seenNs = slot.SeenNs
	}
	t.Bad += uint64(slot.Bad)
	t.Failed += uint64(slot.Failed)
	t.Unknown += uint64(slot.Unknown)
	t.Waited += uint64(slot.Waited)
	t.WaitNs += slot.WaitNs
	if !inside {
		t.brown[slot.Index/stepSlots] += int64(slot.Bad)
	}
}

// conclude completes an incident, whose arrivals have been added up.
func (a *account) conclude(c *cause) {
	for i, s := range a.t.scopes {
		h := &c.harms[i]
		h.Unsent = h.Bad - h.Failed - h.Waited
		good, _ := s.count(c.BeginNs/stepNs, (c.EndNs+stepNs-1)/stepNs)
		h.Arrivals = good + h.Bad
		a.brownOut(h, i, c)
		if i == 0 || h.Bad > 0 || h.Outages > 0 {
			c.Scopes = append(c.Scopes, h.Harm)
		}
		c.Affected = c.Affected || h.Outages > 0 || h.BrownOutNs > 0 || h.Bad > 0 && c.Baseline.GoodShare == 1
	}
	c.Affected = c.Affected || c.Never // by its throughput or its response times, which never were as before
	all := &c.harms[0]
	c.FirstAffectedNs, c.NoticedNs = all.firstNs, all.seenNs
	if all.seenNs == 0 {
		return
	}
	// A command can take longer than its effect. What it did then is measured from the first arrival that it made bad.
	from := min(c.DoneNs, max(c.FirstAffectedNs, c.BeginNs))
	c.DetectionNs = max(c.NoticedNs-from, 0)
	if c.hit && c.RecoveredNs != nil {
		c.RTONs = new(max(*c.RecoveredNs-from, 0))
	}
}

// brownOut adds up the windows that have a smaller share of good arrivals than before the incident, of those that
// belong to it. Outages in them are left out.
func (a *account) brownOut(h *tally, scope int, c *cause) {
	s, run := a.t.scopes[scope], int64(0)
	steps := min(max(int64(checked/(max(a.ratePerS(s), 1)*stepNs/1e9))+1, 1), mostSteps)
	for from := c.BeginNs / stepNs; from*stepNs < c.EndNs; from += steps {
		window := stretch{max(from*stepNs, c.BeginNs), min((from+steps)*stepNs, c.EndNs)}
		good, _ := s.count(from, from+steps)
		bad := int64(0)
		for k := from; k < from+steps; k++ {
			bad += h.brown[k]
		}
		ns := window.toNs - window.fromNs
		for _, o := range a.outages[scope] {
			ns -= max(min(o.EndNs, window.toNs)-max(o.StartNs, window.fromNs), 0)
		}
		if bad == 0 || float64(good) >= (1-goodSlack)*c.Baseline.GoodShare*(float64(good)+float64(bad)) {
			run = 0
			continue
		}
		run += max(ns, 0)
		h.BrownOutNs += max(ns, 0)
		h.BrownOutLongestNs = max(h.BrownOutLongestNs, run)
	}
}
