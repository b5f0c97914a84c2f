package loop

import (
	"golang.org/x/sys/unix"

	"brunt/internal/protocol"
)

// outageNs is a time after the loss of a working session. The loss of another session within it does not count as a
// limit on the number of sessions, because the server may be restarting.
const outageNs = int64(1_000_000_000)

// growPauseNs is the pause after a further session that the server didn't accept.
const growPauseNs = int64(50_000_000)

// growing is what a loop knows of connecting further sessions.
type growing struct {
	connecting int   // sessions being connected because arrivals wait
	notBefore  int64 // no further session is connected before this time
	lastAt     int64 // when the last one was
	closed     int   // connections that the server has closed since arrivals last waited
	lostAt     int64 // when a working session with outstanding requests was lost
}

func newGrowing() growing { return growing{lostAt: -outageNs} }

// paused reports whether no further session may be connected now, next to those that are up.
func (g *growing) paused(up int, now int64) bool {
	return g.connecting > 0 && 2*g.connecting >= up || now < g.notBefore
}

// takeClosed returns how many connections the server has closed since the last call, if a further session was connected
// shortly before. Otherwise it returns 0.
func (g *growing) takeClosed(now int64) int {
	closed := g.closed
	g.closed = 0
	if g.lastAt == 0 || now-g.lastAt > outageNs {
		return 0
	}
	return closed
}

// restarting reports whether the server may be restarting.
func (g *growing) restarting(now int64) bool { return now-g.lostAt < outageNs }

// grow connects a further session for waiting arrivals, if there is one left and the server accepts it. At most half as
// many sessions as are connected may be connecting at a time, so that the sessions of a slow server are connected
// within a few round trips.
func (l *loop) grow(now int64) {
	if !l.cfg.Grows() || l.conns.all == 0 || l.fleet.growth.Full() || l.growing.paused(l.conns.all, now) {
		return
	}
	if l.drained(now) {
		l.fleet.growth.Fill()
		return
	}
	for i := range l.workers {
		if a := &l.workers[i]; a.spare && a.active {
			l.growing.lastAt = now
			l.awake(a)
			return
		}
	}
}

// drained reports whether the server makes room for further sessions by closing others. It does if it has closed some
// since the further ones connected while most are still connected, which would not be the case during a restart.
func (l *loop) drained(now int64) bool {
	if l.growing.takeClosed(now) == 0 {
		return false
	}
	used := 0
	for i := range l.workers {
		if !l.workers[i].spare {
			used++
		}
	}
	return 4*l.conns.all >= 3*used
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
		l.growing.connecting++
		slot, address := s.slot, s.address
		l.fleet.dialers.Go(func() { l.fleet.dialOnce(l, slot, address) })
	}
}

// dialOnce tries to connect a further session and sends the result to its loop.
func (f *Fleet) dialOnce(l *loop, slot, address int) {
	m := loopMessage{kind: connected, slot: slot}
	var err *protocol.Error
	if m.fd, m.conn, err = f.connect(address); err != nil {
		m = loopMessage{kind: crowded, slot: slot}
	}
	if !l.mailbox.put(m) && err == nil {
		unix.Close(m.fd)
	}
	l.io.poller.ring()
}

// crowdedOut records that a further session couldn't be connected.
func (l *loop) crowdedOut(s *session) {
	s.dialing, s.growing = false, false
	l.growing.connecting--
	l.unpark(s)
	if s.worker.up > 0 { // other addresses accepted their sessions
		l.dial(s)
		return
	}
	l.setAside(s.worker, true)
}

// surplus reports whether a session that is being lost need not reconnect: the server closed it while it was idle, or
// closed it to make room for others, or, if crowded, it is a further session that never returned an answer.
func (l *loop) surplus(s *session, byServer bool) (surplus, crowded bool) {
	if !l.cfg.Grows() || l.router != nil || s.outstanding == 0 && s.reply.Fatal {
		return false, false
	}
	if byServer {
		l.growing.closed++
	}
	switch {
	case s.outstanding == 0:
		return true, false
	case s.served && byServer && l.fleet.growth.Full():
		return l.conns.all > l.cfg.AtFirst, false
	case s.served:
		l.growing.lostAt = l.now()
		return false, false
	}
	crowded = s.worker.id >= l.cfg.AtFirst
	return crowded, crowded
}

// setAside takes a worker out of use until arrivals wait again. If the server didn't accept the worker's session, the
// current number of sessions is the limit, unless the server seems to be restarting.
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
	l.growing.notBefore = now + growPauseNs
	if l.conns.all > 0 && !l.growing.restarting(now) {
		l.fleet.growth.Fill()
	}
}

// Opened implements engine.Growing.
func (f *Fleet) Opened() (sessions int, full bool) { return f.growth.Most(), f.growth.Full() }
