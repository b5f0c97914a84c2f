package measure

// drain decides how much of the time after an open phase's schedule is time under load. Answers to the last arrivals
// always come after the schedule, as answers to the first ones come after its start: counting that time would make
// every rate lower than it was. It counts if the server had fallen behind, so that it needed the time for what it
// hadn't done within the schedule: if arrivals still wait to be sent, or successes come later than mostNs allows. Time
// after the last success doesn't count, because nothing that a rate counts happens in it.
//
// A server that answers a constant rate of arrivals more slowly than they come needs, after the schedule, at least
// twice as long as the longest response in the first half of it took.
type drain struct {
	startNs int64 // of the phase
	endNs   int64 // of the schedule so far
	longest int64 // response time of a success within the schedule so far, ns
	// marks are the longest response times up to two ends of intervals. The second is at least twice as long after
	// the phase's start as the first, so that one of them is within the first half.
	marks [2]struct{ endNs, longest int64 }
	held  struct { // not counted so far
		lengthNs, loadNs int64
		sessionsNs       float64
	}
}

// interval notes an interval of the phase, and takes out of it what doesn't count. It puts in what has been taken out
// before if that counts after all.
func (d *drain) interval(iv *Interval, a *Account) {
	if !iv.Drain {
		d.schedule(iv)
		return
	}
	done := iv.Totals()
	late := iv.EndNs-d.endNs > d.mostNs() && done.OK() > 0
	if late || iv.Backlog > 0 || iv.Pace.SaturatedNs+iv.Pace.IdleBacklogNs > 0 {
		a.LengthNs += d.held.lengthNs
		a.LoadNs += d.held.loadNs
		a.Pace.SessionsNs += d.held.sessionsNs
		d.held.lengthNs, d.held.loadNs, d.held.sessionsNs = 0, 0, 0
		return
	}
	d.held.lengthNs += a.LengthNs
	d.held.loadNs += a.LoadNs
	d.held.sessionsNs += a.Pace.SessionsNs
	a.LengthNs, a.LoadNs, a.Pace.SessionsNs = 0, 0, 0
}

// schedule notes an interval within the schedule.
func (d *drain) schedule(iv *Interval) {
	if d.endNs == 0 {
		d.startNs = iv.StartNs
	}
	d.endNs = iv.EndNs
	for i := range iv.Operations {
		if h := iv.Operations[i].Response; h.Count() > 0 {
			d.longest = max(d.longest, h.Max())
		}
	}
	if iv.EndNs-d.startNs >= 2*(d.marks[1].endNs-d.startNs) || d.marks[1].endNs == 0 {
		d.marks[0], d.marks[1].endNs, d.marks[1].longest = d.marks[1], iv.EndNs, d.longest
	}
}

// mostNs returns how long after the schedule answers may come if the server keeps up.
func (d *drain) mostNs() int64 {
	half := d.startNs + (d.endNs-d.startNs)/2
	for _, m := range [...]int{1, 0} {
		if end := d.marks[m].endNs; end > 0 && end <= half {
			return 2 * d.marks[m].longest
		}
	}
	return d.longest // the phase is shorter than two intervals
}
