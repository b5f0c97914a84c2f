package executor

import (
	"sync"

	"brunt/internal/schedule"
)

// part selects the arrivals of a schedule that an instance takes, by k6's striped offsets.
type part struct {
	start   int64
	offsets []int64
}

// iterator iterates over the arrivals of a part.
type iterator struct {
	arrivals *schedule.Arrivals
	part     part
	n        int
}

func newIterator(shape *schedule.Shape, process schedule.Process, seed uint64, p part) *iterator {
	a := shape.Arrivals(process, seed)
	a.Skip(uint64(p.start))
	return &iterator{arrivals: a, part: p}
}

// next returns when the next arrival is due, in ns after the start of the schedule.
func (i *iterator) next() (ns int64, ok bool) {
	if ns, ok = i.arrivals.Next(); !ok {
		return 0, false
	}
	if skip := i.part.offsets[i.n%len(i.part.offsets)] - 1; skip > 0 {
		i.arrivals.Skip(uint64(skip))
	}
	i.n++
	return ns, true
}

// queue hands arrivals to VUs in order, and counts those that are due. It is safe for concurrent use. Times are in ns
// after the start of the schedule.
type queue struct {
	mu      sync.Mutex
	give    *iterator
	over    bool // give has no more arrivals
	begun   uint64
	fell    *iterator
	due     uint64 // arrivals due at the last call of fall
	nextDue int64
	allDue  bool
	told    uint64 // part of due that the record already counts
	running int
}

func newQueue(shape *schedule.Shape, process schedule.Process, seed uint64, p part) *queue {
	q := &queue{give: newIterator(shape, process, seed, p), fell: newIterator(shape, process, seed, p)}
	q.advance()
	return q
}

// take returns the intended start of the next arrival. ok is false after the last one.
func (q *queue) take() (ns int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ns, ok = q.give.next(); !ok {
		q.over = true
	}
	return ns, ok
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

func (q *queue) advance() {
	ns, ok := q.fell.next()
	q.nextDue, q.allDue = ns, !ok
}

// state returns, for the time ns: how many arrivals became due since the last call, how many arrivals are waiting, and
// how many iterations are running.
func (q *queue) state(ns int64) (fresh, waiting uint64, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fall(ns)
	fresh, q.told = q.due-q.told, q.due
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
	for !q.allDue && q.nextDue <= ns {
		q.due++
		q.advance()
	}
}

// backlog returns how many arrivals were due at the last call of fall, but have not begun. q.mu is held.
func (q *queue) backlog() uint64 {
	if q.begun > q.due {
		return 0
	}
	return q.due - q.begun
}
