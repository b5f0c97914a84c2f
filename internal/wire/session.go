package wire

import (
	"context"

	"brunt/internal/driver"
)

// session is one connection and the requests outstanding on it.
type session struct {
	lane    *lane
	slot    int // in its loop
	address int

	up         bool
	dialing    bool // a connection is being made
	returning  bool // was connected before
	fd         int
	generation int32 // tells events of an earlier socket from those of this one
	failures   int   // attempts to connect that have failed in a row, or led to nothing
	used       bool  // something was sent over the present connection
	upSince    int64 // when it was made
	codec      Codec
	eof        EOFScanner // nil if the codec isn't one
	asker      Asker      // nil if the codec isn't one
	tagged     Tagged     // nil if the codec isn't one
	cancel     func(context.Context)

	out     []byte // encoded; from outPos on not yet taken by the kernel
	outPos  int
	in      []byte // read, but not yet understood
	need    int    // bytes that in must hold before scanning again makes sense
	reply   driver.Reply
	scanned bool // reply belongs to the head's answer, of which a part has been read
	stalled bool // the socket's buffer is full
	ending  bool // the server has closed its side: there is an end to be read
	again   bool // it is in the list of sessions with more to read
	dirty   bool // it is in the list of sessions with something to send

	head, tail  *flight // outstanding requests in the order sent
	outstanding int
	unsent      int     // of these, encoded but not yet handed to the kernel
	fresh       *flight // the oldest of those
}

// open makes a socket the session's own.
func (s *session) open(c *Session) {
	s.up, s.fd, s.codec = true, c.FD, c.Codec
	s.eof, _ = c.Codec.(EOFScanner)
	s.asker, _ = c.Codec.(Asker)
	s.tagged, _ = c.Codec.(Tagged)
	s.cancel = c.Cancel
	s.in = append(s.in[:0], c.Extra...)
	s.out, s.outPos, s.need, s.scanned, s.ending, s.used = s.out[:0], 0, 0, false, false, false
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
	s.used = true
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

// promote makes the request of a tag the oldest of those outstanding, if it has been sent.
func (s *session) promote(tag uint64) {
	for before := s.head; before != nil && before.next != nil && !before.next.fresh; before = before.next {
		f := before.next
		if f.tag != tag {
			continue
		}
		if before.next = f.next; s.tail == f {
			s.tail = before
		}
		f.next, s.head = s.head, f
		s.scanned = false
		return
	}
}
