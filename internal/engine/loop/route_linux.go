package loop

import (
	"context"
	"time"

	"brunt/internal/protocol"
)

// refreshEvery bounds how often servers are asked who serves what. An outage ends so much later for a load than it does
// for the cluster.
const refreshEvery = 20 * time.Millisecond

// route turns f to the session of the address that its request belongs to. It returns false if that
// isn't connected: the request waits for an attempt that hasn't failed yet, else the operation fails,
// so that a dead address costs its own requests only.
func (l *loop) route(f *request) bool {
	c := &f.cursor
	address, ok := l.router.Route(c.Request(), c.Args())
	switch {
	case ok:
		f.session = f.worker.sessions[address]
	case !c.First() && f.session.up:
	case l.balancer != nil:
		if s := l.pick(f); s != nil {
			f.session = s
			break
		}
		f.session = f.worker.sessions[0]
		l.unroutable(f)
		return false
	default:
		f.session = f.worker.anySession(int(c.Index % uint64(len(l.up))))
	}
	if f.session.up {
		return true
	}
	l.fleet.moved()
	if f.session.dialing && !l.refusing[f.session.address] {
		f.phase = parked
	} else {
		l.unroutable(f)
	}
	return false
}

func (l *loop) unroutable(f *request) {
	text := "the address that serves the request isn't connected"
	if role := f.cursor.Role(); l.balancer != nil && role != protocol.AnyRole {
		text = "no node is connected whose role is " + role.String()
	}
	l.unsendable(f, protocol.Failure{Class: protocol.Connect, Text: text, Fatal: true})
}

// pick returns the session of the node that the balancer chooses for an operation; if no node that may serve it is
// connected, one that is being connected, or else one that isn't. It returns nil if no node may serve the operation.
func (l *loop) pick(f *request) *session {
	role, key := f.cursor.Role(), uint64(0)
	if l.balancer.Hashes() {
		key, _ = f.cursor.Key()
	}
	if node, ok := l.balancer.Pick(role, key, f.worker.reach); ok {
		return f.worker.sessions[node]
	}
	var found *session // not connected
	for _, s := range f.worker.sessions {
		if s.up || !l.balancer.Serves(s.address, role) {
			continue
		}
		if found = s; s.dialing && !l.refusing[s.address] {
			return s
		}
	}
	return found
}

// unpark goes on with the requests that wait for a session.
func (l *loop) unpark(s *session) {
	if l.router == nil {
		return
	}
	for i := range s.worker.requests {
		f := &s.worker.requests[i]
		switch {
		case f.session != s || f.phase != parked:
		case s.up:
			l.send(f)
		default:
			l.unroutable(f)
		}
	}
}

// anySession returns a connected session, the one of an address if it is; if none is, that one.
func (a *worker) anySession(address int) *session {
	for i := range a.sessions {
		if s := a.sessions[(address+i)%len(a.sessions)]; s.up {
			return s
		}
	}
	return a.sessions[address]
}

// redirected sends a request again that a server has refused because another one has what it is
// about. It returns false if it can't be sent on.
func (l *loop) redirected(f *request, r *protocol.Reply) bool {
	address, ask, ok := l.router.Redirect(&r.Failure, f.redirects)
	if !ask {
		l.fleet.moved()
	}
	if !ok || r.Fatal {
		return false
	}
	s := f.worker.sessions[address]
	if !s.up || ask && s.asker == nil {
		return false
	}
	f.redirects++
	f.session = s
	f.cursor.BytesIn += r.BytesIn
	encode := s.codec.Encode
	if ask {
		encode = s.asker.EncodeAsk
	}
	out, err := encode(s.out, f.cursor.Request(), f.cursor.Args())
	l.encoded(f, out, err)
	return true
}

// markDirty notes that something was encoded for a session.
func (l *loop) markDirty(s *session) {
	if !s.dirty {
		s.dirty = true
		l.dirty = append(l.dirty, s)
	}
}

// flushAll hands what has been encoded to the kernel: for the worker's only session, or for all
// sessions that requests were routed to.
func (l *loop) flushAll(only *session) {
	switch {
	case l.router != nil:
		l.flushDirty()
	case only.up:
		l.flush(only)
	}
}

func (l *loop) flushDirty() {
	for n := len(l.dirty); n > 0; n = len(l.dirty) {
		s := l.dirty[n-1]
		l.dirty = l.dirty[:n-1]
		s.dirty = false
		if s.up {
			l.flush(s)
		}
	}
}

// dialServed connects sessions of addresses that serve requests by now.
func (l *loop) dialServed() {
	for i := range l.sessions {
		if s := &l.sessions[i]; !s.up && !s.dialing && !s.worker.spare && l.fleet.serves(s.address) {
			l.dial(s)
		}
	}
}

// moved has the router look again, soon. It may be called from anywhere.
func (f *Fleet) moved() {
	select {
	case f.stale <- struct{}{}:
	default:
	}
}

// refresh looks again whenever something seems to have moved, until the fleet is closed.
func (f *Fleet) refresh() {
	for {
		select {
		case <-f.stale:
		case <-f.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(f.ctx, f.cfg.ConnectTimeout)
		err := f.route.Router().Refresh(ctx)
		cancel()
		if err != nil {
			f.moved()
		} else {
			f.tell(f.loops, served)
		}
		if !protocol.Sleep(f.ctx, refreshEvery) {
			return
		}
	}
}

// serves reports whether an address needs connections.
func (f *Fleet) serves(address int) bool {
	r := f.route.Router()
	return f.cfg.Nodes.Active(address) && (r == nil || r.Serves(address))
}
