package loop

import "time"

// paceAgainNs is the pause before a request is ended whose connection takes no bytes now.
const paceAgainNs = int64(time.Millisecond)

// pace has the session's codec send what is due of requests that are sent in parts, and ends those whose time is over.
func (l *loop) pace(s *session) {
	for s.pacer != nil {
		tag := s.pacer.Pace()
		if tag == 0 {
			break
		}
		if !l.endNow(s, tag) {
			l.wakePace(s, l.now()+paceAgainNs)
			return
		}
	}
	l.awaitPace(s)
}

// endNow completes a request that its codec ends without an answer of the server. It returns false if it can't yet.
func (l *loop) endNow(s *session, tag uint64) bool {
	if s.head != nil && s.head.tag != tag {
		s.promote(tag)
	}
	f := s.head
	if f == nil || f.tag != tag {
		return false
	}
	s.tagged.Turn(tag)
	s.begin()
	if _, done, _ := s.codec.Scan(nil, f.cursor.Request(), &s.reply); !done {
		return false
	}
	l.complete(s, l.now())
	return true
}

// awaitPace sets the timer for what the session's codec has to do next.
func (l *loop) awaitPace(s *session) {
	if s.pacer == nil {
		if s.pacing != nil {
			l.timers.remove(s.pacing)
		}
		return
	}
	wait, ok := s.pacer.Due()
	switch {
	case ok:
		l.wakePace(s, l.now()+int64(wait))
	case s.pacing != nil:
		l.timers.remove(s.pacing)
	}
}

// wakePace sets the timer.
func (l *loop) wakePace(s *session, at int64) {
	if s.pacing == nil {
		s.pacing = &request{session: s, worker: s.worker, phase: pacing}
	}
	l.timers.remove(s.pacing)
	l.timers.add(s.pacing, at)
}
