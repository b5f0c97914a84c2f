package loop

import (
	"brunt/internal/engine"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// startOperation starts an operation on a worker that is free.
func (l *loop) startOperation(a *worker, index uint64, intended, now int64) {
	f := l.takeRequest(a, intended, now)
	l.carryOn(f, f.cursor.Begin(index), now)
}

// takeRequest takes a vacant request of a worker for a new operation. intended is never in closed loads: the intended
// start is then the time of the send.
func (l *loop) takeRequest(a *worker, intended, now int64) *request {
	f := a.take()
	freeAt := a.freeAt
	if intended == never {
		freeAt = max(f.vacantAt, a.upSince, l.part.stage.StartNs)
	}
	f.start(freeAt, intended, now)
	f.behind = a.behind
	l.pending.operations++
	l.deadlines.add(f)
	return f
}

// carryOn executes the next step of an operation's cursor. at is the time of the operation's last event.
func (l *loop) carryOn(f *request, next workload.Move, at int64) {
	if failure := f.cursor.TakeFailure(); failure != nil {
		l.report(f, failure)
	}
	switch next {
	case workload.Send:
		l.send(f)
	case workload.Think:
		f.phase = pausing
		if f.cursor.Scripted() { // it may have worked since
			at = l.now()
		}
		l.timers.add(f, at+int64(f.cursor.Pause()))
	case workload.Retry:
		if l.cfg.TooLate(f.intended, f.cursor.EndNs) {
			l.carryOn(f, f.cursor.Expire(at), at)
			return
		}
		f.phase = pausing
		l.timers.add(f, f.cursor.EndNs+int64(l.backoff.Retry(f.cursor.Attempts, l.cfg.RetryPause)))
	case workload.Fork:
		l.carryOn(f, f.cursor.Failed(unforked, at), at)
	case workload.Over:
		if f.cursor.EndNs == 0 {
			l.endedAlone(f, at)
		}
		l.record(f)
		l.free(f)
	}
}

// unforked is the failure of requests that are to be in flight together: no codec is protocol.Parallel.
var unforked = protocol.Failure{Class: protocol.Client, Text: "event loops send one request of an operation at a time"}

// endedAlone completes the times of an operation that ended without an answer: it sent nothing, or ended after a pause.
func (l *loop) endedAlone(f *request, at int64) {
	f.cursor.Ended(at)
	if f.sent == 0 {
		f.sent, f.intended = at, min(f.intended, at)
	}
	f.idleAt = at
}

// send encodes the next request.
func (l *loop) send(f *request) {
	f.phase = requested
	if f.cursor.RollingBack() {
		l.deadlines.remove(f)
		f.began = l.now()
		l.deadlines.add(f)
	} else if l.router != nil && !l.route(f) {
		return
	}
	s := f.session
	if l.router == nil && !s.up { // its server has closed the connection during a pause
		l.park(f)
		return
	}
	if l.router == nil && s.draining { // the session is lost when the other requests have been answered
		f.phase = parked
		return
	}
	out, err := s.codec.Encode(s.out, f.cursor.Request(), f.cursor.Args())
	l.encoded(f, out, err)
}

// encoded adds an encoded request to those outstanding.
func (l *loop) encoded(f *request, out []byte, err *protocol.Error) {
	s := f.session
	f.wrote = false
	if err != nil {
		l.unsendable(f, protocol.Failure{Class: err.Class, Code: err.Code, Text: err.Text})
		return
	}
	f.cursor.Encoded(out[len(s.out):])
	s.out = out
	if s.tagged != nil {
		f.tag = s.tagged.Tag()
	}
	if l.router != nil {
		l.io.markDirty(s)
	}
	if f.eager = f.cursor.Continues(); f.eager {
		l.pending.eager++
	}
	f.fresh = true
	if s.unsent == 0 {
		s.fresh = f
	}
	s.unsent++
	if d := f.cursor.Silence(); d > 0 {
		l.timers.remove(f)
		l.timers.add(f, l.now()+int64(d))
	}
	if s.outstanding == 0 {
		l.pending.sessions++
	}
	s.push(f)
	l.awaitPace(s)
	if l.balancer != nil {
		l.balancer.Begin(s.address)
	}
}

// unsendable fails an operation whose request can't be sent.
func (l *loop) unsendable(f *request, failure protocol.Failure) {
	now := l.now()
	if !l.cutting {
		f.leaves(now)
	}
	f.idleAt = now
	l.carryOn(f, f.cursor.Failed(failure, now), now)
}

// retire removes the oldest outstanding request of a session.
func (l *loop) retire(s *session) *request {
	if f := s.head; f.fresh {
		f.fresh = false
		s.fresh = f.next
		s.unsent--
	}
	f := s.pop()
	l.retired(f)
	return f
}

// retired records that a request is no longer outstanding.
func (l *loop) retired(f *request) {
	s := f.session
	if l.balancer != nil {
		l.balancer.End(s.address)
	}
	if f.eager {
		f.eager = false
		l.pending.eager--
	}
	l.timers.remove(f)
	if s.outstanding == 0 {
		l.pending.sessions--
	}
}

// answered continues an operation whose outstanding request was answered in s.reply. end is when the last byte of the
// answer arrived.
func (l *loop) answered(s *session, end int64) {
	f := l.retire(s)
	f.idleAt = end
	s.served = true
	r := &s.reply
	if l.router != nil && r.Class == protocol.Retryable && l.redirected(f, r) || r.Again && l.sentAgain(f, r) {
		return
	}
	l.carryOn(f, f.cursor.Answered(r, f.stepSent, end), end)
}

// sentAgain repeats a request that the server would accept now, or over the session's next connection if it ends this
// one without having looked at the request. It returns false if it can't be sent.
func (l *loop) sentAgain(f *request, r *protocol.Reply) bool {
	if !f.session.up || f.redirects >= protocol.AgainAtMost || r.Fatal && f.session.leaving {
		return false
	}
	f.redirects++
	f.cursor.AbsorbRefusal(r)
	if r.Fatal || f.session.draining {
		f.phase = parked // the session is lost next, and connects again
		return true
	}
	out, err := f.session.codec.Encode(f.session.out, f.cursor.Request(), f.cursor.Args())
	l.encoded(f, out, err)
	return true
}

// record passes a finished operation to the recorder.
func (l *loop) record(f *request) {
	l.pending.operations--
	l.deadlines.remove(f)
	if l.cutting {
		f.worker.quit = f.worker.quit || f.cursor.Quits()
		l.cutOff(f)
		return
	}
	l.quits(f)
	m := &l.sample
	engine.Fill(m, &f.cursor)
	m.Address, m.Open = f.session.address, l.part.stage.Open()
	m.Intended, m.Ready, m.GeneratorDelay, m.Sent = f.intended, f.freeAt, f.behind, f.sent
	m.Attempts += f.redirects
	l.rec.Record(m)
	f.worker.behind = m.Carry()
	f.cursor.Tell(f.session.address, f.intended, f.sent)
}

// quits notes whether the script of a request takes no further operations.
func (l *loop) quits(f *request) {
	if !f.cursor.Quits() {
		return
	}
	f.worker.quit = true
	if f.cursor.TakeAborted() {
		l.rec.Abort(f.cursor.Operation)
	}
}

// cutOff records an operation that ends because the load is cut off.
func (l *loop) cutOff(f *request) {
	now := l.now()
	switch {
	case f.sent != 0:
		l.rec.UnfinishedAt(f.cursor.Operation, f.session.address, f.intended, now)
	case f.phase == parked:
		l.rec.GiveUpAt(f.cursor.Operation, measure.UnsentNoConnection, f.intended, now)
	default:
		l.rec.GiveUpAt(f.cursor.Operation, measure.UnsentLoadOver, f.intended, now)
	}
	f.cursor.ReportUnfinished(f.session.address, f.sent, now)
}

// free makes the request of an operation that is over vacant again, in closed loads after the operation's think time.
func (l *loop) free(f *request) {
	end := f.cursor.EndNs
	if f.session.leaving {
		f.phase = vacant // its session may leave
		l.leave(f.session)
	}
	if (l.cfg.Reconnect || f.cursor.Renews()) && !l.cutting && !l.thread.quitting {
		f.phase = vacant
		l.renew(f.session)
	}
	if !l.part.stage.Open() && !l.part.ended {
		if d := l.restNs(f); d > 0 {
			f.phase = resting
			l.timers.add(f, end+d)
			return
		}
	}
	f.worker.free(f, max(f.idleAt, end))
	l.offer(f.worker)
}

// restNs returns how long a request stays idle after its operation in a closed load: the think time, and at least the
// pause before reconnecting if its address was not connected while others were. Otherwise operations for a dead address
// would fail as fast as they can be recorded.
func (l *loop) restNs(f *request) (ns int64) {
	ns = int64(f.cursor.Rest())
	if l.router != nil && f.cursor.Failure.Class == protocol.Connect && f.worker.up > 0 {
		ns = max(ns, int64(l.backoff.Reconnect(1)))
	}
	return ns
}

// expire continues operations whose pause is over, and ends those whose timeout has expired.
func (l *loop) expire(now int64) {
	for f := l.timers.pop(now); f != nil; f = l.timers.pop(now) {
		l.wake(f, now)
	}
	for l.deadlines.next() <= now {
		f := l.deadlines.first
		switch f.phase {
		case pausing:
			l.timers.remove(f)
			f.idleAt = now
			l.carryOn(f, f.cursor.Expire(now), now)
			l.flushAll(f.session)
		case parked:
			l.unroutable(f)
		default:
			l.overdue(f, now)
		}
	}
}

// overdue ends an operation whose answer is late.
func (l *loop) overdue(f *request, now int64) {
	if !l.giveUp(f, now) {
		l.cancel(f.session)
		l.lose(f.session, f, f.late())
	}
}

// giveUp ends an operation whose answer is late without ending the session, on which others are in flight. It returns
// false if the protocol has no such way, if the connection may be in the middle of a transaction, or if nothing was
// read since the request was sent: the connection itself may be dead.
func (l *loop) giveUp(f *request, now int64) bool {
	s := f.session
	alone := s.stateless || f.cursor.First() && !f.cursor.Continues()
	if s.dropper == nil || !alone || f.fresh || s.draining || s.outstanding < 2 || s.heardNs <= f.stepSent ||
		!s.dropper.Drop(f.tag) {
		return false
	}
	s.remove(f)
	l.retired(f)
	failure := f.late()
	failure.Fatal = false
	f.idleAt = now
	l.carryOn(f, f.cursor.Failed(failure, now), now)
	if s.up {
		l.speak(s)
		l.flushAll(s)
	}
	return true
}

// wake continues a request whose pause is over, or ends one whose server has been silent for too long.
func (l *loop) wake(f *request, now int64) {
	switch f.phase {
	case pacing:
		l.speak(f.session)
		l.flushAll(f.session)
		return
	case resting:
		f.worker.free(f, f.wakeAt)
		l.offer(f.worker)
		return
	case requested:
		if at := max(f.stepSent, f.session.heardNs) + int64(f.cursor.Silence()); at > now {
			l.timers.add(f, at)
		} else {
			l.overdue(f, now)
		}
		return
	}
	l.carryOn(f, f.cursor.Resume(), f.wakeAt)
	l.flushAll(f.session)
}

// report reports a failed attempt.
func (l *loop) report(f *request, failure *protocol.Failure) {
	if l.cfg.OnError != nil && !l.cutting {
		l.cfg.OnError(engine.ErrorEvent{
			AtNs: f.cursor.EndNs, Operation: f.cursor.Operation, Index: f.cursor.Index,
			Address: f.session.address, Attempt: f.cursor.Attempts, Failure: *failure,
		})
	}
}

// drop gives up an arrival without sending it.
func (l *loop) drop(index uint64, intended int64, why measure.Unsent) {
	operation := l.work.Pick(index)
	now := l.now()
	l.rec.GiveUpAt(operation, why, intended, now)
	if l.work.Unsent != nil {
		l.work.Unsent(operation, index, intended, why != measure.UnsentLoadOver)
	}
	if l.work.Done != nil {
		l.work.Done(operation, index, protocol.Client)
	}
}

// failConnect records an operation that couldn't be sent because nothing is connected.
func (l *loop) failConnect(index uint64, intended, now int64) {
	l.cfg.Unconnected(&l.sample, index, l.cfg.AnyAddress(index), l.part.stage.Open(), intended, now)
	l.rec.Record(&l.sample)
	l.cfg.ReportUnconnected(&l.sample, index)
}
