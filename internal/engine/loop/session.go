// Package loop implements event loops. A loop drives many sessions from one locked OS thread, for protocols with a
// codec. The package knows sockets, deadlines and sessions, but no protocol.
//
// Each loop owns its sessions, its share of the schedule, its argument buffers and its recorder. Loops share nothing
// per request, and a request allocates nothing.
package loop

import (
	"context"

	"brunt/internal/engine"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
)

// session is one connection and the requests outstanding on it.
type session struct {
	worker  *worker
	slot    int // in its loop
	address int

	up         bool
	dialing    bool // a connection is being made
	growing    bool // it is connecting because arrivals wait
	leaving    bool // it should no longer be at its address
	returning  bool // was connected before
	fd         int
	generation int32 // distinguishes events of an earlier socket
	failures   int   // attempts to connect that failed in a row, or were useless
	used       bool  // something was sent over the current connection
	served     bool  // the current connection has returned an answer
	upSince    int64 // when the current connection was made
	heardNs    int64 // when something was read from it last
	codec      protocol.Codec
	eof        protocol.EOFScanner  // nil if the codec isn't one
	idle       protocol.IdleScanner // nil if the codec isn't one
	asker      protocol.Asker       // nil if the codec isn't one
	tagged     protocol.Tagged      // nil if the codec isn't one
	speaker    protocol.Speaker     // nil if the codec isn't one
	drainer    protocol.Drainer     // nil if the codec isn't one
	dropper    protocol.Dropper     // nil if the codec isn't one
	pacer      protocol.Pacer       // nil if the codec isn't one
	pacing     *request             // stands for the session among the timers while pacer has something to do later
	stateless  bool                 // the codec is a protocol.Stateless
	draining   bool                 // the server takes no further requests
	cancel     func(context.Context)

	out     []byte // encoded; from outPos on not yet accepted by the kernel
	outPos  int
	in      []byte // read, but not yet scanned
	need    int    // bytes that in must hold before scanning again makes sense
	reply   protocol.Reply
	scanned bool // reply belongs to the head's answer, which has been read in part
	stalled bool // the socket's buffer is full
	ending  bool // the server has closed its side, so EOF will be read
	again   bool // it is in the list more
	dirty   bool // it is in the list dirty

	head, tail  *request // outstanding requests in the order sent
	outstanding int
	unsent      int      // of these, encoded but not yet accepted by the kernel
	fresh       *request // the oldest of those
}

// open assigns a socket to the session.
func (s *session) open(fd int, c *protocol.CodecConn) {
	s.up, s.fd, s.codec = true, fd, c.Codec
	s.eof, _ = c.Codec.(protocol.EOFScanner)
	s.idle, _ = c.Codec.(protocol.IdleScanner)
	s.asker, _ = c.Codec.(protocol.Asker)
	s.tagged, _ = c.Codec.(protocol.Tagged)
	s.speaker, _ = c.Codec.(protocol.Speaker)
	s.drainer, _ = c.Codec.(protocol.Drainer)
	s.dropper, _ = c.Codec.(protocol.Dropper)
	s.pacer, _ = c.Codec.(protocol.Pacer)
	s.stateless, s.draining = protocol.IsStateless(c.Codec), false
	s.cancel = c.Cancel
	s.in = append(s.in[:0], c.Extra...)
	s.out, s.outPos, s.need, s.scanned, s.ending, s.used, s.served = s.out[:0], 0, 0, false, false, false, false
}

// within reports whether the session is in the middle of an operation that waits, which depends on its connection.
func (s *session) within() bool {
	for i := range s.worker.requests {
		if f := &s.worker.requests[i]; f.session == s && f.phase == pausing && !s.stateless {
			return true
		}
	}
	return false
}

// push adds f to the outstanding requests.
func (s *session) push(f *request) {
	f.next = nil
	if f.partial != nil {
		f.partial.held = false // of an earlier request
	}
	if s.tail != nil {
		s.tail.next = f
	} else {
		s.head = f
	}
	s.tail = f
	s.used = true
	s.outstanding++
}

// pop removes the oldest outstanding request.
func (s *session) pop() *request {
	f := s.head
	s.head = f.next
	if s.head == nil {
		s.tail = nil
	}
	f.next = nil
	s.outstanding--
	return f
}

// remove removes an outstanding request that was sent.
func (s *session) remove(f *request) {
	if f == s.head {
		s.pop()
		s.scanned, s.need = false, 0
		return
	}
	before := s.head
	for before.next != f {
		before = before.next
	}
	if before.next = f.next; s.tail == f {
		s.tail = before
	}
	f.next = nil
	s.outstanding--
}

// promote makes the request with a tag the oldest of those outstanding, if it has been sent. What has been read of the
// answer to the oldest one before is kept until its own turn comes again: servers send answers in parts, by turns.
func (s *session) promote(tag uint64) {
	for before := s.head; before != nil && before.next != nil && !before.next.fresh; before = before.next {
		f := before.next
		if f.tag != tag {
			continue
		}
		if before.next = f.next; s.tail == f {
			s.tail = before
		}
		if s.scanned {
			s.head.setAside(&s.reply)
		}
		f.next, s.head = s.head, f
		s.scanned = false
		return
	}
}

// begin prepares the reply to the oldest outstanding request, unless its answer has been read in part.
func (s *session) begin() {
	if f := s.head; !s.scanned && !f.takeUp(&s.reply) {
		s.reply.Reset(len(f.cursor.Request().Capture))
	}
	s.scanned = true
}

// worker executes operations, one at a time or as many as may be pipelined. Users call it a session. It has one
// connection or, with a Router, one to every address that serves requests. Any free worker takes the next operation for
// any address, so that no operation waits for an address while workers are free.
type worker struct {
	id       int // over all loops
	active   bool
	spare    bool        // it isn't needed now: see loop.grow
	quit     bool        // its script takes no further operations
	sessions []*session  // one, or by address
	up       int         // of these, connected
	reach    balance.Set // the addresses among which a balancer chooses; nil without a balancer

	vacant   *request // vacant requests
	requests []request
	freeAt   int64 // when it last became able to take an operation
	behind   int64 // see measure.Sample
	upSince  int64 // when it last got its first connection

	next  *worker // in its queue of workers that can take an operation
	queue *queue  // in which it is, or nil
}

func (a *worker) init(id int, cfg *engine.FleetConfig) {
	a.id = id
	a.requests = make([]request, cfg.Pipeline)
	for i := range a.requests {
		f := &a.requests[i]
		f.worker, f.cursor = a, cfg.NewCursor(id)
		f.next, a.vacant = a.vacant, f
	}
}

// take returns a vacant request. There must be one.
func (a *worker) take() *request {
	f := a.vacant
	a.vacant, f.next = f.next, nil
	f.session = a.sessions[0]
	return f
}

// free makes f vacant.
func (a *worker) free(f *request, at int64) {
	if a.vacant == nil {
		a.freeAt = at
	}
	f.phase, f.vacantAt = vacant, at
	f.next, a.vacant = a.vacant, f
}

// ready reports whether the worker can take an operation.
func (a *worker) ready() bool {
	return a.up > 0 && a.vacant != nil && !a.quit &&
		(len(a.sessions) > 1 || !a.sessions[0].leaving && !a.sessions[0].draining)
}

// available has the workers that can take an operation: a queue for each address, in the order in which they became
// free. Workers that no longer can are removed when they reach the head. The addresses take turns, each as often as it
// has workers here, which gives them as many operations as a single queue would. In a single queue, the workers of an
// address that reconnect together would follow each other from then on, and all operations of a stretch would fail when
// it hangs, whatever the other addresses do.
type available struct {
	queues []queue // by address; all workers are in the first if they have connections to several
	chosen *queue  // whose turn it is; nil if that isn't known
}

// queue has the workers of an address that can take an operation.
type queue struct {
	first, last *worker
	length      int
	credit      int // turns that it is owed, in workers
}

// address returns the address of the worker's connection, or 0 if it has connections to several.
func (a *worker) address() int {
	if len(a.sessions) > 1 {
		return 0
	}
	return a.sessions[0].address
}

func (v *available) push(a *worker) {
	if a.queue != nil || !a.ready() {
		return
	}
	q := &v.queues[a.address()]
	a.queue, a.next = q, nil
	if q.last != nil {
		q.last.next = a
	} else {
		q.first = a
	}
	q.last = a
	q.length++
}

// peek returns the worker whose turn it is to take an operation, without removing it, or nil.
func (v *available) peek() *worker {
	if v.chosen != nil {
		if a := v.chosen.peek(); a != nil {
			return a
		}
	}
	v.chosen = nil
	for i := range v.queues {
		if q := &v.queues[i]; q.peek() != nil && (v.chosen == nil ||
			q.credit+q.length > v.chosen.credit+v.chosen.length) {
			v.chosen = q
		}
	}
	if v.chosen == nil {
		return nil
	}
	return v.chosen.first
}

// drop removes the worker that peek has returned.
func (v *available) drop() {
	all := 0
	for i := range v.queues {
		q := &v.queues[i]
		q.credit += q.length
		all += q.length
	}
	v.chosen.credit -= all
	v.chosen.drop()
	v.chosen = nil
}

func (v *available) clear() {
	for i := range v.queues {
		q := &v.queues[i]
		for q.first != nil {
			q.drop()
		}
		q.credit = 0
	}
	v.chosen = nil
}

// peek returns the first worker that can take an operation, or nil.
func (q *queue) peek() *worker {
	for a := q.first; a != nil; a = q.first {
		if a.ready() {
			return a
		}
		q.drop()
	}
	return nil
}

// drop removes the first.
func (q *queue) drop() {
	a := q.first
	q.first = a.next
	if q.first == nil {
		q.last = nil
	}
	q.length--
	a.queue, a.next = nil, nil
}

// phase says what a request is waiting for.
type phase uint8

const (
	vacant    phase = iota // an operation
	requested              // the answer to a request
	parked                 // the connection that its request needs
	pausing                // the end of a pause within its operation
	resting                // the end of the pause after an operation that has been recorded
	pacing                 // no operation: parts of requests of its session are due later (session.pacing)
)

// request is one operation in progress. Every session has a fixed number of them, and reuses their memory.
type request struct {
	worker         *worker
	session        *session // to which its request goes, or the last one went
	next           *request // in the session's queue of outstanding requests, or in the worker's list of vacant requests
	earlier, later *request // in the list of deadlines

	freeAt   int64 // when its worker became free to take it; in closed loads, when the request itself did
	behind   int64 // see measure.Sample
	vacantAt int64 // when the previous operation and the think time after it were over
	intended int64
	sent     int64 // of the first attempt; 0 before
	stepSent int64 // of the last request
	idleAt   int64 // since when nothing is outstanding
	began    int64 // the operation's timeout counts from here

	phase phase
	wrote bool          // a part of the current request may have reached the server
	eager bool          // its answer leads to a further request
	fresh bool          // encoded, but not yet accepted by the kernel
	timed bool          // it is in the list of deadlines
	move  workload.Move // what Begin said, in startPipeline

	redirects int // how often a server named another one for the request
	unsent    int // how often its connection ended before anything of it was sent
	cursor    workload.Cursor

	tag     uint64 // of the current request, if its codec is Tagged
	partial *partial
	wakeAt  int64
	heapPos int // in the heap of timers, from 1; 0 when not in it
}

// partial is the reply to a request whose answer has been read in part, while another request's is read. It is reused.
type partial struct {
	reply protocol.Reply
	held  bool // reply is that of the current request
}

// setAside keeps a reply, and gives the memory of an earlier one for it.
func (f *request) setAside(reply *protocol.Reply) {
	if f.partial == nil {
		f.partial = &partial{}
	}
	f.partial.held = true
	f.partial.reply, *reply = *reply, f.partial.reply
}

// takeUp returns the reply that was set aside, if there is one.
func (f *request) takeUp(reply *protocol.Reply) bool {
	if f.partial == nil || !f.partial.held {
		return false
	}
	f.partial.held = false
	f.partial.reply, *reply = *reply, f.partial.reply
	return true
}

// start resets f for an operation. It has been free since freeAt.
func (f *request) start(freeAt, intended, now int64) {
	f.redirects, f.unsent, f.freeAt, f.idleAt = 0, 0, max(freeAt, 1), 0
	f.intended, f.sent, f.began = intended, 0, now
	f.wrote, f.eager, f.fresh = false, false, false
	f.phase = requested
}

// leaves records when its request is passed to the kernel, or would have been.
func (f *request) leaves(now int64) {
	f.stepSent = now
	if f.sent != 0 {
		return
	}
	f.sent = now
	if f.intended == never {
		f.intended = now
	}
}

// late returns how an operation fails when its timeout expires.
func (f *request) late() protocol.Failure {
	r := f.cursor.Request()
	if f.phase != requested || !f.wrote {
		r = nil // no request that the server could have applied is outstanding
	}
	e := protocol.Late(r)
	return protocol.Failure{Class: e.Class, Text: e.Text, Fatal: e.Fatal}
}
