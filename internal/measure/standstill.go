package measure

import (
	"math"
	"slices"

	"brunt/internal/protocol"
)

// StandstillNs is the least length of a standstill, in ns.
const StandstillNs = 100_000_000

// Standstill is a time in which no operation succeeded although some should have: from the moment
// at which the first of them was sent, or at which the last success before ended if that came later,
// to the end of the next success. An operation that fails should have succeeded from its sending on.
// One that waited to be sent although the generator was there, because nothing was connected, should
// have from its intended start on. What the generator itself stood still is no part of it.
type Standstill struct {
	StartNs int64 `json:"start_ns"` // on the run's clock
	EndNs   int64 `json:"end_ns"`
}

// mostGaps bounds what a recorder notes between two cuts: more than 6 minutes of gaps without a
// break.
const mostGaps = 4096

// never is later than anything.
const never = math.MaxInt64

// gap is a time between two successes of one owner, or of all.
type gap struct {
	from, to int64
	pending  int64 // since when something was outstanding that hadn't succeeded at its end; never if unknown
	failed   int64 // when the first of those that failed in it was sent; never if none
}

// gapFinder finds the gaps of one owner.
type gapFinder struct {
	lastOK      int64 // the latest end of a success, 0 before the first
	failedAfter int64 // lastOK when the first of the latest failures was counted
	failed      int64 // when that was sent, or an earlier one that ended later; 0 if there is none
	gaps        []gap
}

// succeeded takes a success. Usually that is a subtraction and two comparisons.
func (g *gapFinder) succeeded(s *Sample) {
	if s.End-min(g.lastOK, s.Sent) >= StandstillNs {
		g.late(s)
		return
	}
	g.lastOK = max(g.lastOK, s.End)
}

// late takes a success that ends a gap, or that may have been outstanding during the last one.
func (g *gapFinder) late(s *Sample) {
	if s.End-g.lastOK < StandstillNs {
		g.outstanding(s)
		g.lastOK = max(g.lastOK, s.End)
		return
	}
	l := gap{from: g.lastOK, to: s.End, pending: s.Sent, failed: never}
	if s.Ready > l.from && s.Intended < s.Ready {
		l.pending = min(l.pending, s.Intended) // its session was connected or freed by a failure in the meantime
	}
	if g.failed != 0 && g.failedAfter == g.lastOK {
		l.failed = g.failed
	}
	if len(g.gaps) < mostGaps {
		g.gaps = append(g.gaps, l)
	}
	g.lastOK = s.End
}

// outstanding takes an operation that ended after the last gap, if it had been sent in it.
func (g *gapFinder) outstanding(s *Sample) {
	n := len(g.gaps)
	if n == 0 {
		return
	}
	if l := &g.gaps[n-1]; s.Sent < l.to && s.End > l.from {
		l.pending = min(l.pending, s.Sent)
		if s.Class == protocol.OK {
			l.to = min(l.to, s.End) // answers are not always looked at in the order in which they came
		}
	}
}

// didntSucceed takes a failure.
func (g *gapFinder) didntSucceed(s *Sample) {
	if g.failed == 0 || g.failedAfter != g.lastOK {
		g.failed, g.failedAfter = s.Sent, g.lastOK
	}
	g.failed = min(g.failed, s.Sent)
	if s.End-s.Sent >= StandstillNs {
		g.outstanding(s)
	}
}

// reset forgets what was told of, so that it isn't told twice.
func (g *gapFinder) reset() { g.failed, g.failedAfter, g.gaps = 0, 0, g.gaps[:0] }

// told is what a collector knows of an owner's gaps.
type told struct {
	lastOK int64
	failed int64 // when the first failure since lastOK was sent; never if there is none
	gaps   []gap // not yet compared with others'
}

// take adds what an owner has handed over.
func (t *told) take(g *gapFinder) {
	for i, l := range g.gaps {
		if i == 0 && l.from == t.lastOK {
			l.failed = min(l.failed, t.failed)
		}
		l.pending = min(l.pending, l.failed)
		if len(t.gaps) < mostGaps {
			t.gaps = append(t.gaps, l)
		}
	}
	if g.lastOK != t.lastOK {
		t.lastOK, t.failed = g.lastOK, never
	}
	if g.failed != 0 && g.failedAfter == g.lastOK {
		t.failed = min(t.failed, g.failed)
	}
}

// shared are the parts that the gaps of all have in common with those of t, the present one
// included; both are in order. They are appended to into.
func (t *told) shared(all, into []gap) []gap {
	present := gap{from: t.lastOK, to: never, pending: t.failed}
	own := append(t.gaps, present)
	for i, k := 0, 0; i < len(all) && k < len(own); {
		a, b := &all[i], &own[k]
		both := gap{from: max(a.from, b.from), to: min(a.to, b.to), pending: min(a.pending, b.pending)}
		if both.to-both.from >= StandstillNs {
			into = append(into, both)
		}
		if a.to < b.to {
			i++
		} else {
			k++
		}
	}
	t.gaps = own[:len(own)-1]
	return into
}

// freeze is a time in which the generator itself stood still somewhere.
type freeze struct{ from, to, leftNs int64 }

// mostFreezes is how many freezes are remembered: a standstill that ends now may have begun long ago.
const mostFreezes = 64

// standstills turns owners' gaps into the run's standstills.
type standstills struct {
	from      int64 // nothing was outstanding before
	freezes   []freeze
	all, next []gap
}

// slept notes that the generator stood still for ns within an interval.
func (st *standstills) slept(iv *Interval) {
	if iv.Health.PausedNs <= 0 {
		return
	}
	if len(st.freezes) == mostFreezes {
		st.freezes = slices.Delete(st.freezes, 0, 1)
	}
	st.freezes = append(st.freezes, freeze{iv.StartNs, iv.EndNs + iv.Health.PausedNs, iv.Health.PausedNs})
}

// find appends the standstills that have ended by endNs to out. idle says that nothing is
// outstanding, which ends one too.
func (st *standstills) find(members []member, endNs int64, idle bool, out []Standstill) []Standstill {
	st.all = append(st.all[:0], gap{to: never, pending: never})
	for _, m := range members {
		t := &m.recorder.told
		st.next = t.shared(st.all, st.next[:0])
		st.all, st.next = st.next, st.all
		t.gaps = t.gaps[:0]
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
		if s, ok := st.awake(Standstill{max(l.from, l.pending, st.from), l.to}); ok {
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
	for i := range st.freezes {
		n := &st.freezes[i]
		if both := min(min(s.EndNs, n.to)-max(s.StartNs, n.from), n.leftNs); both > 0 {
			s.StartNs += both
			n.leftNs -= both
			least = 2 * StandstillNs // freezes are known to a tenth of a second
		}
	}
	return s, s.EndNs-s.StartNs >= least
}
