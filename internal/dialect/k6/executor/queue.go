package executor

import (
	"math"
	"sync"

	"brunt/internal/load/schedule"
)

// queue hands arrivals to VUs in order, and counts those that are due. It is safe for concurrent use. Times are in ns
// after the start of the schedule.
type queue struct {
	mu      sync.Mutex
	give    schedule.PartArrivals // the next arrival to take
	over    bool                  // take has found no more arrivals
	begun   uint64
	fell    schedule.PartArrivals // the first arrival that wasn't due at the last call of fall
	told    uint64                // how many due arrivals the record already counts
	running int
}

// newQueue returns the queue of a stage whose schedule starts at 0.
func newQueue(s *schedule.Stage) *queue {
	q := &queue{}
	q.give, q.fell = s.Arrivals(s.Part.Worker(0, 1), math.MaxUint64)
	return q
}

// take returns the intended start of the next arrival. ok is false after the last one.
func (q *queue) take() (ns int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over = q.give.Over; q.over {
		return 0, false
	}
	ns = q.give.IntendedNs
	q.give.Advance()
	return ns, true
}

// given reports whether the last arrival has been taken.
func (q *queue) given() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.over
}

// begin and end count the running iterations.
func (q *queue) begin() {
	q.mu.Lock()
	q.begun++
	q.running++
	q.mu.Unlock()
}

func (q *queue) end() {
	q.mu.Lock()
	q.running--
	q.mu.Unlock()
}

// state returns, for the time ns: how many arrivals became due since the last call, how many arrivals are waiting, and
// how many iterations are running.
func (q *queue) state(ns int64) (fresh, waiting uint64, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fall(ns)
	fresh, q.told = q.fell.Own-q.told, q.fell.Own
	return fresh, q.backlog(), q.running
}

// now returns how many arrivals are waiting at the time ns, and how many iterations are running.
func (q *queue) now(ns int64) (waiting uint64, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fall(ns)
	return q.backlog(), q.running
}

// fall counts the arrivals that are due at ns. q.mu is held.
func (q *queue) fall(ns int64) {
	for !q.fell.Over && q.fell.IntendedNs <= ns {
		q.fell.Advance()
	}
}

// backlog returns how many arrivals were due at the last call of fall, but have not begun. q.mu is held.
func (q *queue) backlog() uint64 {
	if q.begun > q.fell.Own {
		return 0
	}
	return q.fell.Own - q.begun
}
