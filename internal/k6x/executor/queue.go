package executor

import (
	"sync"

	"brunt/internal/schedule"
)

// part is which arrivals of a schedule an instance takes: k6's striped offsets.
type part struct {
	start   int64
	offsets []int64
}

// iterator goes through the part's arrivals.
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

// next is when the next arrival falls due, ns after the schedule's start.
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

// queue gives arrivals to VUs, in order, and knows how many have fallen due. It is safe for concurrent
// use. Times are ns after the schedule's start.
type queue struct {
	mu      sync.Mutex
	give    *iterator
	over    bool // give has no more
	begun   uint64
	fell    *iterator
	due     uint64 // fell due until the last question
	nextDue int64
	allDue  bool
	told    uint64 // of due, to the record
	running int
}

func newQueue(shape *schedule.Shape, process schedule.Process, seed uint64, p part) *queue {
	q := &queue{give: newIterator(shape, process, seed, p), fell: newIterator(shape, process, seed, p)}
	q.advance()
	return q
}

// take is the next arrival's intended start; ok is false after the last.
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

// begin and end count the iterations at work.
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

// state is, at a moment, how many arrivals fell due since the last call, how many of all wait, and how
// many are at work.
func (q *queue) state(ns int64) (fresh, waiting uint64, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fall(ns)
	fresh, q.told = q.due-q.told, q.due
	return fresh, q.backlog(), q.running
}

// now is how many arrivals wait at a moment, and how many are at work.
func (q *queue) now(ns int64) (waiting uint64, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fall(ns)
	return q.backlog(), q.running
}

// fall counts what has fallen due. q.mu is held.
func (q *queue) fall(ns int64) {
	for !q.allDue && q.nextDue <= ns {
		q.due++
		q.advance()
	}
}

// backlog is how many wait of those that had fallen due when somebody asked last. q.mu is held.
func (q *queue) backlog() uint64 {
	if q.begun > q.due {
		return 0
	}
	return q.due - q.begun
}
