package loop

import "brunt/internal/measure"

// sendDue sends the arrivals that are due as long as there are workers to take them. While there
// are none the first waits, and with it all that follow it: they are drawn from the schedule
// only when their turn comes, so that a backlog of any length takes no memory.
func (l *loop) sendDue(now int64) {
	l.takeDue(now)
	l.flushDirty()
}

// takeDue gives the arrivals that are due to workers.
func (l *loop) takeDue(now int64) {
	p := l.part
	if p.ended {
		return
	}
	for range beginsAtOnce {
		if !p.ahead.Known() {
			return
		}
		if p.ahead.Over {
			p.ended = true
			return
		}
		lag := now - p.ahead.IntendedNs
		if lag < 0 {
			l.flushDirty() // what is encoded doesn't wait for what isn't due
		}
		a := l.available.peek()
		if a != nil && lag < 0 && -lag <= l.spin {
			now = l.spinUntil(p.ahead.IntendedNs)
			lag = now - p.ahead.IntendedNs
		}
		switch {
		case lag < 0:
			return
		case l.unreachable(lag, now):
			p.took(p.ahead.Number)
			p.done++
			l.failConnect(p.number(p.ahead.Number), p.ahead.IntendedNs, now)
			p.ahead.Advance()
		case l.late(a != nil, lag, now):
			l.dropHead(l.blame(a, now))
		case a != nil:
			l.available.drop()
			l.sendHead(a, now)
			now = l.now()
		default:
			l.grow(now)
			return
		}
	}
}

// unreachable reports whether an arrival that is due fails because nothing is connected: every
// address refuses, or there has been nothing for the operation timeout, all of which the arrival has
// waited. The policy for late ones comes between.
func (l *loop) unreachable(lag, now int64) bool {
	switch {
	case l.upAll > 0:
		return false
	case !l.cfg.OutageWait && l.refused():
		return true
	case l.cfg.DropLate && lag >= l.dropAfter:
		return false
	}
	return min(lag, now-l.downSince) > l.deadlines.timeout
}

// blame says what kept the first arrival from being sent in time: the generator if a, the first free
// worker, was free before it was too late.
func (l *loop) blame(a *worker, now int64) measure.Unsent {
	p := l.part
	last := p.end() + l.overtime
	if l.cfg.DropLate {
		last = min(last, p.ahead.IntendedNs+l.dropAfter)
	}
	switch {
	case l.upAll == 0:
		return measure.UnsentNoConnection
	case a != nil && a.freeAt <= last:
		l.rec.OwnLag(now - max(p.ahead.IntendedNs, a.freeAt))
		return measure.UnsentGenerator
	}
	return measure.UnsentNoSession
}

// late reports whether an arrival is to be given up: by the policy, or because the stage has
// been over for the operation timeout.
func (l *loop) late(free bool, lag, now int64) bool {
	if now-l.part.end() > l.overtime {
		return true
	}
	if !l.cfg.DropLate {
		return false
	}
	if free {
		return l.dropAfter > 0 && lag-l.tolerance > l.dropAfter
	}
	return lag >= l.dropAfter
}

// sendHead gives the first arrival to a worker.
func (l *loop) sendHead(a *worker, now int64) {
	p := l.part
	p.took(p.ahead.Number)
	p.done++
	l.start(a, p.number(p.ahead.Number), p.ahead.IntendedNs, now)
	if l.cfg.Pipeline > 1 {
		l.markDirty(a.sessions[0]) // what falls due together goes in one write
	} else {
		l.flushAll(a.sessions[0])
	}
	l.offer(a)
	p.ahead.Advance()
}

// dropHead gives up the first arrival.
func (l *loop) dropHead(why measure.Unsent) {
	p := l.part
	p.took(p.ahead.Number)
	p.done++
	l.drop(p.number(p.ahead.Number), p.ahead.IntendedNs, why)
	p.ahead.Advance()
}

// countDue tells the recorder of arrivals that have fallen due up to now.
func (l *loop) countDue(p *share, now int64) {
	if n := p.fallDue(now); n > 0 {
		l.rec.Offer(n)
	}
}

// spinUntil keeps the core busy until at.
func (l *loop) spinUntil(at int64) int64 {
	for {
		if now := l.now(); now >= at {
			return now
		}
	}
}

// lookAgainNs is when to look again for an arrival that should be known and isn't.
const lookAgainNs = 1_000_000

// nextArrival is when the loop must wake for the next arrival, and whether it may sleep through
// answers until then: their time of arrival comes from the kernel, and while there are sessions
// without work nothing depends on seeing them sooner, unless an operation has further steps.
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
		at = head + l.tolerance - l.spin
		blind = l.waiting > 0 && l.eager == 0 && l.stalled == 0 && at-now <= blindNs
		return at, blind
	}
	if !l.cfg.OutageWait && l.refused() {
		return head, false
	}
	at = p.end() + l.overtime + 1
	if l.upAll == 0 {
		at = min(at, max(head, l.downSince)+l.deadlines.timeout+1)
	}
	if l.cfg.DropLate {
		at = min(at, head+l.dropAfter)
	}
	return at, false
}
