package pool

import "sync/atomic"

// turns hands arrivals to the sessions that wait for one. The addresses take turns, each as often as it has sessions
// waiting. Otherwise the sessions of an address that reconnect together would follow each other from then on, and all
// arrivals of a stretch would fail when it is gone, whatever the other addresses do.
type turns []turn

// turn has the sessions of an address that wait for an arrival.
type turn struct {
	out    chan arrival
	idle   atomic.Int64
	free   int64 // idle, as of this turn; 0 if none of them takes the arrival
	credit int64 // turns that it is owed, in sessions
}

func newTurns(addresses int) turns {
	t := make(turns, addresses)
	for i := range t {
		t[i].out = make(chan arrival)
	}
	return t
}

// of returns the turn in which a session waits. Those with connections to several addresses wait together.
func (t turns) of(s *session) *turn {
	if s.many != nil {
		return &t[0]
	}
	return &t[s.address]
}

// idle reports whether a session waits.
func (t turns) idle() bool {
	for i := range t {
		if t[i].idle.Load() > 0 {
			return true
		}
	}
	return false
}

// hand passes x to a waiting session, and reports whether there was one. Only one goroutine may call it.
func (t turns) hand(x arrival) bool {
	for i := range t {
		t[i].free = t[i].idle.Load()
	}
	for {
		var next *turn
		for i := range t {
			if q := &t[i]; q.free > 0 && (next == nil || q.credit+q.free > next.credit+next.free) {
				next = q
			}
		}
		if next == nil {
			return false
		}
		select {
		case next.out <- x:
			t.took(next)
			return true
		default:
			next.free = 0 // they have just been counted, or are about to leave
		}
	}
}

func (t turns) took(next *turn) {
	for i := range t {
		t[i].credit += t[i].free
		next.credit -= t[i].free
	}
}
