package loop

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"brunt/internal/engine"
	"brunt/internal/protocol"
)

// dialsAtOnce bounds how many sessions connect at the same time, so that a large fleet doesn't
// overrun the servers' accept queues.
const dialsAtOnce = 32

// shortLivedNs is how long a connection on which nothing was sent must have lasted to count as one:
// proxies without a server behind them accept connections only to close them.
const shortLivedNs = int64(time.Second)

// connected makes a new socket the session's own.
func (l *loop) connected(s *session, fd int, c *protocol.CodecConn) {
	s.generation++
	s.dialing = false
	if s.growing {
		s.growing = false
		l.growing--
	}
	if s.leaving = !l.fleet.wants(s.worker.id, s.address); s.leaving {
		closeSocket(fd, c.Codec)
		l.unpark(s)
		l.leave(s)
		return
	}
	err := unix.SetNonblock(fd, true)
	if err == nil {
		err = l.poller.add(fd, s.slot, s.generation)
	}
	if err != nil {
		closeSocket(fd, c.Codec)
		s.failures++
		l.dial(s)
		return
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if l.stamped {
		stampSocket(fd, true)
	}
	s.open(fd, c)
	s.upSince = l.now()
	l.refusing[s.address] = false
	l.up[s.address]++
	l.upAll++
	l.reaches(s)
	if s.worker.up++; s.worker.up == 1 {
		s.worker.freeAt, s.worker.behind, s.worker.upSince = s.upSince, 0, s.upSince
	}
	if s.returning {
		l.rec.Reconnect(s.address)
	}
	s.returning = true
	l.unpark(s)
	l.offer(s.worker)
}

// closeSocket closes a codec's socket, with the last message that its server expects if the socket takes that at
// once.
func closeSocket(fd int, codec protocol.Codec) {
	if p, ok := codec.(protocol.Parting); ok {
		_, _ = unix.Write(fd, p.Part(nil)) // a courtesy: the connection is closed whether it arrives or not
	}
	unix.Close(fd)
}

// hangUp closes a session's socket. A request of which only a part has been written stays that.
func (l *loop) hangUp(s *session) {
	if !s.up {
		return
	}
	if s.outPos < len(s.out) && s.outPos > 0 {
		unix.Close(s.fd)
	} else {
		closeSocket(s.fd, s.codec)
	}
	s.up, s.fd = false, -1
	l.reaches(s)
	s.generation++
	s.in, s.out, s.outPos, s.need, s.scanned = s.in[:0], s.out[:0], 0, 0, false
	if s.stalled {
		s.stalled = false
		l.stalled--
	}
	l.up[s.address]--
	s.worker.up--
	if l.upAll--; l.upAll == 0 {
		l.downSince = l.now()
	}
}

// lose closes a session, fails its operations and has it connected again. culprit is the
// operation that failed in the way given, or nil: the others fail because they were sent and
// will get no answer, or because they can't be sent any more.
func (l *loop) lose(s *session, culprit *request, failure protocol.Failure) {
	if !s.up {
		if culprit != nil {
			l.breakOff(culprit, failure)
		}
		return
	}
	surplus, crowded := l.surplus(s, culprit == nil)
	l.hangUp(s)
	for s.head != nil {
		f := l.retire(s)
		l.breakOff(f, f.fate(culprit, failure))
	}
	for i := range s.worker.requests {
		if f := &s.worker.requests[i]; f.session == s && f.phase == pausing {
			l.breakOff(f, f.fate(culprit, failure))
		}
	}
	if surplus && l.upAll > 0 {
		l.setAside(s.worker, crowded)
		return
	}
	if s.leaving || s.dialing { // it has left, or goes where it is to be
		l.leave(s)
		return
	}
	if !l.quitting {
		if s.failures++; s.used || l.now()-s.upSince >= shortLivedNs {
			s.failures = 0
		}
		l.dial(s)
		l.fleet.moved()
	}
}

// fate is how an operation fails whose session is lost, unless it had failed before.
func (f *request) fate(culprit *request, failure protocol.Failure) protocol.Failure {
	switch culprit {
	case f:
		return failure
	case nil:
	default:
		failure = protocol.Failure{Text: "the session was closed because of an earlier operation: " + failure.Text}
	}
	failure.Class, failure.Code, failure.Fatal = protocol.UnknownOutcome, "", true
	if f.phase == pausing || !f.wrote {
		failure.Class = protocol.Connect
	}
	return failure
}

// breakOff ends what a request was doing whose session is lost.
func (l *loop) breakOff(f *request, failure protocol.Failure) {
	l.timers.remove(f)
	f.idleAt = l.now()
	if f.sent == 0 && !l.cutting {
		f.leaves(f.idleAt)
	}
	l.carryOn(f, f.cursor.Broken(failure, f.idleAt), f.idleAt)
}

// abandon cuts off everything in flight.
func (l *loop) abandon() {
	l.cutting = true
	defer func() { l.cutting = false }()
	for i := range l.lanes {
		a := &l.lanes[i]
		for k := range a.requests {
			switch f := &a.requests[k]; f.phase {
			case parked:
				l.unroutable(f)
			case requested, pausing:
				l.cancel(a.requests[k].session)
				l.lose(a.requests[k].session, nil, protocol.Failure{Class: protocol.UnknownOutcome,
					Text: "the run was stopped before the answer came", Fatal: true})
			}
		}
	}
}

// cancelWithin bounds how long a server is asked to stop what it does for a session given up.
const cancelWithin = 2 * time.Second

// cancel has the server stop what it does for a session that is about to be given up.
func (l *loop) cancel(s *session) {
	if s.cancel == nil || !s.up || s.outstanding == 0 {
		return
	}
	f, cancel := l.fleet, s.cancel
	f.dialers.Go(func() {
		ctx, done := context.WithTimeout(context.Background(), cancelWithin)
		defer done()
		select {
		case f.dialing <- struct{}{}:
			defer func() { <-f.dialing }()
			cancel(ctx)
		case <-ctx.Done():
		}
	})
}

// dial has a session connected by a goroutine, which tries until it succeeds or the fleet is
// closed.
func (l *loop) dial(s *session) {
	s.dialing = true
	l.refusing[s.address] = s.failures > 0
	id, slot, address, failures := s.worker.id, s.slot, s.address, s.failures
	l.fleet.dialers.Go(func() { l.fleet.dialUntil(l, id, slot, address, failures, nil) })
}

// refused reports whether nothing is connected and every address refused the last attempt.
func (l *loop) refused() bool {
	return l.upAll == 0 && !slices.Contains(l.refusing, false)
}

// dialUntil connects a session and hands it to its loop. first, if not nil, is told how the first
// attempt went.
func (f *Fleet) dialUntil(l *loop, id, slot, address, failures int, first func(*protocol.Error)) {
	b := engine.NewBackoff(uint64(f.cfg.Clock.Now())+uint64(address), uint64(id))
	for ; ; failures++ {
		if !protocol.Sleep(f.ctx, b.Reconnect(failures)) {
			return
		}
		if first == nil && !f.wants(id, address) {
			if l.mailbox.put(loopMessage{kind: unwanted, slot: slot}) {
				l.poller.ring()
			}
			return
		}
		fd, c, err := f.connect(address)
		if first != nil {
			first(err)
			first = nil
		}
		if err == nil {
			if !l.mailbox.put(loopMessage{kind: connected, slot: slot, conn: c, fd: fd}) {
				closeSocket(fd, c.Codec)
			}
			l.poller.ring()
			return
		}
		if f.ctx.Err() != nil {
			return
		}
		f.moved()
		f.cfg.Refused(address, err)
		if l.mailbox.put(loopMessage{kind: refused, slot: slot}) {
			l.poller.ring()
		}
	}
}

// connect makes one attempt and takes the socket out of the connection.
func (f *Fleet) connect(address int) (fd int, c protocol.CodecConn, failure *protocol.Error) {
	select {
	case f.dialing <- struct{}{}:
		defer func() { <-f.dialing }()
	case <-f.ctx.Done():
		return -1, c, &protocol.Error{Class: protocol.Connect, Text: "the fleet was closed"}
	}
	ctx, cancel := f.cfg.Connecting(f.ctx, address)
	defer cancel()
	began := f.cfg.Clock.Now()
	c, err := f.protocol.Open(ctx, f.cfg.Nodes.At(address), &f.cfg.Workload.Program)
	if err != nil {
		return -1, c, protocol.AsError(err)
	}
	if fd, err = detach(c.Net); err != nil {
		c.Net.Close()
		return -1, c, protocol.Unconnected(err)
	}
	c.Net = nil
	f.cfg.Dialed(address, f.cfg.Clock.Now()-began)
	return fd, c, nil
}
