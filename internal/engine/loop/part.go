package loop

import (
	"brunt/internal/load/schedule"
	"math"
)

// stagePart is a loop's part of a stage, and how far the loop has come with it.
type stagePart struct {
	stage   schedule.Stage
	own     schedule.Part // of this machine's part of the stage
	total   uint64        // plan.ByCount: the number of operations; 0 means no limit
	reached uint64        // one more than the last operation taken by the loop, counted from Stage.First

	stopping bool  // no new operation begins
	stopNs   int64 // since when; never if not stopping
	ended    bool  // there are no operations left to begin

	starved bool // closed, with Stage.Numbers: no operation was given to take
	losses  int  // with Part.Shared: how many the active workers are for

	taken uint64                // closed: operations that the loop has taken of its part
	ahead schedule.PartArrivals // open: the arrivals to send
	due   schedule.PartArrivals // open: the same, to count what fell due
	done  uint64                // open: arrivals that have been sent, dropped or failed

	phaseEnds schedule.PhaseEnds // open: those that due has not passed
	finished  chan<- *stagePart
}

// newStagePart returns what loop i of n has of a stage.
func newStagePart(stage schedule.Stage, i, n int, total uint64, finished chan<- *stagePart) *stagePart {
	own := stage.Part.Worker(uint64(i), uint64(n))
	p := &stagePart{stage: stage, own: own, total: total, stopNs: never, finished: finished}
	if stage.Open() {
		end := uint64(math.MaxUint64)
		if total > 0 {
			end = total - min(stage.First, total)
		}
		p.ahead, p.due = stage.Arrivals(own, end)
		p.phaseEnds = stage.PhaseEnds
		p.ended = p.ahead.Over
	}
	return p
}

// number returns the number of the k-th operation of the stage.
func (p *stagePart) number(k uint64) uint64 { return p.stage.First + k }

// exists reports whether there is a k-th operation.
func (p *stagePart) exists(k uint64) bool { return p.total == 0 || p.number(k) < p.total }

// took records that the k-th operation of the stage is taken.
func (p *stagePart) took(k uint64) { p.reached = k + 1 }

// open reports whether operations of a closed stage begin now.
func (p *stagePart) open(now int64) bool {
	return !p.ended && !p.stopping && now >= p.stage.StartNs && now < p.end()
}

// takeClosed returns the next operation of a closed stage.
func (p *stagePart) takeClosed(now int64) (index uint64, ok bool) {
	s := &p.stage
	if s.Numbers != nil {
		return p.takeGiven(now)
	}
	k := p.own.At(p.taken)
	if p.ended || p.stopping || now < s.StartNs ||
		s.Operations > 0 && k >= s.Operations || !p.exists(k) || now >= p.end() {
		p.ended = p.ended || p.stopping || now >= s.StartNs
		return 0, false
	}
	p.taken++
	p.took(k)
	return p.number(k), true
}

// takeGiven is takeClosed for a stage with Numbers.
func (p *stagePart) takeGiven(now int64) (index uint64, ok bool) {
	if p.ended || p.stopping || now >= p.end() {
		p.ended = true
		return 0, false
	}
	k, what := p.stage.Numbers.Take(now)
	p.starved = what == schedule.NotYet
	if p.ended = what == schedule.None || what == schedule.Took && !p.exists(k); p.ended || p.starved {
		return 0, false
	}
	p.took(k)
	return p.number(k), true
}

// whole reports whether the loop's part has been executed to its last operation.
func (p *stagePart) whole() bool {
	if p.stopping {
		return false
	}
	if p.stage.Open() {
		return p.ahead.Over
	}
	return p.stage.Operations > 0 && p.own.At(p.taken) >= p.stage.Operations
}

// end returns when a stage stops by the clock, or never.
func (p *stagePart) end() int64 {
	s := &p.stage
	switch {
	case s.Open():
		return s.StartNs + s.Shape.DurationNs()
	case s.DurationNs > 0:
		return s.StartNs + s.DurationNs
	}
	return never
}

// backlog returns how many arrivals have been counted as due and were not taken.
func (p *stagePart) backlog() uint64 { return p.due.Own - min(p.done, p.due.Own) }

// fallDue counts the arrivals that have fallen due by now and were not counted before. After a stop no arrivals fall
// due.
func (p *stagePart) fallDue(now int64) (n uint64) {
	now = min(now, p.stopNs)
	for p.due.Known() && !p.due.Over && p.due.IntendedNs <= now {
		n++
		p.due.Advance()
	}
	return n
}
