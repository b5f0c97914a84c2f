package loop

import (
	"context"
	"time"

	"brunt/internal/protocol"
)

// refreshEvery limits how often servers are asked which node serves what. A load notices the end of an outage later
// than the cluster by up to this time.
const refreshEvery = 20 * time.Millisecond

// route assigns f to the session of the address of its request. It returns false if that session isn't connected. The
// request then waits for an attempt to connect that has not failed yet. If there is none, the operation fails, so a
// dead address affects only its own requests.
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
		f.session = f.worker.anySession(l.cfg.AnyAddress(c.Index))
	}
	if f.session.up {
		return true
	}
	l.fleet.moved()
	l.park(f)
	return false
}

// park has a request wait for its session's attempt to connect, if one is under way that has not failed yet.
func (l *loop) park(f *request) {
	if f.session.dialing && !l.conns.refusing[f.session.address] {
		f.phase = parked
	} else {
		l.unroutable(f)
	}
}

func (l *loop) unroutable(f *request) {
	text := "the address that serves the request isn't connected"
	if role := f.cursor.Role(); l.balancer != nil && role != protocol.AnyRole {
		text = "no node is connected whose role is " + role.String()
	}
	l.unsendable(f, protocol.Failure{Class: protocol.Connect, Text: text, Fatal: true})
}

// pick returns the session of the node that the balancer chooses for an operation. If no node that may serve it is
// connected, it returns a session that is connecting, or else one that isn't. It returns nil if no node may serve the
// operation.
func (l *loop) pick(f *request) *session {
	role, key := f.cursor.Role(), uint64(0)
	if l.balancer.Hashes() {
		key, _ = f.cursor.Key()
	}
	if node, ok := l.balancer.Pick(role, key, f.worker.reach); ok {
		if l.balancer.Buckets() {
			f.cursor.Placed(l.balancer.Placed(key, node))
		}
		return f.worker.sessions[node]
	}
	var found *session // not connected
	for _, s := range f.worker.sessions {
		if s.up || !l.balancer.Serves(s.address, role) {
			continue
		}
		if found = s; s.dialing && !l.conns.refusing[s.address] {
			return s
		}
	}
	return found
}

// unpark continues the requests that wait for a session.
func (l *loop) unpark(s *session) {
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
	if l.router == nil {
		l.flushAll(s)
	}
}

// anySession returns a connected session: that of the address if it is connected, otherwise another one. If no session
// is connected, it returns that of the address.
func (a *worker) anySession(address int) *session {
	for i := range a.sessions {
		if s := a.sessions[(address+i)%len(a.sessions)]; s.up {
			return s
		}
	}
	return a.sessions[address]
}

// redirected repeats a request at another server, because the first one answered that the other serves it. It returns
// false if the request can't be sent.
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
	f.cursor.AbsorbRefusal(r)
	encode := s.codec.Encode
	if ask {
		encode = s.asker.EncodeAsk
	}
	out, err := encode(s.out, f.cursor.Request(), f.cursor.Args())
	l.encoded(f, out, err)
	return true
}

// markDirty records that a session has encoded requests.
func (io *sockets) markDirty(s *session) {
	if !s.dirty {
		s.dirty = true
		io.dirty = append(io.dirty, s)
	}
}

// flushAll passes encoded requests to the kernel: those of the worker's only session, or of all sessions to which
// requests were routed.
func (l *loop) flushAll(only *session) {
	switch {
	case l.router != nil:
		l.flushDirty()
	case only.up:
		l.flush(only)
	}
}

func (l *loop) flushDirty() {
	for n := len(l.io.dirty); n > 0; n = len(l.io.dirty) {
		s := l.io.dirty[n-1]
		l.io.dirty = l.io.dirty[:n-1]
		s.dirty = false
		if s.up {
			l.flush(s)
		}
	}
}

// dialServed connects sessions of addresses that now serve requests.
func (l *loop) dialServed() {
	for i := range l.sessions {
		if s := &l.sessions[i]; !s.up && !s.dialing && !s.worker.spare && l.fleet.serves(s.address) {
			l.dial(s)
		}
	}
}

// moved requests a refresh of the router. It is safe for concurrent use.
func (f *Fleet) moved() {
	select {
	case f.stale <- struct{}{}:
	default:
	}
}

// refresh refreshes the router whenever keys seem to have moved, until the fleet is closed.
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
