package loop

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"brunt/internal/engine"
	"brunt/internal/protocol"
)

// dialsAtOnce limits how many sessions connect at the same time, so that a large fleet doesn't overflow the servers'
// accept queues.
const dialsAtOnce = 32

// shortLivedNs is how long a connection without any send must last to count as a connection. Proxies without a server
// behind them accept connections and close them at once.
const shortLivedNs = int64(time.Second)

// connected assigns a new socket to the session.
func (l *loop) connected(s *session, fd int, c *protocol.CodecConn) {
	s.generation++
	s.dialing = false
	if s.growing {
		s.growing = false
		l.growing.connecting--
	}
	if s.leaving = !l.fleet.wants(s.worker.id, s.address); s.leaving {
		closeSocket(fd, c.Codec)
		l.unpark(s)
		l.leave(s)
		return
	}
	err := unix.SetNonblock(fd, true)
	if err == nil {
		err = l.io.poller.add(fd, s.slot, s.generation)
	}
	if err != nil {
		closeSocket(fd, c.Codec)
		s.failures++
		l.dial(s)
		return
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if l.io.stamped {
		stampSocket(fd, true)
	}
	s.open(fd, c)
	s.upSince = l.now()
	l.conns.connected(s.address, s.upSince)
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

// closeSocket closes a codec's socket. It first sends the last message that the server expects, if the socket accepts
// it at once.
func closeSocket(fd int, codec protocol.Codec) {
	if p, ok := codec.(protocol.Parting); ok {
		_, _ = unix.Write(fd, p.Part(nil)) // best effort: the connection is closed in any case
	}
	unix.Close(fd)
}

// sentInPart reports whether a request was written in part, after which no other message can be sent.
func (s *session) sentInPart() bool { return s.outPos < len(s.out) && s.outPos > 0 }

// hangUp closes a session's socket. A request that was written in part stays incomplete.
func (l *loop) hangUp(s *session) {
	if !s.up {
		return
	}
	if s.sentInPart() {
		unix.Close(s.fd)
	} else {
		closeSocket(s.fd, s.codec)
	}
	s.up, s.fd, s.pacer = false, -1, nil
	l.awaitPace(s)
	l.reaches(s)
	s.generation++
	s.in, s.out, s.outPos, s.need, s.scanned = s.in[:0], s.out[:0], 0, 0, false
	if s.stalled {
		s.stalled = false
		l.io.stalled--
	}
	s.worker.up--
	l.conns.closed(s.address, l.now())
}

// renew replaces the connection of a session that isn't in use.
func (l *loop) renew(s *session) {
	if !s.up || s.leaving || s.dialing || s.busy() {
		return
	}
	l.hangUp(s)
	s.returning = false // it was to end
	if !s.worker.quit {
		l.dial(s)
	}
}

// lose closes a session, fails its operations and starts reconnecting it. culprit is the operation that failed in the
// given way, or nil. The other operations fail because they were sent and will get no answer, or because they can no
// longer be sent.
func (l *loop) lose(s *session, culprit *request, failure protocol.Failure) {
	if !s.up {
		if culprit != nil {
			l.breakOff(culprit, failure)
		}
		return
	}
	surplus, crowded := l.surplus(s, culprit == nil)
	// The session connects again, and requests that don't depend on this connection are sent over the next one.
	next := culprit == nil && !l.cutting && !l.thread.quitting && !s.leaving && !s.dialing
	l.hangUp(s)
	for s.head != nil {
		if f := l.retire(s); !next || !f.waits() {
			l.breakOff(f, f.fate(culprit, failure))
		}
	}
	for i := range s.worker.requests {
		if f := &s.worker.requests[i]; f.session == s && f.phase == pausing && !(next && s.stateless) {
			l.breakOff(f, f.fate(culprit, failure))
		}
	}
	if surplus && l.conns.all > 0 {
		l.unpark(s)
		l.setAside(s.worker, crowded)
		return
	}
	if s.leaving || s.dialing { // it has left its address, or is connecting to its new one
		l.leave(s)
		return
	}
	if !l.thread.quitting {
		if s.failures++; s.used || l.now()-s.upSince >= shortLivedNs {
			s.failures = 0
		}
		l.dial(s)
		l.fleet.moved()
	}
}

// waits makes a request wait for its session's next connection if nothing of it was sent and it doesn't depend on the
// one that was lost. It returns false if it can't.
func (f *request) waits() bool {
	if f.wrote || !f.session.stateless && !f.cursor.First() || f.unsent >= protocol.AgainAtMost {
		return false
	}
	f.unsent++
	f.phase = parked
	return true
}

// fate returns how an operation fails when its session is lost, unless it had failed before.
func (f *request) fate(culprit *request, failure protocol.Failure) protocol.Failure {
	switch culprit {
	case f:
		return failure
	case nil:
	default:
		failure = protocol.Failure{Text: "the session was closed because of an earlier operation: " + failure.Text}
	}
	failure.Class, failure.Fatal = protocol.UnknownOutcome, true
	if f.phase == pausing || !f.wrote {
		failure.Class = protocol.Connect
	}
	return failure
}

// breakOff ends the current step of a request whose session is lost.
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
	for i := range l.workers {
		a := &l.workers[i]
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

// cancel makes the server stop what it does for a session that is about to be given up. The session closes its socket;
// a duplicate of it tells when the server has ended the connection.
func (l *loop) cancel(s *session) {
	if s.cancel == nil || !s.up || s.outstanding == 0 {
		return
	}
	fd := -1 // no file is free, or the socket can't be left alone: the server is asked once
	if l.io.poller.remove(s.fd) == nil {
		var err error
		if fd, err = unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			fd = -1
		}
	}
	if fd >= 0 && s.sentInPart() {
		_ = unix.Shutdown(fd, unix.SHUT_WR) // an error means that the connection has ended
	}
	f, cancel := l.fleet, s.cancel
	f.dialers.Go(func() { f.abandon(fd, cancel) })
}

// abandon asks the server to stop the work for a connection that was given up, of which fd is a duplicate, or -1.
func (f *Fleet) abandon(fd int, cancel func(context.Context)) {
	ctx, done := context.WithTimeout(context.Background(), protocol.Abandoning)
	defer done()
	ask := func(ctx context.Context) {
		select {
		case f.dialing <- struct{}{}:
			defer func() { <-f.dialing }()
			cancel(ctx)
		case <-ctx.Done():
		}
	}
	if fd < 0 {
		ask(ctx)
		return
	}
	protocol.Abandon(ctx, os.NewFile(uintptr(fd), ""), ask)
}

// dial starts a goroutine that connects a session. It tries until it succeeds or the fleet is closed.
func (l *loop) dial(s *session) {
	s.dialing = true
	l.conns.refusing[s.address] = s.failures > 0
	id, slot, address, failures := s.worker.id, s.slot, s.address, s.failures
	l.fleet.dialers.Go(func() { l.fleet.dialUntil(l, id, slot, address, failures, nil) })
}

// dialUntil connects a session and hands it to its loop. first, if not nil, is called with the result of the first
// attempt.
func (f *Fleet) dialUntil(l *loop, id, slot, address, failures int, first func(*protocol.Error)) {
	b := engine.NewBackoff(uint64(f.cfg.Clock.Now())+uint64(address), uint64(id))
	for ; ; failures++ {
		if !protocol.Sleep(f.ctx, b.Reconnect(failures)) {
			return
		}
		if first == nil && !f.wants(id, address) {
			if l.mailbox.put(loopMessage{kind: unwanted, slot: slot}) {
				l.io.poller.ring()
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
			l.io.poller.ring()
			return
		}
		if f.ctx.Err() != nil {
			return
		}
		f.moved()
		f.cfg.Refused(address, err)
		if l.mailbox.put(loopMessage{kind: refused, slot: slot}) {
			l.io.poller.ring()
		}
	}
}

// connect makes one attempt to connect and detaches the socket from the connection.
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
