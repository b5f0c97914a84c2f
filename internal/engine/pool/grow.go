package pool

import (
	"context"

	"brunt/internal/protocol"
)

// outageNs is how long after the loss of a session at work the loss of another says nothing of how many sessions the
// server takes: it may be restarting.
const outageNs = int64(1_000_000_000)

// growPauseNs is the pause after a further session that the server didn't take.
const growPauseNs = int64(50_000_000)

// grow has a further session connect for an arrival that waits, if there is one and the server takes it. Half as many
// as are connected may be under way at a time, so that a slow server's sessions are there within a few round trips.
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
	for _, s := range p.sessions {
		if s.spare.Load() {
			a.grewAt = now
			s.further = true // its goroutine has ended, or not begun
			s.spare.Store(false)
			p.growing.Add(1)
			p.growth.Wake(1)
			a.work(s)
			return
		}
	}
}

// drained reports whether the server makes room for further sessions by closing others: it has closed some since they
// came, and most are still there, as they wouldn't be if it were restarting.
func (a *arrivalSource) drained(now int64) bool {
	p := a.pool
	closed := p.closed.Swap(0)
	return closed > 0 && a.grewAt > 0 && now-a.grewAt <= outageNs && 4*p.connected.Load() >= 3*int64(p.growth.Awake())
}

// grown notes that a session is connected.
func (s *session) grown() {
	if s.further {
		s.further = false
		s.pool.growing.Add(-1)
	}
}

// crowdedOut reports whether the session is a further one that couldn't be connected, or never brought an answer, and
// takes it out of use: the server takes no more than there are, unless it seems to be restarting.
func (s *session) crowdedOut(ctx context.Context) bool {
	if !s.further && !s.crowded {
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

// lost notes the loss of the connection with a request under way; late means that its time was over.
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
