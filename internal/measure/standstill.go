package measure

import (
	"math"
	"slices"

	"brunt/internal/protocol"
)

// StandstillNs is the least length of a standstill, in ns.
const StandstillNs = 100_000_000

// Standstill is a time in which no operation succeeded although at least one should have. It begins when the first of
// them should have been answered, or with the end of the last success before if that is later, and ends with the end of
// the next success. An operation, also one that fails, should have been answered when the usual service time of its
// kind had passed since it was sent: see awaited. An arrival that waited because nothing was connected counts as sent
// at its intended start. Stalls of the generator itself are subtracted.
type Standstill struct {
	StartNs int64 `json:"start_ns"` // on the run's clock
	EndNs   int64 `json:"end_ns"`
}

// mostGaps limits the gaps that a recorder keeps between two cuts, to more than 6 minutes of uninterrupted gaps.
const mostGaps = 4096

// never is later than anything.
const never = math.MaxInt64

// gap is a time between two successes of one owner, or of all.
type gap struct {
	from, to int64
	pending  sends // of the success that ended it, and of other requests outstanding in it, as far as known
	failed   failures
}

// sends says when the first request of each of some operations was sent. A copy shares its memory until either grows.
type sends []sending

type sending struct {
	operation int
	ns        int64
}

func (l *sends) add(operation int, ns int64) {
	for i := range *l {
		if s := &(*l)[i]; s.operation == operation {
			s.ns = min(s.ns, ns)
			return
		}
	}
	*l = append(*l, sending{operation, ns})
}

func (l *sends) addAll(o sends) {
	for _, s := range o {
		l.add(s.operation, s.ns)
	}
}

// failures describes the failures between two successes of one owner.
type failures struct {
	sent sends
	end  int64 // when the last of them ended
}

func (f *failures) add(o *failures) {
	f.sent.addAll(o.sent)
	f.end = max(f.end, o.end)
}

func (f *failures) clone() failures { return failures{slices.Clone(f.sent), f.end} }

// reset keeps the memory.
func (f *failures) reset() { f.sent, f.end = f.sent[:0], 0 }

// gapFinder finds the gaps of one owner, for one operation or for all.
type gapFinder struct {
	lastOK      int64    // the latest end of a success, 0 before the first
	newest      int64    // when the success was sent that was sent last
	failedAfter int64    // lastOK when the first of failed was counted
	failed      failures // the latest ones, including those sent before lastOK
	gaps        []gap
}

// succeeded adds a success. In the common case this is a subtraction and three comparisons.
func (g *gapFinder) succeeded(s *Sample) {
	g.newest = max(g.newest, s.Sent)
	if s.End-min(g.lastOK, s.Sent) >= StandstillNs {
		g.late(s)
		return
	}
	g.lastOK = max(g.lastOK, s.End)
}

// late adds a success that ends a gap, or that may have been outstanding during the last one.
func (g *gapFinder) late(s *Sample) {
	if s.End-g.lastOK < StandstillNs {
		g.outstanding(s)
		g.lastOK = max(g.lastOK, s.End)
		return
	}
	l := gap{from: g.lastOK, to: s.End}
	l.pending.add(s.Operation, s.Sent)
	if s.Ready > l.from && s.Intended < s.Ready {
		l.pending.add(s.Operation, s.Intended) // its session was connected or freed by a failure in between
	}
	if g.failedAfter == g.lastOK {
		l.failed = g.failed.clone()
	}
	if len(g.gaps) < mostGaps {
		g.gaps = append(g.gaps, l)
	}
	g.lastOK = s.End
}

// outstanding adds an operation that ended after the last gap, if it was sent during the gap.
func (g *gapFinder) outstanding(s *Sample) {
	n := len(g.gaps)
	if n == 0 {
		return
	}
	if l := &g.gaps[n-1]; s.Sent < l.to && s.End > l.from {
		l.pending.add(s.Operation, s.Sent)
		if s.Class == protocol.OK {
			l.to = min(l.to, s.End) // answers are not always read in the order of their arrival
		}
	}
}

// didntSucceed adds a failure.
func (g *gapFinder) didntSucceed(s *Sample) {
	if g.failedAfter != g.lastOK {
		g.failed.reset()
		g.failedAfter = g.lastOK
	}
	g.failed.sent.add(s.Operation, s.Sent)
	g.failed.end = max(g.failed.end, s.End)
	if s.End-s.Sent >= StandstillNs {
		g.outstanding(s)
	}
}

// reset clears the gaps that were reported, so that none is reported twice.
func (g *gapFinder) reset() {
	g.failed.reset()
	g.failedAfter, g.gaps = 0, g.gaps[:0]
}

// told contains what the collector knows about the gaps of an owner.
type told struct {
	lastOK int64
	newest int64    // when the success was sent that was sent last
	failed failures // since lastOK
	gaps   []gap    // not yet compared with those of other owners
}

// take adds the gaps of an owner that were handed over.
func (t *told) take(g *gapFinder) {
	t.newest = max(t.newest, g.newest)
	for i, l := range g.gaps {
		if i == 0 && l.from == t.lastOK {
			l.failed.add(&t.failed)
		}
		if len(t.gaps) < mostGaps {
			t.gaps = append(t.gaps, l)
		}
	}
	if g.lastOK != t.lastOK {
		t.lastOK = g.lastOK
		t.failed.reset()
	}
	if g.failedAfter == g.lastOK {
		t.failed.add(&g.failed)
	}
}

// present returns the gap that has not ended.
func (t *told) present() gap { return gap{from: t.lastOK, to: never, failed: t.failed} }

// shared appends to into the intersections of all with the gaps of t, including the current one. Both lists must be in
// order.
func (t *told) shared(all, into []gap) []gap {
	own := append(t.gaps, t.present())
	for i, k := 0, 0; i < len(all) && k < len(own); {
		a, b := &all[i], &own[k]
		both := gap{from: max(a.from, b.from), to: min(a.to, b.to)}
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

// pendingIn adds to l since when the owner had requests outstanding in a part of one of its gaps.
func (t *told) pendingIn(part *gap, l *sends) {
	own := t.present()
	for i := range t.gaps {
		if g := &t.gaps[i]; g.from <= part.from && part.to <= g.to {
			own = *g
			break
		}
	}
	l.addAll(own.pending)
	if own.failed.end > part.from {
		l.addAll(own.failed.sent)
	}
}

// freeze is a time span that contains a stall of the generator.
type freeze struct{ from, to, leftNs int64 }

// mostFreezes is how many freezes are kept. Older ones are needed because a standstill that ends now may have begun
// long ago.
const mostFreezes = 64

// standstills computes the run's standstills from the owners' gaps.
type standstills struct {
	from      int64 // nothing was outstanding before this time
	freezes   []freeze
	all, next []gap
	awaited   []awaited // those that have ended, until it is known when they began
}

// slept records that the generator stood still within an interval.
func (st *standstills) slept(iv *Interval) {
	if iv.Health.PausedNs <= 0 {
		return
	}
	if len(st.freezes) == mostFreezes {
		st.freezes = slices.Delete(st.freezes, 0, 1)
	}
	st.freezes = append(st.freezes, freeze{iv.StartNs, iv.EndNs + iv.Health.PausedNs, iv.Health.PausedNs})
}

// find appends to out the standstills that have ended by endNs, and whose beginning is known. owners contains the gaps
// of all owners. idle means that nothing is outstanding, which also ends a standstill.
func (st *standstills) find(owners []*told, answers []answerTimes, endNs int64, idle bool,
	out []Standstill) []Standstill {
	st.all = append(st.all[:0], gap{to: never})
	for _, t := range owners {
		st.next = t.shared(st.all, st.next[:0])
		st.all, st.next = st.next, st.all
	}
	for i := range st.all {
		l := &st.all[i]
		if l.to == never {
			if !idle {
				continue
			}
			l.to = endNs
		}
		var pending sends
		for _, t := range owners {
			t.pendingIn(l, &pending)
		}
		st.await(max(l.from, st.from), l.to, pending, answers)
	}
	for _, t := range owners {
		t.gaps = t.gaps[:0]
		if idle {
			t.failed.reset()
		}
	}
	if idle {
		st.from = endNs
	}
	return st.settle(answers, endNs, idle, out)
}

// LeastStandstillNs returns the least length of a standstill that counts, ns: StandstillNs, or 20 times the mean time
// between two successes if that is longer. loadNs is the length of the load, successes their number, and lostNs the
// time lost to standstills, in which there are no successes.
func LeastStandstillNs(loadNs, lostNs int64, successes uint64) int64 {
	if successes == 0 {
		return StandstillNs
	}
	return max(StandstillNs, rareSpacings*(max(loadNs-lostNs, 0)/int64(successes)))
}

// rareSpacings is the least length of a standstill in mean times between two successes. With successes at random times,
// a gap of 20 times their mean distance occurs once in 500 million.
const rareSpacings = 20

// awake subtracts the generator's stalls from a standstill, and reports whether a standstill remains.
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
