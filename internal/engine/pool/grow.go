package pool

import (
	"context"

	"brunt/internal/protocol"
)

// outageNs is a time after the loss of a working session. The loss of another session within it does not count as a
// limit on the number of sessions, because the server may be restarting.
const outageNs = int64(1_000_000_000)

// growPauseNs is the pause after a further session that the server didn't accept.
const growPauseNs = int64(50_000_000)

// grow connects a further session for a waiting arrival, if there is one left and the server accepts it. At most half
// as many sessions as are connected may be connecting at a time, so that the sessions of a slow server are connected
// within a few round trips.
func (a *arrivalSource) grow(now int64) {
	p := a.pool
	growing, connected := p.growing.Load(), p.connected.Load()
	if a.work == nil || connected == 0 || p.growth.Full() || growing > 0 && 2*growing >= connected ||
		now < p.growAt.Load() {
		return
	}
	if a.drained(now) {
		p.growth.Fill()
		return
	}
	for _, s := range p.sessions[:p.crew.first] {
		if s.spare.Load() {
			a.grewAt = now
			s.further.Store(true) // its goroutine has ended or not begun
			s.spare.Store(false)
			p.growing.Add(1)
			p.growth.Wake(1)
			a.work(s)
			return
		}
	}
}

// drained reports whether the server makes room for further sessions by closing others. It does if it has closed some
// since the further ones connected while most are still connected, which would not be the case during a restart.
func (a *arrivalSource) drained(now int64) bool {
	p := a.pool
	closed := p.closed.Swap(0)
	return closed > 0 && a.grewAt > 0 && now-a.grewAt <= outageNs && 4*p.connected.Load() >= 3*int64(p.growth.Awake())
}

// grown records that a session is connected.
func (s *session) grown() {
	if s.further.CompareAndSwap(true, false) {
		s.pool.growing.Add(-1)
	}
}

// crowdedOut reports whether the session is a further one that couldn't be connected or never returned an answer, and
// takes it out of use. The current number of sessions is then the limit, unless the server seems to be restarting.
func (s *session) crowdedOut(ctx context.Context) bool {
	if !s.further.Load() && !s.crowded {
		return false
	}
	s.grown()
	s.crowded = false
	p := s.pool
	p.growth.Rest()
	now := p.cfg.Clock.Now()
	p.growAt.Store(now + growPauseNs)
	if ctx.Err() == nil && p.connected.Load() > 0 && now-p.lostAt.Load() >= outageNs {
		p.growth.Fill()
	}
	s.spare.Store(true)
	return true
}

// lost records the loss of the connection during a request. late means that the request had timed out.
func (s *session) lost(late bool) {
	p := s.pool
	switch {
	case !p.cfg.Grows() || s.reply.Class == protocol.OK:
	case s.served && !late && p.growth.Full():
		s.crowded = p.connected.Load() > int64(p.cfg.AtFirst)
	case s.served:
		if !late {
			p.closed.Add(1)
		}
		p.lostAt.Store(p.cfg.Clock.Now())
	default:
		s.crowded = s.number >= p.cfg.AtFirst && p.connected.Load() > 1
	}
}

// Opened implements engine.Growing.
func (p *Pool) Opened() (sessions int, full bool) { return p.growth.Most(), p.growth.Full() }
