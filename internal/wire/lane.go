package wire

import "brunt/internal/tier"

// lane carries out operations, one at a time or as many as may be pipelined. It is what a user calls
// a session. It has one connection or, if a Router says where requests belong, one to every address
// that serves any: operations are then taken by whichever lane is free, whatever address they turn
// out to belong to, so that none waits for an address while lanes are free.
type lane struct {
	id       int // over all loops
	active   bool
	sessions []*session // one, or by address
	up       int        // of these, connected

	free    *flight // vacant flights
	flights []flight
	freeAt  int64 // when it last became able to take an operation
	behind  int64 // see measure.Sample
	upSince int64 // when it last got its first connection

	next   *lane // in the loop's queue of lanes that can take an operation
	queued bool  // it is in that queue
}

func (a *lane) init(id int, cfg *tier.Config) {
	a.id = id
	a.flights = make([]flight, cfg.Pipeline)
	for i := range a.flights {
		f := &a.flights[i]
		f.lane, f.cursor = a, cfg.NewCursor()
		f.next, a.free = a.free, f
	}
}

// take returns a vacant flight. There must be one.
func (a *lane) take() *flight {
	f := a.free
	a.free, f.next = f.next, nil
	f.session = a.sessions[0]
	return f
}

// release makes f vacant at a time.
func (a *lane) release(f *flight, at int64) {
	if a.free == nil {
		a.freeAt = at
	}
	f.phase, f.vacantAt = vacant, at
	f.next, a.free = a.free, f
}

// ready reports whether the lane can take an operation.
func (a *lane) ready() bool { return a.up > 0 && a.free != nil }

// available is the queue of lanes that can take an operation, first come, first served. Lanes that
// no longer can are dropped from it when they come up.
type available struct{ first, last *lane }

func (q *available) push(a *lane) {
	if a.queued || !a.ready() {
		return
	}
	a.queued, a.next = true, nil
	if q.last != nil {
		q.last.next = a
	} else {
		q.first = a
	}
	q.last = a
}

// peek returns the first lane that can take an operation, without removing it, or nil.
func (q *available) peek() *lane {
	for a := q.first; a != nil; a = q.first {
		if a.ready() {
			return a
		}
		q.drop()
	}
	return nil
}

// drop removes the first.
func (q *available) drop() {
	a := q.first
	q.first = a.next
	if q.first == nil {
		q.last = nil
	}
	a.queued, a.next = false, nil
}

func (q *available) clear() {
	for q.first != nil {
		q.drop()
	}
}
