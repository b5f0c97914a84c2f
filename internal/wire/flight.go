package wire

import (
	"brunt/internal/driver"
	"brunt/internal/workload"
)

// phase is what a flight is waiting for.
type phase uint8

const (
	vacant    phase = iota // an operation
	requested              // the answer to a request
	parked                 // the connection that its request needs
	pausing                // the end of a pause within its operation
	resting                // the end of the pause after an operation that has been recorded
)

// flight is one operation under way. Every session has a fixed number of them; nothing of it is
// allocated once it has been used.
type flight struct {
	lane    *lane
	session *session // that its request goes to, or the last one did
	next    *flight  // in the session's queue of outstanding requests, or in the lane's list of vacant flights
	cursor  workload.Cursor

	tag       uint64 // of the request under way, if its codec is Tagged
	redirects int    // how often a server said that another one must be asked
	freeAt    int64  // when its lane had become free to take it; in closed loads, when it had itself
	behind    int64  // see measure.Sample
	vacantAt  int64  // when the operation before it, and the think time after that, were over
	intended  int64
	sent      int64 // of the first attempt; 0 before
	stepSent  int64 // of the last request
	idleAt    int64 // when nothing was outstanding any more
	began     int64 // the operation's timeout counts from here

	phase phase
	wrote bool // something of the request under way may have reached the server
	eager bool // its answer leads to a further request
	fresh bool // encoded, but not yet handed to the kernel
	timed bool // it is in the list of deadlines

	earlier, later *flight // in the list of deadlines
	wakeAt         int64
	heapPos        int // in the heap of timers, from 1; 0 when not in it
}

// begin resets f for an operation, which it has been free to take since freeAt.
func (f *flight) begin(freeAt, intended, now int64) {
	f.redirects, f.freeAt, f.idleAt = 0, max(freeAt, 1), 0
	f.intended, f.sent, f.began = intended, 0, now
	f.wrote, f.eager, f.fresh = false, false, false
	f.phase = requested
}

// leaves notes when its request is handed to the kernel, or would have been.
func (f *flight) leaves(now int64) {
	f.stepSent = now
	if f.sent != 0 {
		return
	}
	f.sent = now
	if f.intended == never {
		f.intended = now
	}
}

// late is how an operation fails whose time is over.
func (f *flight) late() driver.Failure {
	r := f.cursor.Request()
	if f.phase != requested || !f.wrote {
		r = nil // nothing that could have been applied is under way
	}
	e := driver.Late(r)
	return driver.Failure{Class: e.Class, Text: e.Text, Fatal: e.Fatal}
}
