package measure

// PhaseAccount is a phase and what happened in it.
type PhaseAccount struct {
	Name   string
	Kind   string
	WarmUp bool
	Account
}

// Tally sums up a run: by phase, and all but warm-up. Memory is fixed by the number of operations,
// addresses and phases.
type Tally struct {
	total    Account
	phases   []PhaseAccount
	lastNs   int64
	lastUnix int64
}

// Interval implements Sink.
func (t *Tally) Interval(iv *Interval) error {
	t.lastNs = max(t.lastNs, iv.EndNs)
	t.lastUnix = max(t.lastUnix, iv.UnixNs+iv.DurationNs())
	p := t.Phase(iv.Phase)
	if p == nil {
		t.phases = append(t.phases, PhaseAccount{Name: iv.Phase, Kind: iv.Kind, WarmUp: iv.WarmUp})
		p = &t.phases[len(t.phases)-1]
	}
	p.Add(&iv.Account)
	if iv.WarmUp {
		return nil
	}
	from := t.total.StartNs
	if t.total.Intervals == 0 {
		from = iv.StartNs
	}
	t.total.add(&iv.Account, from)
	return nil
}

// Total is the sum so far, warm-up excluded, shared with the tally.
func (t *Tally) Total() *Account { return &t.total }

// Phases are the sums by phase, in the order in which they began, shared with the tally.
func (t *Tally) Phases() []PhaseAccount { return t.phases }

// Phase is the sum of one phase, nil if it hasn't begun.
func (t *Tally) Phase(name string) *PhaseAccount {
	for i := range t.phases {
		if t.phases[i].Name == name {
			return &t.phases[i]
		}
	}
	return nil
}

// LastNs is where the last interval ended, on the run's clock; LastUnixNs the same on the wall clock.
func (t *Tally) LastNs() int64 { return t.lastNs }

// LastUnixNs is where the last interval ended on the wall clock, ns since the epoch; 0 before the first.
func (t *Tally) LastUnixNs() int64 { return t.lastUnix }

// Beside adds the tally of another machine; see Account.Beside.
func (t *Tally) Beside(o *Tally, operations, addresses []int) {
	t.lastNs, t.lastUnix = max(t.lastNs, o.lastNs), max(t.lastUnix, o.lastUnix)
	t.total.Beside(&o.total, operations, addresses)
	for i := range o.phases {
		from := &o.phases[i]
		p := t.Phase(from.Name)
		if p == nil {
			t.phases = append(t.phases, PhaseAccount{Name: from.Name, Kind: from.Kind, WarmUp: from.WarmUp})
			p = &t.phases[len(t.phases)-1]
		}
		p.Beside(&from.Account, operations, addresses)
	}
}
