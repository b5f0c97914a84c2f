package failover

import (
	"cmp"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// Limits for a recovered service, compared with the time before the incident.
const (
	goodSlack       = 0.01 // allowed drop of the share of good arrivals
	throughputSlack = 0.1  // allowed drop of good arrivals per second, in closed loads
	tailFactor      = 2    // allowed factor on the p99 …
	tailOfDeadline  = 0.1  // … which is always accepted below this share of the deadline
	baselineHolds   = 3    // length of the time before that is compared, in holding times
	leastBaselineNs = 1_000_000_000
	// checked is the number of arrivals over which the share of good ones is taken, so that one bad arrival is no
	// brown-out.
	checked   = 200
	mostSteps = 32 // longest window in which they are looked for, in steps
)

// baseline returns what the load was like before an incident. If that time is too short, it returns the baseline of the
// previous incident.
func (a *account) baseline(beginNs int64) record.Normal {
	n := record.Normal{GoodShare: 1}
	from := max(a.fromNs, beginNs-baselineHolds*a.settings.HoldNs)
	if b := a.before; b != nil && b.EndNs <= beginNs {
		from = max(from, b.EndNs)
	}
	to := beginNs - a.settings.DeadlineNs
	if to-from < leastBaselineNs {
		if a.before != nil {
			return a.before.Baseline
		}
		n.FromNs, n.ToNs = beginNs, beginNs
		return n
	}
	n.FromNs, n.ToNs = from, to
	first, last := (from+stepNs-1)/stepNs, to/stepNs
	good, bad := a.t.scopes[0].count(first, last)
	if all := good + bad; all > 0 {
		n.GoodShare = float64(good) / float64(all)
		n.GoodPerS = float64(good) / (float64(last-first) * stepNs / 1e9)
	}
	n.P99Ns = record.Ns(a.p99(from, beginNs))
	return n
}

// p99 returns the 99th percentile of the response times of successful arrivals, in ns, over the intervals that lie
// between two times; 0 if nothing succeeded.
func (a *account) p99(fromNs, toNs int64) int64 {
	h := measure.NewHistogram()
	for i := range a.t.spans {
		if s := &a.t.spans[i]; s.fromNs >= fromNs && s.toNs <= toNs && !s.pause {
			h.MergeCompact(s.answers)
		}
	}
	return h.Quantile(0.99)
}

// watch steps through the time of an incident in windows.
type watch struct {
	*account
	in       *record.Incident
	all      *scope
	dueNs    int64
	limitNs  int64
	steps    int64 // length of a window
	firstBad int64 // start of the first bad window, ns; −1 if there was none
	upNs     int64 // start of the good windows that last until now, ns; −1 if the last window was bad
}

func (a *account) watch(in *record.Incident, dueNs, limitNs int64) *watch {
	w := &watch{account: a, in: in, all: a.t.scopes[0], dueNs: dueNs, limitNs: limitNs, firstBad: -1, upNs: in.BeginNs}
	rate := max(cmp.Or(in.Baseline.GoodPerS, a.settings.RatePerS), 1)
	w.steps = min(max(int64(checked/(rate*stepNs/1e9))+1, 1), mostSteps)
	return w
}

// walk finds when the service had recovered.
func (w *watch) walk() {
	hold := w.settings.HoldNs
	for from := w.in.BeginNs / stepNs; from*stepNs < w.limitNs; from += w.steps {
		window := stretch{from * stepNs, min((from+w.steps)*stepNs, w.limitNs)}
		bad := w.bad(from, window)
		switch {
		case bad && w.firstBad < 0:
			if window.fromNs > w.dueNs+hold {
				return // it has another cause
			}
			w.firstBad, w.upNs = max(window.fromNs, w.in.BeginNs), -1
		case bad && w.upNs >= 0:
			w.in.Relapses++
			w.upNs = -1
		case !bad && w.upNs < 0:
			w.upNs = w.wellFrom(window)
		}
		if w.firstBad < 0 {
			if window.fromNs > w.dueNs+hold {
				return
			}
			continue
		}
		if !bad && window.toNs-w.upNs >= hold {
			if w.asBefore(w.upNs, w.upNs+hold) {
				return
			}
			w.upNs += window.toNs - window.fromNs
		}
	}
}

// bad reports whether a window has too few good arrivals or overlaps an outage.
func (w *watch) bad(from int64, window stretch) bool {
	good, bad := w.all.count(from, from+w.steps)
	if float64(good) < (1-goodSlack)*w.in.Baseline.GoodShare*float64(good+bad) {
		return true
	}
	for i := range w.outages[0] {
		if o := &w.outages[0][i]; o.StartNs < window.toNs && o.EndNs > window.fromNs {
			return true
		}
	}
	return false
}

// wellFrom returns since when arrivals have been good, for a good window that follows a bad one: the end of the last
// bad slot or outage.
func (w *watch) wellFrom(window stretch) int64 {
	from := window.fromNs - w.steps*stepNs
	well := from
	w.all.bads(from, window.fromNs, func(s *measure.Slot) {
		if s.Bad > 0 {
			well = (s.Index + 1) * measure.SlotNs
		}
	})
	for i := range w.outages[0] {
		if o := &w.outages[0][i]; o.StartNs < window.fromNs && o.EndNs > from {
			well = max(well, o.EndNs)
		}
	}
	return min(max(well, w.in.BeginNs), window.toNs)
}

// asBefore reports whether throughput and response times are as they were before the incident.
func (w *watch) asBefore(fromNs, toNs int64) bool {
	b := &w.in.Baseline
	if w.closed && b.GoodPerS > 0 {
		first, last := (fromNs+stepNs-1)/stepNs, toNs/stepNs
		good, _ := w.all.count(first, last)
		if float64(good) < (1-throughputSlack)*b.GoodPerS*float64(last-first)*stepNs/1e9 {
			return false
		}
	}
	if b.P99Ns <= 0 {
		return true
	}
	// From a deadline after fromNs on, arrivals that were due before fromNs no longer finish.
	p99 := float64(w.p99(fromNs+w.settings.DeadlineNs, toNs))
	return p99 <= max(tailFactor*float64(b.P99Ns), tailOfDeadline*float64(w.settings.DeadlineNs))
}

// settle records how the incident ended.
func (w *watch) settle() {
	in := w.in
	switch {
	case w.firstBad < 0: // the arrivals show no effect
		in.EndNs = min(w.limitNs, w.dueNs+w.settings.HoldNs)
		in.RecoveredNs, in.RTONs = new(in.DoneNs), new(int64(0))
	case w.upNs < 0:
		in.EndNs = w.limitNs
		in.Never, in.Cut = w.limitNs >= w.toNs, w.limitNs < w.toNs
	default:
		in.EndNs = w.upNs
		in.RecoveredNs, in.RTONs = new(w.upNs), new(max(w.upNs-in.DoneNs, 0))
		in.Unconfirmed = w.limitNs-w.upNs < w.settings.HoldNs
	}
}
