package loop

import (
	"brunt/internal/schedule"
	"math"
)

// share is one loop's share of a stage. With n loops at work, a loop takes every n-th of the
// operations that this machine takes.
type share struct {
	stage   schedule.Stage
	n       uint64 // loops at work
	total   uint64 // plan.ByCount: operations from this number on don't exist; 0 means no end
	reached uint64 // one more than the last operation that the loop has taken, counted from Stage.First

	stopping bool  // nothing new is begun
	stopNs   int64 // since when; never if not stopping
	ended    bool  // there is nothing left to begin

	next     uint64          // closed: of this machine's operations the loop's next
	ahead    schedule.Stripe // open: the arrivals to send
	due      schedule.Stripe // open: the same, to count what fell due
	done     uint64          // open: arrivals that have been sent, dropped or failed
	finished chan<- *share
}

// newShare returns share i of n of a stage.
func newShare(stage schedule.Stage, i, n int, total uint64, finished chan<- *share) *share {
	p := &share{stage: stage, n: uint64(n), total: total, stopNs: never, next: uint64(i), finished: finished}
	if stage.Open() {
		end := uint64(math.MaxUint64)
		if total > 0 {
			end = total - min(stage.First, total)
		}
		p.ahead, p.due = stage.Stripe(p.next, p.n, end), stage.Stripe(p.next, p.n, end)
		p.ended = p.ahead.Over
	}
	return p
}

// number is the number of the operation that is k-th in the stage.
func (p *share) number(k uint64) uint64 { return p.stage.First + k }

// exists reports whether there is a k-th operation.
func (p *share) exists(k uint64) bool { return p.total == 0 || p.number(k) < p.total }

// took notes that the k-th operation of the stage is used up.
func (p *share) took(k uint64) { p.reached = k + 1 }

// takeClosed returns the next operation of a closed stage.
func (p *share) takeClosed(now int64) (index uint64, ok bool) {
	s := &p.stage
	k := s.Part.At(p.next)
	if p.ended || p.stopping || now < s.StartNs ||
		s.Operations > 0 && k >= s.Operations || !p.exists(k) || now >= p.end() {
		p.ended = p.ended || p.stopping || now >= s.StartNs
		return 0, false
	}
	p.next += p.n
	p.took(k)
	return p.number(k), true
}

// whole reports whether the loop's part has been carried out to its last operation.
func (p *share) whole() bool {
	if p.stopping {
		return false
	}
	if p.stage.Open() {
		return p.ahead.Over
	}
	return p.stage.Operations > 0 && p.stage.Part.At(p.next) >= p.stage.Operations
}

// end is when a stage stops by the clock, or never.
func (p *share) end() int64 {
	s := &p.stage
	switch {
	case s.Open():
		return s.StartNs + s.Shape.DurationNs()
	case s.DurationNs > 0:
		return s.StartNs + s.DurationNs
	}
	return never
}

// fallDue counts the arrivals that have fallen due up to now and weren't counted before.
// After a stop none fall due.
func (p *share) fallDue(now int64) (n uint64) {
	now = min(now, p.stopNs)
	for p.due.Known() && !p.due.Over && p.due.IntendedNs <= now {
		n++
		p.due.Advance()
	}
	return n
}
