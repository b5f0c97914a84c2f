package wire

import (
	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/tier"
	"brunt/internal/workload"
)

// start begins an operation in a lane that can take one. intended is never in closed loads:
// the operation is then meant to start when it is sent.
func (l *loop) start(a *lane, index uint64, intended, now int64) {
	f := a.take()
	freeAt := a.freeAt
	if intended == never {
		freeAt = max(f.vacantAt, a.upSince, l.part.stage.StartNs)
	}
	f.begin(index, l.work.Pick(index), freeAt, intended, now)
	l.inFlight++
	l.deadlines.add(f)
	l.sendStep(f)
}

// sendStep encodes the request of the present step.
func (l *loop) sendStep(f *flight) {
	var args []gen.Value
	if f.step >= f.filled {
		f.filled = f.step + 1
		args = l.work.Args(&f.workload, f.operation, f.step, f.index)
	} else {
		args = l.work.Again(&f.workload, f.operation, f.step)
	}
	op := &l.work.Operations[f.operation]
	f.phase = requested
	r := op.Steps[f.step].For(f.index)
	if l.router != nil && !l.route(f, r, args) {
		return
	}
	l.encode(f, r, args, f.step+1 < len(op.Steps))
}

// encode puts a request into the session's buffer and among those outstanding. eager means that
// its answer leads to a further request.
func (l *loop) encode(f *flight, r *driver.Request, args []gen.Value, eager bool) {
	out, err := f.session.codec.Encode(f.session.out, r, args)
	l.encoded(f, r, out, err, eager)
}

// encoded goes on after the codec.
func (l *loop) encoded(f *flight, r *driver.Request, out []byte, err *driver.Error, eager bool) {
	s := f.session
	f.request, f.wrote = r, false
	if err != nil {
		l.unsendable(f, driver.Failure{Class: err.Class, Code: err.Code, Text: err.Text})
		return
	}
	s.out = out
	l.soil(s)
	if f.eager = eager; eager {
		l.eager++
	}
	f.fresh = true
	if s.unsent == 0 {
		s.fresh = f
	}
	s.unsent++
	if s.outstanding == 0 {
		l.waiting++
	}
	s.push(f)
}

// unsendable fails an operation whose request can't be sent.
func (l *loop) unsendable(f *flight, failure driver.Failure) {
	now := l.now()
	if f.sent == 0 {
		f.sent = now
		if f.intended == never {
			f.intended = now
		}
	}
	f.idleAt = now
	l.fail(f, failure, now)
}

// retire removes the oldest outstanding request of a session.
func (l *loop) retire(s *session) *flight {
	if f := s.head; f.fresh {
		f.fresh = false
		s.fresh = f.next
		s.unsent--
	}
	f := s.pop()
	if f.eager {
		f.eager = false
		l.eager--
	}
	if s.outstanding == 0 {
		l.waiting--
	}
	return f
}

// answered goes on with an operation whose outstanding request has been answered in s.reply; end
// is when the last byte of the answer arrived.
func (l *loop) answered(s *session, end int64) {
	f := l.retire(s)
	f.idleAt = end
	r := &s.reply
	if f.phase == rollingBack {
		if r.Class != driver.OK {
			r.Fatal = true
		}
		l.conclude(f)
		return
	}
	f.absorb(r)
	if l.router != nil && r.Class == driver.Retryable && l.redirected(f, r) {
		return
	}
	l.timed(f, r.Class, end)
	if r.Class != driver.OK {
		l.fail(f, r.Failure, end)
		return
	}
	op := &l.work.Operations[f.operation]
	if check := l.work.Check; check != nil && len(op.Steps[f.step].Request.Capture) > 0 {
		f.workload.Capture(f.step, r)
		if failure := check(f.operation, f.step, &f.workload); failure.Class != driver.OK {
			l.fail(f, failure, end)
			return
		}
		// Swapped back: Capture below moves the values for good.
		f.workload.Capture(f.step, r)
	}
	if f.step+1 == len(op.Steps) {
		f.end = end
		l.record(f, driver.OK)
		l.rest(f, end)
		return
	}
	if r.Fatal {
		l.fail(f, driver.Failure{Class: driver.Connect, Text: "the server closed the connection between two statements", Fatal: true}, end)
		return
	}
	f.workload.Capture(f.step, r)
	f.step++
	if l.pauses[f.operation].step[f.step-1] {
		if d := l.work.ThinkTime(f.operation, f.step-1, f.index); d > 0 {
			f.phase = thinking
			l.timers.add(f, end+int64(d))
			return
		}
	}
	l.sendStep(f)
}

// fail deals with a failed attempt: it ends the transaction, if there is one, and then either
// tries again or records the failure.
func (l *loop) fail(f *flight, failure driver.Failure, end int64) {
	f.failure, f.end = failure, end
	l.report(f, failure)
	op := &l.work.Operations[f.operation]
	if failure.Fatal || f.step == 0 || op.Rollback == nil {
		l.conclude(f)
		return
	}
	f.phase = rollingBack
	l.encode(f, op.Rollback, nil, true)
}

// conclude ends a failed attempt of which nothing is outstanding any more.
func (l *loop) conclude(f *flight) {
	again := f.failure.Class == driver.Retryable && !f.failure.Fatal && f.attempts <= l.cfg.Retries &&
		!l.part.stopping && f.session.up
	if again {
		f.phase = backingOff
		l.timers.add(f, f.end+int64(l.backoff.Retry(f.attempts, l.cfg.RetryPause)))
		return
	}
	l.record(f, f.failure.Class)
	l.rest(f, f.end)
}

// record hands a finished operation to the recorder.
func (l *loop) record(f *flight, class driver.Class) {
	l.inFlight--
	l.deadlines.remove(f)
	m := &l.sample
	m.Operation, m.Address = f.operation, f.session.address
	m.Open = l.part.stage.Open()
	m.Intended, m.Ready, m.Sent, m.End = f.intended, f.freeAt, f.sent, f.end
	m.Attempts, m.Class, m.Status, m.BytesIn = f.attempts+f.redirects, class, f.status, f.bytesIn
	m.Missing, m.BadHash = f.missing, f.badHash
	l.rec.Record(m)
	if l.work.Timed != nil {
		l.work.Timed(workload.Timing{
			Operation: f.operation, Step: workload.WholeOperation, Index: f.index, Class: class,
			IntendedNs: f.intended, SentNs: f.sent, EndNs: f.end,
		})
	}
	if l.work.Done != nil {
		l.work.Done(f.operation, f.index, class)
	}
}

// timed tells how long the present step took. A step after the first is sent when the one before
// it has been answered.
func (l *loop) timed(f *flight, class driver.Class, end int64) {
	if l.work.Timed == nil {
		return
	}
	sent := f.sent
	if f.step > 0 {
		sent = f.stepEnd
	}
	f.stepEnd = end
	l.work.Timed(workload.Timing{
		Operation: f.operation, Step: f.step, Index: f.index, Class: class,
		IntendedNs: sent, SentNs: sent, EndNs: end,
	})
}

// rest makes a flight vacant again, in closed loads after the operation's think time.
func (l *loop) rest(f *flight, end int64) {
	if !l.part.stage.Open() && !l.part.ended {
		if d := l.restNs(f); d > 0 {
			f.phase = resting
			l.timers.add(f, end+d)
			return
		}
	}
	f.lane.give(f, max(f.idleAt, end))
	l.offer(f.lane)
}

// restNs is how long a flight stays idle after its operation in a closed load: the think time, and
// at least the pause of a session that connects again if it found its address unconnected while
// others were there, so that a dead address isn't asked for as fast as that can be noted.
func (l *loop) restNs(f *flight) (ns int64) {
	if l.pauses[f.operation].after {
		ns = int64(l.work.ThinkTime(f.operation, -1, f.index))
	}
	if l.router != nil && f.failure.Class == driver.Connect && f.lane.up > 0 {
		ns = max(ns, int64(l.backoff.Reconnect(1)))
	}
	return ns
}

// expire goes on with operations whose pause is over, and ends those whose time is up.
func (l *loop) expire(now int64) {
	for f := l.timers.pop(now); f != nil; f = l.timers.pop(now) {
		l.wake(f)
	}
	for l.deadlines.next() <= now {
		f := l.deadlines.first
		if f.phase == backingOff {
			l.giveUp(f, f.failure)
			continue
		}
		l.cancel(f.session)
		l.lose(f.session, f, f.late())
	}
}

// wake goes on with an operation whose pause is over.
func (l *loop) wake(f *flight) {
	switch f.phase {
	case resting:
		f.lane.give(f, f.wakeAt)
		l.offer(f.lane)
		return
	case backingOff:
		f.attempts++
		f.step = 0
	}
	l.sendStep(f)
	l.flushAll(f.session)
}

// report tells of a failed attempt.
func (l *loop) report(f *flight, failure driver.Failure) {
	if l.cfg.OnError != nil {
		l.cfg.OnError(tier.ErrorEvent{
			AtNs: f.end, Operation: f.operation, Index: f.index,
			Address: f.session.address, Attempt: f.attempts, Failure: failure,
		})
	}
}

// drop gives up an arrival without sending it.
func (l *loop) drop(index uint64) {
	operation := l.work.Pick(index)
	l.rec.Drop(operation, 1)
	if l.work.Done != nil {
		l.work.Done(operation, index, driver.Client)
	}
}

// failConnect records an operation that couldn't be sent because nothing is connected. It has no
// lag: that it waited says nothing of the generator.
func (l *loop) failConnect(index uint64, intended, now int64) {
	operation := l.work.Pick(index)
	m := &l.sample
	m.Operation, m.Address = operation, int(index%uint64(len(l.up)))
	m.Open = l.part.stage.Open()
	m.Intended, m.Ready, m.Sent, m.End = intended, 0, intended, now
	m.Attempts, m.Class, m.Status, m.BytesIn, m.Missing, m.BadHash = 1, driver.Connect, 0, 0, false, false
	l.rec.Record(m)
	if l.work.Done != nil {
		l.work.Done(operation, index, driver.Connect)
	}
	if l.cfg.OnError != nil {
		l.cfg.OnError(tier.ErrorEvent{
			AtNs: now, Operation: operation, Index: index, Address: m.Address, Attempt: 1,
			Failure: driver.Failure{Class: driver.Connect, Text: "no session is connected to any address", Fatal: true},
		})
	}
}
