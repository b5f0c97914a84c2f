package loop

import (
	"golang.org/x/sys/unix"

	"brunt/internal/protocol"
)

// outageNs is how long after the loss of a session at work the loss of another says nothing of how many sessions the
// server takes: it may be restarting.
const outageNs = int64(1_000_000_000)

// growPauseNs is the pause after a further session that the server didn't take.
const growPauseNs = int64(50_000_000)

// grow connects a further session for arrivals that wait, if there is one and the server takes it. Half as many as are
// connected may be under way at a time, so that a slow server's sessions are there within a few round trips.
func (l *loop) grow(now int64) {
	if !l.cfg.Grows() || l.upAll == 0 || l.fleet.growth.Full() || l.growing > 0 && 2*l.growing >= l.upAll ||
		now < l.growAt {
		return
	}
	if l.drained(now) {
		l.fleet.growth.Fill()
		return
	}
	for i := range l.lanes {
		if a := &l.lanes[i]; a.spare {
			l.grewAt = now
			l.awake(a)
			return
		}
	}
}

// drained reports whether the server makes room for further sessions by closing others: it has closed some since they
// came, and most are still there, as they wouldn't be if it were restarting.
func (l *loop) drained(now int64) bool {
	closed := l.closed
	l.closed = 0
	if closed == 0 || l.grewAt == 0 || now-l.grewAt > outageNs {
		return false
	}
	used := 0
	for i := range l.lanes {
		if !l.lanes[i].spare {
			used++
		}
	}
	return 4*l.upAll >= 3*used
}

// awake connects a worker's sessions, once each.
func (l *loop) awake(a *worker) {
	a.spare = false
	l.fleet.growth.Wake(1)
	for _, s := range a.sessions {
		if !l.fleet.serves(s.address) {
			continue
		}
		s.dialing, s.growing = true, true
		l.growing++
		slot, address := s.slot, s.address
		l.fleet.dialers.Go(func() { l.fleet.dialOnce(l, slot, address) })
	}
}

// dialOnce tries to connect a further session and tells its loop how that went.
func (f *Fleet) dialOnce(l *loop, slot, address int) {
	m := loopMessage{kind: connected, slot: slot}
	var err *protocol.Error
	if m.fd, m.conn, err = f.connect(address); err != nil {
		m = loopMessage{kind: crowded, slot: slot}
	}
	if !l.mailbox.put(m) && err == nil {
		unix.Close(m.fd)
	}
	l.poller.ring()
}

// crowdedOut notes that a further session couldn't be connected.
func (l *loop) crowdedOut(s *session) {
	s.dialing, s.growing = false, false
	l.growing--
	l.unpark(s)
	if s.worker.up > 0 { // other addresses took their part of it
		l.dial(s)
		return
	}
	l.setAside(s.worker, true)
}

// surplus reports whether a session that is being lost needn't connect again: the server closed it while it had nothing
// to do, or closed it to make room for others, or crowded, it is a further one that never brought an answer.
func (l *loop) surplus(s *session, byServer bool) (surplus, crowded bool) {
	if !l.cfg.Grows() || l.router != nil || s.outstanding == 0 && s.reply.Fatal {
		return false, false
	}
	if byServer {
		l.closed++
	}
	switch {
	case s.outstanding == 0:
		return true, false
	case s.served && byServer && l.fleet.growth.Full():
		return l.upAll > l.cfg.AtFirst, false
	case s.served:
		l.lostAt = l.now()
		return false, false
	}
	crowded = s.worker.id >= l.cfg.AtFirst
	return crowded, crowded
}

// setAside takes a worker out of use until arrivals wait for one again. If the server didn't take it, it takes no more
// than there are, unless it seems to be restarting.
func (l *loop) setAside(a *worker, crowded bool) {
	if a.spare {
		return
	}
	a.spare = true
	l.fleet.growth.Rest()
	if !crowded {
		return
	}
	now := l.now()
	l.growAt = now + growPauseNs
	if l.upAll > 0 && now-l.lostAt >= outageNs {
		l.fleet.growth.Fill()
	}
}

// Opened implements engine.Growing.
func (f *Fleet) Opened() (sessions int, full bool) { return f.growth.Most(), f.growth.Full() }
