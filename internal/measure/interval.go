// Package measure keeps what happened in fixed memory: the account of operations, addresses, fates
// and times, and the health of the generator itself. It does no I/O.
package measure

// Interval is one slice of the run. Histograms and slices in it are valid only while a Sink handles
// it: they are reused for the next interval.
type Interval struct {
	Account
	Index  int    // from 0
	UnixNs int64  // wall clock at its start
	Phase  string // the phase that it belongs to; intervals are cut where phases meet
	Kind   string // the phase's: "open", "closed" or "pause"
	WarmUp bool   // kept out of totals
	Drain  bool   // the schedule is over; what fell due in it is being answered
	// Control is the decision that the load followed in it; nil if nothing controls it.
	Control *Control

	// Arrivals are those that met their fate in it, by intended start, where an account of outages is asked for; see
	// Collector.KeepArrivals. Tallies don't add them up. ArrivalsLost is how many found no room.
	Arrivals     []ArrivalSlots
	ArrivalsLost uint64
}

// Control is a decision of what controls a load.
type Control struct {
	RatePerS float64 `json:"rate_per_s"` // operations a second from now on
	Reason   string  `json:"reason"`     // why, see control.Reason
	// Value is the figure that it rests on, in the figure's unit; absent if it wasn't known or isn't finite.
	Value *float64 `json:"value,omitempty"`
}

// The kinds of phases.
const (
	KindOpen   = "open"
	KindClosed = "closed"
	KindPause  = "pause"
)

// Meta is what only the caller of Cut knows of an interval.
type Meta struct {
	Phase       string
	Kind        string // of the phase
	WarmUp      bool
	Drain       bool
	ScheduleEnd bool  // the schedule of its phase ends with it: arrivals still waiting are overdue
	UnixNs      int64 // of its start
	Idle        bool  // a stage is over: nothing is outstanding, and a standstill has ended
	Control     *Control
	Health      Health
}

// Sink receives each interval as it ends. It must not keep anything of it and must return
// soon; the load goes on in the meantime.
type Sink interface {
	Interval(iv *Interval) error
}

// Settle derives LengthNs, LoadNs, OpenNs, Pace and the sums of Health from what else is known of the interval.
func (iv *Interval) Settle() {
	ns := iv.EndNs - iv.StartNs
	iv.Intervals = max(iv.Intervals, 1)
	iv.LengthNs, iv.LoadNs, iv.OpenNs = ns, 0, 0
	if iv.Kind != KindPause {
		iv.LoadNs = ns
	}
	if iv.Kind == KindOpen && !iv.Drain {
		iv.OpenNs = ns
	}
	iv.Health.settle(ns)
	p := &iv.Pace
	*p = Pace{SessionsNs: float64(iv.Sessions) * float64(ns), BacklogMax: iv.Backlog}
	var lag, service float64
	for i := range iv.Operations {
		o := &iv.Operations[i]
		lag += o.Lag.Sum()
		service += o.Service.Sum()
		p.InFlightNs += o.Service.Sum() + o.FailedResponse.Sum()
	}
	if !iv.backlogMatters(ns) {
		return
	}
	own := iv.OwnLag.Sum()
	// While arrivals wait, what of the sessions' time isn't the generator's is the server's, answered or not.
	p.WaitingOwnNs, p.WaitingServiceNs = own, max(p.InFlightNs, p.SessionsNs-own)
	if iv.waitedForSessions(lag, own) {
		p.SaturatedNs = ns
	} else {
		p.IdleBacklogNs = ns
	}
}

// backlogMatters reports whether the arrivals that were due and not sent at iv's end are more
// than those of 10 ms.
func (iv *Interval) backlogMatters(ns int64) bool {
	if iv.Backlog < 2 {
		return false
	}
	c := iv.Totals()
	perNs := float64(max(iv.Offered, c.Done)) / float64(max(ns, 1))
	return float64(iv.Backlog) > perNs*10e6
}

// waitedForSessions reports whether arrivals waited for sessions rather than for the generator:
// whether less than half of the lag was the generator's own. Where nothing was sent it is so if
// requests were in flight, or if nothing was connected.
func (iv *Interval) waitedForSessions(lag, own float64) bool {
	if lag == 0 {
		return iv.Busy > 0 || iv.Sessions == 0
	}
	return own < lag/2
}

// Extend adds o, the next interval, to iv, which must own its histograms, and reports whether it did:
// intervals of different phases stay apart. The zero Interval takes any.
func (iv *Interval) Extend(o *Interval) bool {
	if iv.Intervals == 0 {
		account := iv.Account
		*iv = *o
		iv.Account, iv.Arrivals, iv.ArrivalsLost = account, nil, 0
	} else if iv.Phase != o.Phase || iv.WarmUp != o.WarmUp || iv.Drain != o.Drain {
		return false
	}
	iv.Add(&o.Account)
	iv.ArrivalsLost += o.ArrivalsLost
	for i := range o.Arrivals { // for as long as this goes on, which may be long
		for k := range o.Arrivals[i].Slots {
			s := &o.Arrivals[i].Slots[k]
			iv.ArrivalsLost += uint64(s.Good) + uint64(s.Bad)
		}
	}
	return true
}
