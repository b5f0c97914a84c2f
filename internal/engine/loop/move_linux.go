package loop

import "brunt/internal/protocol"

// change assigns sessions to other addresses after the nodes have changed, and informs the loops.
func (f *Fleet) change(changes []protocol.Change) {
	if f.route.Router() == nil {
		f.route.Move(changes)
	}
	f.tell(f.loops, moved)
}

// wants reports whether a worker should have a session at an address.
func (f *Fleet) wants(worker, address int) bool {
	if f.route.Router() != nil {
		return f.cfg.Nodes.Active(address)
	}
	return f.route.Home(worker) == address
}

// move makes sessions leave addresses at which they should no longer be, and connects those that should be at another
// address.
func (l *loop) move() {
	for i := range l.sessions {
		s := &l.sessions[i]
		s.leaving = !l.fleet.wants(s.worker.id, s.address)
		l.reaches(s)
		if s.leaving && s.up && l.cfg.DropLeaving {
			l.lose(s, nil, protocol.Failure{Class: protocol.UnknownOutcome, Text: "the node has left the cluster", Fatal: true})
		} else {
			l.leave(s)
		}
	}
	l.dialMissing()
	here := make([]bool, len(l.conns.refusing))
	for i := range l.sessions {
		here[l.sessions[i].address] = !l.sessions[i].leaving || here[l.sessions[i].address]
	}
	l.conns.sessionsAt(here)
	for i := range l.workers {
		l.offer(&l.workers[i])
	}
}

// dialMissing connects sessions that should be at an address and are neither connected nor connecting.
func (l *loop) dialMissing() {
	for i := range l.sessions {
		if s := &l.sessions[i]; !s.up && !s.dialing && !s.leaving && !s.worker.spare && l.fleet.serves(s.address) {
			l.dial(s)
		}
	}
}

// leave disconnects a session that is leaving its address, once it has no operation in progress.
func (l *loop) leave(s *session) {
	if !s.leaving || s.dialing || s.busy() {
		return
	}
	l.hangUp(s)
	if l.router != nil {
		return
	}
	s.address = l.fleet.route.Home(s.worker.id)
	s.leaving, s.returning, s.failures = false, false, 0
	if !s.worker.spare && l.fleet.serves(s.address) {
		l.dial(s)
	}
}

// busy reports whether an operation in progress uses the session or waits for it.
func (s *session) busy() bool {
	if s.outstanding > 0 {
		return true
	}
	for i := range s.worker.requests {
		f := &s.worker.requests[i]
		if f.session == s && (f.phase == requested || f.phase == parked || f.phase == pausing) {
			return true
		}
	}
	return false
}

// reaches records whether the balancer may choose a session for further operations.
func (l *loop) reaches(s *session) {
	a := s.worker
	if a.reach == nil {
		return
	}
	if s.up && !s.leaving {
		a.reach.Add(s.address)
	} else {
		a.reach.Remove(s.address)
	}
}
