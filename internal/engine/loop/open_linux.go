package loop

import (
	"brunt/internal/engine"
	"brunt/internal/measure"
)

// timing says when arrivals are sent, and how late they may be, ns.
type timing struct {
	tolerance int64 // sends may be late by this, to be sent together with others
	spin      int64 // busy-wait before an intended start
	dropLate  bool  // give up arrivals that are later than dropAfter
	dropAfter int64
	overtime  int64 // see engine.FleetConfig.Overtime
}

func newTiming(cfg *engine.FleetConfig) timing {
	return timing{
		tolerance: int64(cfg.TimingTolerance),
		spin:      int64(cfg.Spin),
		dropLate:  cfg.DropLate,
		dropAfter: int64(cfg.DropAfter),
		overtime:  int64(cfg.Overtime()),
	}
}

// late reports whether an arrival must be given up, because of the policy for late arrivals or because the stage ended
// too long ago. free means that a worker could take it. pastEnd is the time since the end of the stage, negative before
// it.
func (t *timing) late(free bool, lag, pastEnd int64) bool {
	switch {
	case pastEnd > t.overtime:
		return true
	case !t.dropLate:
		return false
	case free:
		return t.dropAfter > 0 && lag-t.tolerance > t.dropAfter
	}
	return lag >= t.dropAfter
}

// last returns the latest time at which an arrival of a stage is sent.
func (t *timing) last(intended, stageEnd int64) int64 {
	last := stageEnd + t.overtime
	if t.dropLate {
		last = min(last, intended+t.dropAfter)
	}
	return last
}

// startDue starts and sends the arrivals that are due while there are free workers. If there are none, the first
// arrival waits, and with it all that follow. Arrivals are drawn from the schedule only when it is their turn, so a
// backlog of any length needs no memory.
func (l *loop) startDue(now int64) {
	l.startArrivals(now)
	l.flushDirty()
}

// startArrivals starts due arrivals on free workers.
func (l *loop) startArrivals(now int64) {
	p := l.part
	if p.ended {
		return
	}
	spun := false // answers are read between two waits for arrivals, however short the gap between these
	for range startsAtOnce {
		if !p.ahead.Known() {
			return
		}
		if p.ahead.Over {
			p.ended = true
			return
		}
		lag := now - p.ahead.IntendedNs
		if lag < 0 {
			l.flushDirty() // encoded requests don't wait for arrivals that are not due
		}
		a := l.available.peek()
		if a != nil && lag < 0 && -lag <= l.timing.spin && !spun {
			spun = true
			now = l.spinUntil(p.ahead.IntendedNs)
			lag = now - p.ahead.IntendedNs
		}
		switch {
		case lag < 0:
			return
		case l.unreachable(lag, now):
			l.takeHead()
			l.failConnect(p.number(p.ahead.Number), p.ahead.IntendedNs, now)
			p.ahead.Advance()
		case l.timing.late(a != nil, lag, now-p.end()):
			l.dropHead(l.blame(a, now))
		case a != nil && l.gone(a, now): // another one may be free
		case a != nil:
			l.available.drop()
			l.startHead(a, now)
			now = l.now()
		default:
			l.grow(now)
			return
		}
	}
}

// unreachable reports whether a due arrival fails because nothing is connected: either every address refuses, or
// nothing has been connected, and the arrival has waited, for the operation timeout. The policy for late arrivals is
// applied in between.
func (l *loop) unreachable(lag, now int64) bool {
	switch {
	case l.conns.all > 0:
		return false
	case !l.cfg.OutageWait && l.conns.refused():
		return true
	case l.timing.dropLate && lag >= l.timing.dropAfter:
		return false
	}
	return min(lag, now-l.conns.downSince) > l.deadlines.timeout
}

// blame returns why the first arrival was not sent in time: because of the generator, if a, the first free worker, was
// free before it was too late.
func (l *loop) blame(a *worker, now int64) measure.Unsent {
	p := l.part
	switch {
	case l.conns.all == 0:
		return measure.UnsentNoConnection
	case a != nil && a.freeAt <= l.timing.last(p.ahead.IntendedNs, p.end()):
		l.rec.OwnLag(now - max(p.ahead.IntendedNs, a.freeAt))
		return measure.UnsentGenerator
	}
	return measure.UnsentNoSession
}

// takeHead counts the first arrival as taken, in the phase in which it falls due.
func (l *loop) takeHead() {
	p := l.part
	if len(p.phaseEnds) > 0 {
		l.countDue(p, p.ahead.IntendedNs)
	}
	p.took(p.ahead.Number)
	p.done++
}

// startHead starts the first arrival on a worker.
func (l *loop) startHead(a *worker, now int64) {
	p := l.part
	l.takeHead()
	l.startOperation(a, p.number(p.ahead.Number), p.ahead.IntendedNs, now)
	if l.cfg.Pipeline > 1 {
		l.io.markDirty(a.sessions[0]) // arrivals that fall due together are sent in one write
	} else {
		l.flushAll(a.sessions[0])
	}
	l.offer(a)
	p.ahead.Advance()
}

// dropHead gives up the first arrival.
func (l *loop) dropHead(why measure.Unsent) {
	p := l.part
	l.takeHead()
	l.drop(p.number(p.ahead.Number), p.ahead.IntendedNs, why)
	p.ahead.Advance()
}

// countDue reports the arrivals that have fallen due by now to the recorder, those of each phase to its own.
func (l *loop) countDue(p *stagePart, now int64) {
	for at, ok := p.phaseEnds.Pass(now); ok; at, ok = p.phaseEnds.Pass(now) {
		if n := p.fallDue(at - 1); n > 0 {
			l.rec.Offer(n)
		}
		backlog := p.backlog()
		l.setGauges(l.now(), backlog)
		l.rec.NextPhase(at, backlog+uint64(l.pending.operations))
	}
	if n := p.fallDue(now); n > 0 {
		l.rec.Offer(n)
	}
}

// spinUntil busy-waits until at.
func (l *loop) spinUntil(at int64) int64 {
	for {
		if now := l.now(); now >= at {
			return now
		}
	}
}

// lookAgainNs is the pause before checking again for an arrival that should be known and isn't.
const lookAgainNs = 1_000_000

// nextArrival returns when the loop must wake for the next arrival, and whether it may sleep through answers until
// then. The kernel records when answers arrive, and while there are sessions without work nothing depends on reading
// answers sooner, unless an operation has further steps.
func (l *loop) nextArrival(now int64) (at int64, blind bool) {
	p := l.part
	head := p.ahead.IntendedNs
	if p.ahead.Over {
		return now, false
	}
	if p.ahead.Waits {
		return max(head, now+lookAgainNs), false
	}
	if l.available.peek() != nil {
		at = head + l.timing.tolerance - l.timing.spin
		blind = l.pending.sessions > 0 && l.pending.eager == 0 && l.io.stalled == 0 && at-now <= blindNs
		return at, blind
	}
	if !l.cfg.OutageWait && l.conns.refused() {
		return head, false
	}
	at = p.end() + l.timing.overtime + 1
	if l.conns.all == 0 {
		at = min(at, max(head, l.conns.downSince)+l.deadlines.timeout+1)
	}
	if l.timing.dropLate {
		at = min(at, head+l.timing.dropAfter)
	}
	return at, false
}
