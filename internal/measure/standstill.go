package measure

import (
	"math"
	"slices"

	"brunt/internal/driver"
)

// StandstillNs is the least length of a standstill, in ns.
const StandstillNs = 100_000_000

// Standstill is a time in which no operation succeeded although some should have: from the moment
// at which the first of them was sent, or at which the last success before ended if that came later,
// to the end of the next success. An operation that fails should have succeeded from its sending on.
// One that waited to be sent although the generator was there, because nothing was connected, should
// have from its intended start on. What the generator itself stood still is no part of it.
type Standstill struct {
	StartNs int64 // on the run's clock
	EndNs   int64
}

// mostLulls bounds what a recorder notes between two cuts: more than 6 minutes of lulls without a
// break.
const mostLulls = 4096

// never is later than anything.
const never = math.MaxInt64

// lull is a time between two successes of one owner, or of all.
type lull struct {
	from, to int64
	owed     int64 // since when something was outstanding that hadn't succeeded at its end; never if unknown
	failed   int64 // when the first of those that failed in it was sent; never if none
}

// quiet finds the lulls of one owner.
type quiet struct {
	lastOK      int64 // the latest end of a success, 0 before the first
	failedAfter int64 // lastOK when the first of the latest failures was counted
	failed      int64 // when that was sent, or an earlier one that ended later; 0 if there is none
	lulls       []lull
}

// succeeded takes a success. Usually that is a subtraction and two comparisons.
func (q *quiet) succeeded(s *Sample) {
	if s.End-min(q.lastOK, s.Sent) >= StandstillNs {
		q.late(s)
		return
	}
	q.lastOK = max(q.lastOK, s.End)
}

// late takes a success that ends a lull, or that may have been outstanding during the last one.
func (q *quiet) late(s *Sample) {
	if s.End-q.lastOK < StandstillNs {
		q.outstanding(s)
		q.lastOK = max(q.lastOK, s.End)
		return
	}
	l := lull{from: q.lastOK, to: s.End, owed: s.Sent, failed: never}
	if s.Ready > l.from && s.Intended < s.Ready {
		l.owed = min(l.owed, s.Intended) // its session was connected or freed by a failure meanwhile
	}
	if q.failed != 0 && q.failedAfter == q.lastOK {
		l.failed = q.failed
	}
	if len(q.lulls) < mostLulls {
		q.lulls = append(q.lulls, l)
	}
	q.lastOK = s.End
}

// outstanding takes an operation that ended after the last lull, if it had been sent in it.
func (q *quiet) outstanding(s *Sample) {
	n := len(q.lulls)
	if n == 0 {
		return
	}
	if l := &q.lulls[n-1]; s.Sent < l.to && s.End > l.from {
		l.owed = min(l.owed, s.Sent)
		if s.Class == driver.OK {
			l.to = min(l.to, s.End) // answers are not always looked at in the order in which they came
		}
	}
}

// didntSucceed takes a failure.
func (q *quiet) didntSucceed(s *Sample) {
	if q.failed == 0 || q.failedAfter != q.lastOK {
		q.failed, q.failedAfter = s.Sent, q.lastOK
	}
	q.failed = min(q.failed, s.Sent)
	if s.End-s.Sent >= StandstillNs {
		q.outstanding(s)
	}
}

// reset forgets what was told of, so that it isn't told twice.
func (q *quiet) reset() { q.failed, q.failedAfter, q.lulls = 0, 0, q.lulls[:0] }

// told is what a collector knows of an owner's lulls.
type told struct {
	lastOK int64
	failed int64  // when the first failure since lastOK was sent; never if there is none
	lulls  []lull // not yet compared with others'
}

// take adds what an owner has handed over.
func (t *told) take(q *quiet) {
	for i, l := range q.lulls {
		if i == 0 && l.from == t.lastOK {
			l.failed = min(l.failed, t.failed)
		}
		l.owed = min(l.owed, l.failed)
		if len(t.lulls) < mostLulls {
			t.lulls = append(t.lulls, l)
		}
	}
	if q.lastOK != t.lastOK {
		t.lastOK, t.failed = q.lastOK, never
	}
	if q.failed != 0 && q.failedAfter == q.lastOK {
		t.failed = min(t.failed, q.failed)
	}
}

// shared are the parts that the lulls of all have in common with those of t, the present one
// included; both are in order. They are appended to into.
func (t *told) shared(all, into []lull) []lull {
	present := lull{from: t.lastOK, to: never, owed: t.failed}
	own := append(t.lulls, present)
	for i, k := 0, 0; i < len(all) && k < len(own); {
		a, b := &all[i], &own[k]
		both := lull{from: max(a.from, b.from), to: min(a.to, b.to), owed: min(a.owed, b.owed)}
		if both.to-both.from >= StandstillNs {
			into = append(into, both)
		}
		if a.to < b.to {
			i++
		} else {
			k++
		}
	}
	t.lulls = own[:len(own)-1]
	return into
}

// nap is a time in which the generator itself stood still somewhere.
type nap struct{ from, to, leftNs int64 }

// mostNaps is how many naps are remembered: a standstill that ends now may have begun long ago.
const mostNaps = 64

// standstills turns owners' lulls into the run's standstills.
type standstills struct {
	from      int64 // nothing was outstanding before
	naps      []nap
	all, next []lull
}

// slept notes that the generator stood still for ns within an interval.
func (st *standstills) slept(iv *Interval) {
	if iv.Health.PausedNs <= 0 {
		return
	}
	if len(st.naps) == mostNaps {
		st.naps = slices.Delete(st.naps, 0, 1)
	}
	st.naps = append(st.naps, nap{iv.StartNs, iv.EndNs + iv.Health.PausedNs, iv.Health.PausedNs})
}

// find appends the standstills that have ended by endNs to out. idle says that nothing is
// outstanding, which ends one too.
func (st *standstills) find(members []member, endNs int64, idle bool, out []Standstill) []Standstill {
	st.all = append(st.all[:0], lull{to: never, owed: never})
	for _, m := range members {
		t := &m.recorder.told
		st.next = t.shared(st.all, st.next[:0])
		st.all, st.next = st.next, st.all
		t.lulls = t.lulls[:0]
		if idle {
			t.failed = never
		}
	}
	for _, l := range st.all {
		if l.to == never {
			if !idle {
				continue
			}
			l.to = endNs
		}
		if s, ok := st.awake(Standstill{max(l.from, l.owed, st.from), l.to}); ok {
			out = append(out, s)
		}
	}
	if idle {
		st.from = endNs
	}
	return out
}

// awake takes what the generator slept off a standstill, and reports whether one is left.
func (st *standstills) awake(s Standstill) (Standstill, bool) {
	least := int64(StandstillNs)
	for i := range st.naps {
		n := &st.naps[i]
		if both := min(min(s.EndNs, n.to)-max(s.StartNs, n.from), n.leftNs); both > 0 {
			s.StartNs += both
			n.leftNs -= both
			least = 2 * StandstillNs // naps are known to a tenth of a second
		}
	}
	return s, s.EndNs-s.StartNs >= least
}
