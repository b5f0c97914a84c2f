package loop

import (
	"math"

	"brunt/internal/measure"
)

// startStage starts the loop's part of a stage.
func (l *loop) startStage(p *stagePart) {
	l.part = p
	l.conns.uptime.Take(l.now()) // the time before doesn't count
	l.available.clear()
	l.stamp(p.stage.Open())
	for i := range l.workers {
		l.workers[i].active = false
	}
	l.activate()
}

// activate has workers take part in the stage, more than before if other machines were lost. Those that were on standby
// connect.
func (l *loop) activate() {
	p := l.part
	if p.stage.Part.Shared != nil {
		p.losses = p.stage.Part.Shared.Losses()
	}
	most := p.stage.ActiveSessions()
	if most <= 0 || p.stage.Open() && p.stage.Part.Shared == nil {
		most = math.MaxInt
	}
	for i := range l.workers {
		a := &l.workers[i]
		if a.active || a.id >= most {
			continue
		}
		a.active = true
		if a.spare && !l.cfg.Grows() {
			a.spare = false
			l.fleet.growth.Wake(1)
			for _, s := range a.sessions {
				if l.fleet.serves(s.address) && !s.up && !s.dialing {
					l.dial(s)
				}
			}
		}
		l.offer(a)
	}
}

// inherit has further workers take part when another machine was lost.
func (l *loop) inherit() {
	if shared := l.part.stage.Part.Shared; shared != nil && shared.Losses() != l.part.losses {
		l.activate()
	}
}

// stamp turns kernel timestamps on or off. A closed load reads answers as they arrive, so the loop's own clock is
// sufficient, and saves the cost of timestamps.
func (l *loop) stamp(on bool) {
	if l.io.stamped == on || l.cfg.ClosedOnly {
		return
	}
	l.io.stamped = on
	for i := range l.sessions {
		if s := &l.sessions[i]; s.up {
			stampSocket(s.fd, on)
		}
	}
}

// offer adds a worker to the queue if it can take an operation.
func (l *loop) offer(a *worker) {
	if l.part != nil && a.active {
		l.available.push(a)
	}
}

// startOperations starts operations on free workers.
func (l *loop) startOperations(now int64) {
	l.inherit()
	if l.work.HasScripts() && l.quit() {
		l.part.ended = true
	}
	if l.part.stage.Open() {
		l.startDue(now)
		l.countDue(l.part, now)
		return
	}
	numbers := l.part.stage.Numbers
	if now >= l.part.end() || numbers != nil && l.available.peek() == nil && numbers.Over() {
		l.part.ended = true
	}
	for range startsAtOnce {
		a := l.available.peek()
		if a == nil {
			return
		}
		l.available.drop()
		if !l.startNext(a, now) {
			return
		}
		if a.quit && l.quit() {
			l.part.ended = true
			return
		}
	}
}

// waits asks the script of a worker in a closed load whether it begins an operation now, and reports whether it
// doesn't: it pauses, or quits.
func (l *loop) waits(a *worker, now int64) bool {
	pause, quit := a.vacant.cursor.Wait()
	switch {
	case quit:
		l.quits(a.vacant)
	case pause > 0:
		f := a.take()
		f.phase = resting
		l.timers.add(f, now+int64(pause))
	default:
		return false
	}
	return true
}

// quit reports whether the scripts of all active workers have said that they take no further operations.
func (l *loop) quit() bool {
	for i := range l.workers {
		if a := &l.workers[i]; a.active && !a.quit {
			return false
		}
	}
	return true
}

// startNext starts as many operations of a closed stage as the worker can take, and reports whether there may be
// further ones.
func (l *loop) startNext(a *worker, now int64) bool {
	more := l.startPipeline(a, now)
	l.flushAll(a.sessions[0])
	if more || !l.part.ended {
		l.offer(a)
	}
	return more
}

// startPipeline starts operations for startNext without sending. It draws the arguments of all operations before it
// encodes any, so that the processor works on several at a time.
func (l *loop) startPipeline(a *worker, now int64) (more bool) {
	var first, last *request
	more = true
	for range a.requests {
		if !a.ready() || l.part.open(now) && l.waits(a, now) {
			break
		}
		index, ok := l.part.takeClosed(now)
		if !ok {
			more = false
			break
		}
		f := l.takeRequest(a, never, now)
		f.move = f.cursor.Begin(index)
		if last == nil {
			first = f
		} else {
			last.next = f
		}
		last = f
	}
	for f := first; f != nil; {
		next := f.next
		f.next = nil
		l.carryOn(f, f.move, now)
		f = next
	}
	return more
}

// unconnected records that an attempt to connect failed. If nothing is connected, it fails one operation of a closed
// stage.
func (l *loop) unconnected(s *session) {
	s.failures++
	l.conns.refusing[s.address] = true
	l.unpark(s)
	now := l.now()
	if l.part == nil || l.part.stage.Open() || l.conns.all > 0 ||
		l.cfg.OutageWait && now-l.conns.downSince <= l.deadlines.timeout {
		return
	}
	if index, ok := l.part.takeClosed(now); ok {
		l.failConnect(index, now, now)
	}
}

// stopStage prevents new operations. Arrivals that are due count as dropped.
func (l *loop) stopStage() {
	p := l.part
	if p == nil || p.stopping {
		return
	}
	p.stopping, p.stopNs = true, l.now()
	if p.stage.Open() {
		for p.ahead.Known() && !p.ahead.Over && p.ahead.IntendedNs <= p.stopNs {
			l.dropHead(measure.UnsentLoadOver)
		}
	}
	p.ended = true
}

// finishStage ends the loop's part of the stage when all operations that were begun have ended.
func (l *loop) finishStage() {
	p := l.part
	if !p.ended || l.pending.operations > 0 {
		return
	}
	for {
		f := l.timers.pop(never - 1)
		if f == nil {
			break
		}
		if f.phase != pacing {
			f.worker.free(f, l.now())
		}
	}
	if p.stage.Open() {
		p.phaseEnds = nil // the last arrival has been taken
		l.countDue(p, never)
	}
	l.part = nil
	l.available.clear()
	p.finished <- p
}

// nextSend returns when the loop must wake for its stage, and whether it may sleep through answers until then.
func (l *loop) nextSend(now int64) (at int64, blind bool) {
	p := l.part
	switch {
	case p.ended && l.pending.operations == 0:
		return now, false
	case p.ended:
		return never, false
	case p.stage.Open():
		return l.nextArrival(now)
	case now < p.stage.StartNs:
		return p.stage.StartNs, false
	case l.available.peek() != nil && p.starved:
		return now + lookAgainNs, false
	case l.available.peek() != nil:
		return now, false
	}
	return p.end(), false
}
