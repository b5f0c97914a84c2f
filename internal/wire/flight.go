package wire

import (
	"brunt/internal/driver"
	"brunt/internal/workload"
)

// phase is what an operation under way is waiting for.
type phase uint8

const (
	vacant      phase = iota // no operation
	requested                // the answer to the present step
	rollingBack              // the answer to the request that ends a failed transaction
	thinking                 // the end of the pause before the next step
	backingOff               // the end of the pause before a further attempt
	resting                  // the end of the pause after an operation that has been recorded
)

// flight is one operation under way. Every session has a fixed number of them; nothing of it is
// allocated once it has been used.
type flight struct {
	lane    *lane
	session *session // that its request goes to, or the last one did
	next    *flight  // in the session's queue of outstanding requests, or in the lane's list of vacant flights
	request *driver.Request

	index     uint64
	operation int
	step      int
	filled    int // how many steps have their arguments
	attempts  int
	redirects int   // how often a server said that another one must be asked
	freeAt    int64 // when its lane had become free to take it; in closed loads, when it had itself
	vacantAt  int64 // when the operation before it, and the think time after that, were over
	intended  int64
	sent      int64 // of the first attempt; 0 before
	stepEnd   int64 // when the step before the present one was answered
	end       int64
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

	status   int
	bytesIn  int64
	missing  bool
	badHash  bool
	failure  driver.Failure
	workload workload.State
}

// begin resets f for an operation, which it has been free to take since freeAt.
func (f *flight) begin(index uint64, operation int, freeAt, intended, now int64) {
	f.index, f.operation, f.step, f.filled, f.attempts, f.redirects = index, operation, 0, 0, 1, 0
	f.freeAt, f.idleAt = max(freeAt, 1), 0
	f.intended, f.sent, f.end, f.began = intended, 0, 0, now
	f.status, f.bytesIn, f.missing, f.badHash = 0, 0, false, false
	f.wrote, f.eager, f.fresh = false, false, false
	f.failure = driver.Failure{}
	f.phase = requested
}

// absorb adds what a reply says about the operation as a whole.
func (f *flight) absorb(r *driver.Reply) {
	f.bytesIn += r.BytesIn
	f.missing = f.missing || r.Missing
	f.badHash = f.badHash || r.BadHash
	if r.Status != 0 {
		f.status = r.Status
	}
}

// late is how an operation fails whose time is over.
func (f *flight) late() driver.Failure {
	r := f.request
	if f.phase != requested || !f.wrote {
		r = nil // nothing that could have been applied is under way
	}
	e := driver.Late(r)
	return driver.Failure{Class: e.Class, Text: e.Text, Fatal: e.Fatal}
}
