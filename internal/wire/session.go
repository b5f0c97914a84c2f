package wire

import "brunt/internal/driver"

// session is one connection and the operations that use it.
type session struct {
	id      int // over all loops
	slot    int // in its loop
	address int
	active  bool // takes part in the closed stage under way

	up         bool
	returning  bool // was connected before
	fd         int
	generation int32 // tells events of an earlier socket from those of this one
	failures   int   // connections lost or refused since the last answer
	codec      Codec
	eof        EOFScanner // nil if the codec isn't one

	out     []byte // encoded; from outPos on not yet taken by the kernel
	outPos  int
	sending []byte // io_uring: what the kernel is sending, of which outPos has been taken; nil if nothing
	spare   []byte // io_uring: the buffer that out and sending take turns with
	in      []byte // read, but not yet understood
	need    int    // bytes that in must hold before scanning again makes sense
	reply   driver.Reply
	scanned bool // reply belongs to the head's answer, of which a part has been read
	stalled bool // the socket's buffer is full
	ending  bool // the server has closed its side: there is an end to be read
	again   bool // it is in the list of sessions with more to read

	head, tail  *flight // outstanding requests in the order sent
	outstanding int
	unsent      int     // of these, encoded but not yet handed to the kernel
	free        *flight // vacant flights
	flights     []flight

	nextAvailable *session // in the loop's queue of sessions that can take an operation
	queued        bool     // it is in that queue
}

func (s *session) init(id, slot, address, pipeline int) {
	s.id, s.slot, s.address, s.fd = id, slot, address, -1
	s.flights = make([]flight, pipeline)
	for i := range s.flights {
		f := &s.flights[i]
		f.session = s
		f.next, s.free = s.free, f
	}
}

// open makes a socket the session's own.
func (s *session) open(c *Session) {
	s.up, s.fd, s.codec = true, c.FD, c.Codec
	s.eof, _ = c.Codec.(EOFScanner)
	s.in = append(s.in[:0], c.Extra...)
	s.out, s.outPos, s.need, s.scanned, s.ending = s.out[:0], 0, 0, false, false
}

// take returns a vacant flight, or nil.
func (s *session) take() *flight {
	f := s.free
	if f != nil {
		s.free, f.next = f.next, nil
	}
	return f
}

// give makes f vacant.
func (s *session) give(f *flight) {
	f.phase = vacant
	f.request = nil
	f.next, s.free = s.free, f
}

// push adds f to the outstanding requests.
func (s *session) push(f *flight) {
	f.next = nil
	if s.tail != nil {
		s.tail.next = f
	} else {
		s.head = f
	}
	s.tail = f
	s.outstanding++
}

// pop removes the oldest outstanding request.
func (s *session) pop() *flight {
	f := s.head
	s.head = f.next
	if s.head == nil {
		s.tail = nil
	}
	f.next = nil
	s.outstanding--
	return f
}

// ready reports whether the session can take an operation.
func (s *session) ready() bool { return s.up && s.free != nil }

// available is the queue of sessions that can take an operation. Sessions that no longer can
// are dropped from it when they come up.
type available struct{ first, last *session }

func (a *available) push(s *session) {
	if s.queued || !s.ready() {
		return
	}
	s.queued, s.nextAvailable = true, nil
	if a.last != nil {
		a.last.nextAvailable = s
	} else {
		a.first = s
	}
	a.last = s
}

// peek returns the first session that can take an operation, without removing it, or nil.
func (a *available) peek() *session {
	for s := a.first; s != nil; s = a.first {
		if s.ready() {
			return s
		}
		a.drop()
	}
	return nil
}

// drop removes the first.
func (a *available) drop() {
	s := a.first
	a.first = s.nextAvailable
	if a.first == nil {
		a.last = nil
	}
	s.queued, s.nextAvailable = false, nil
}

func (a *available) clear() {
	for a.first != nil {
		a.drop()
	}
}
