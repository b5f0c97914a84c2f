package measure

// Interval is one slice of the run. Its histograms and slices are valid only while a Sink handles it, because they are
// reused for the next interval.
type Interval struct {
	Account
	Index  int    // from 0
	UnixNs int64  // wall clock at its start
	Phase  string // the phase that it belongs to; intervals are cut where phases meet
	Kind   string // the phase's: "open", "closed" or "pause"
	WarmUp bool   // kept out of totals
	Drain  bool   // the schedule has ended, and its arrivals are still being answered
	// Control is the decision that was in force; nil if the load is not adaptive.
	Control *Control
	// SessionsMean is how many sessions were connected on average; 0 if only Sessions, their number at the end, is known.
	SessionsMean float64

	// Arrivals are those whose fate was decided in the interval, by intended start. They are listed only for an account
	// of outages: see Collector.KeepArrivals. Tallies don't add them up. ArrivalsLost counts those for which there was
	// no room.
	Arrivals     []ArrivalSlots
	ArrivalsLost uint64

	// Workers are those that send the load, in the order of their numbers, while it runs; none if one process sends it.
	// Records don't have them.
	Workers []Worker
}

// Worker is what is known of a worker while the load runs.
type Worker struct {
	Name     string // its number and its host
	Lost     bool
	Done     uint64  // operations so far
	DonePerS float64 // in its last interval
	LagMaxNs int64   // the largest lag in its last interval
}

// Left returns how many workers aren't lost.
func Left(all []Worker) (n int) {
	for i := range all {
		if !all[i].Lost {
			n++
		}
	}
	return n
}

// Control is a decision of an adaptive load's controller.
type Control struct {
	RatePerS float64 `json:"rate_per_s"` // operations a second from now on
	Reason   string  `json:"reason"`     // why, see control.Reason
	// Value is the figure on which the decision is based, in its unit; absent if unknown or not finite.
	Value *float64 `json:"value,omitempty"`
}

// The kinds of phases.
const (
	KindOpen   = "open"
	KindClosed = "closed"
	KindPause  = "pause"
)

// Meta is the part of an interval that the caller of Cut provides.
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

// Sink receives each interval when it ends. It must not keep references into the interval, and must return quickly. The
// load continues during the call.
type Sink interface {
	Interval(iv *Interval) error
}

// Settle computes LengthNs, LoadNs, OpenNs, Pace and the sums of Health from the other fields of the interval.
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
	sessions := iv.SessionsMean
	if sessions == 0 {
		sessions = float64(iv.Sessions)
	}
	*p = Pace{SessionsNs: sessions * float64(iv.LoadNs), BacklogMax: iv.Backlog}
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
	// While arrivals wait, the sessions' time that the generator didn't use is the server's, whether it answered or
	// not.
	p.WaitingOwnNs, p.WaitingServiceNs = own, max(p.InFlightNs, p.SessionsNs-own)
	if iv.waitedForSessions(lag, own) {
		p.SaturatedNs = ns
	} else {
		p.IdleBacklogNs = ns
	}
}

// backlogMatters reports whether the backlog at the end of iv is larger than the arrivals of 10 ms.
func (iv *Interval) backlogMatters(ns int64) bool {
	if iv.Backlog < 2 {
		return false
	}
	c := iv.Totals()
	perNs := float64(max(iv.Offered, c.Done)) / float64(max(ns, 1))
	return float64(iv.Backlog) > perNs*10e6
}

// waitedForSessions reports whether arrivals waited for sessions rather than for the generator, that is, whether the
// generator caused less than half of the lag. If nothing was sent, it reports whether requests were in flight or
// nothing was connected.
func (iv *Interval) waitedForSessions(lag, own float64) bool {
	if lag == 0 {
		return iv.Busy > 0 || iv.Sessions == 0
	}
	return own < lag/2
}

// Extend adds o, the next interval, to iv, which must own its histograms. It returns false if their phases differ. The
// zero Interval accepts any interval.
func (iv *Interval) Extend(o *Interval) bool {
	if iv.Intervals == 0 {
		account := iv.Account
		*iv = *o
		iv.Account, iv.Arrivals, iv.ArrivalsLost = account, nil, 0
	} else if iv.Phase != o.Phase || iv.WarmUp != o.WarmUp || iv.Drain != o.Drain {
		return false
	}
	if before := float64(iv.LengthNs); iv.LengthNs+o.LengthNs > 0 {
		iv.SessionsMean = (iv.SessionsMean*before + o.SessionsMean*float64(o.LengthNs)) / (before + float64(o.LengthNs))
	}
	iv.Add(&o.Account)
	iv.ArrivalsLost += o.ArrivalsLost
	for i := range o.Arrivals { // listed as long as intervals are added, which may be long
		for k := range o.Arrivals[i].Slots {
			s := &o.Arrivals[i].Slots[k]
			iv.ArrivalsLost += uint64(s.Good) + uint64(s.Bad)
		}
	}
	return true
}
