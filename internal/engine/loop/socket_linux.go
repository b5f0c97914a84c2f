package loop

import (
	"fmt"

	"golang.org/x/sys/unix"

	"brunt/internal/protocol"
)

const (
	// readsAtOnce bounds how often one session is read before the others get their turn.
	readsAtOnce = 8
	// keepBytes is the largest buffer that a session keeps while it is empty.
	keepBytes = 64 << 10
	// uselessBytes is the most that a server may send unasked.
	uselessBytes = 1 << 20
)

// flush hands what has been encoded to the kernel.
func (l *loop) flush(s *session) {
	if s.outPos == len(s.out) {
		return
	}
	if s.unsent > 0 {
		l.stampSent(s)
	}
	n, errno := write(s.fd, s.out[s.outPos:])
	for errno == unix.EINTR {
		n, errno = write(s.fd, s.out[s.outPos:])
	}
	if errno != 0 && errno != unix.EAGAIN {
		l.lose(s, nil, protocol.Failure{Class: protocol.UnknownOutcome, Text: "write: " + errno.Error(), Fatal: true})
		return
	}
	l.wrote(s, n)
}

// wrote notes that the kernel took n bytes.
func (l *loop) wrote(s *session, n int) {
	if n > 0 {
		s.handedOver()
	}
	s.outPos += n
	if s.outPos == len(s.out) {
		s.out, s.outPos = s.out[:0], 0
		if cap(s.out) > keepBytes {
			s.out = nil
		}
		if s.stalled {
			s.stalled = false
			l.stalled--
		}
		return
	}
	if !s.stalled {
		l.rec.Stall()
		s.stalled = true
		l.stalled++
	}
}

// handedOver notes that the kernel may have sent something of each request encoded.
func (s *session) handedOver() {
	if s.unsent == 0 {
		return
	}
	for f := s.fresh; f != nil; f = f.next {
		f.wrote, f.fresh = true, false
	}
	s.unsent, s.fresh = 0, nil
}

// stampSent notes when the requests that are about to be written are sent.
func (l *loop) stampSent(s *session) {
	now := l.now()
	for f := s.fresh; f != nil; f = f.next {
		f.leaves(now)
	}
}

// read reads what has arrived for a session and goes on with its operations.
func (l *loop) read(s *session) {
	for range readsAtOnce {
		into, held := l.space(s)
		n, stamp, errno := l.receiver.read(s.fd, into[held:], l.stamped)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			l.settle(s)
			return
		case errno != 0:
			l.lose(s, nil, protocol.Failure{Class: protocol.UnknownOutcome, Text: "read: " + errno.Error(), Fatal: true})
			return
		case n == 0:
			l.endOfStream(s)
			return
		}
		full := held+n == len(into)
		end := l.now()
		l.readNs = end
		if s.head != nil && l.stamped {
			end = l.kernel.run(stamp, s.head.began, end)
		}
		l.scan(s, into[:held+n], end)
		if !s.up {
			return
		}
		if !full && !s.ending {
			l.settle(s)
			return
		}
	}
	l.settle(s)
	if s.up && !s.again {
		s.again = true
		l.more = append(l.more, s)
	}
}

// settle sends what the answers led to. In closed loads further operations begin when all that has
// arrived is read: answers would else wait for the sends to others, and seem to have come later.
func (l *loop) settle(s *session) {
	if !s.up {
		return
	}
	if p := l.part; p != nil && !p.ended && !p.stage.Open() && s.worker.active && s.worker.free != nil {
		l.available.push(s.worker)
		if s.unsent == 0 {
			return
		}
	}
	l.flushAll(s)
}

// space returns a buffer to read into that begins with what the session holds already: the
// loop's own, or the session's if that holds a good part of a large answer.
func (l *loop) space(s *session) (into []byte, held int) {
	held = len(s.in)
	if held <= len(l.buffer)/4 && s.need <= len(l.buffer)/2 {
		copy(l.buffer, s.in)
		return l.buffer, held
	}
	if cap(s.in)-held < len(l.buffer)/2 {
		grown := make([]byte, held, 2*held+len(l.buffer))
		copy(grown, s.in)
		s.in = grown
	}
	return s.in[:cap(s.in)], held
}

// scan gives what has been read to the codec, answer by answer, and keeps the rest.
func (l *loop) scan(s *session, buf []byte, end int64) {
	for s.head != nil && len(buf) > 0 && len(buf) >= s.need {
		if s.tagged != nil {
			if s.outstanding > 1 {
				if tag, ok := s.tagged.Answers(buf); ok && tag != s.head.tag {
					s.promote(tag)
				}
			}
			s.tagged.Turn(s.head.tag)
		}
		f := s.head
		if !s.scanned {
			s.reply.Reset(len(f.cursor.Request().Capture))
			s.scanned = true
		}
		n, done, need := s.codec.Scan(buf, f.cursor.Request(), &s.reply)
		if n < 0 || n > len(buf) {
			l.lose(s, f, protocol.Failure{Class: protocol.Protocol, Text: "the codec lost its place in the answer", Fatal: true})
			return
		}
		buf = buf[n:]
		s.need = 0
		if !done {
			if s.reply.Fatal {
				l.lose(s, f, s.reply.Failure)
				return
			}
			if n == 0 {
				s.need = need
				break
			}
			continue
		}
		if !l.complete(s, end) {
			return
		}
	}
	l.keep(s, buf)
}

// complete goes on after a whole answer and reports whether the session is still there.
func (l *loop) complete(s *session, end int64) bool {
	s.scanned = false
	l.answered(s, end)
	if s.reply.Fatal {
		l.lose(s, nil, protocol.Failure{Class: protocol.UnknownOutcome, Text: "the connection ended with an earlier answer",
			Fatal: true})
		return false
	}
	return true
}

// keep holds what the codec couldn't use yet.
func (l *loop) keep(s *session, rest []byte) {
	if len(rest) > protocol.MostPending || s.head == nil && len(rest) > uselessBytes {
		l.lose(s, s.head, protocol.Failure{
			Class: protocol.Protocol, Fatal: true,
			Text: fmt.Sprintf("%d bytes that make no complete answer", len(rest)),
		})
		return
	}
	if len(rest) == 0 {
		s.in = s.in[:0]
		if cap(s.in) > keepBytes {
			s.in = nil
		}
		return
	}
	s.in = append(s.in[:0], rest...) // which may move a part of its own array
}

// endOfStream deals with a server that closed the connection.
func (l *loop) endOfStream(s *session) {
	if f := s.head; f != nil && s.eof != nil {
		if !s.scanned {
			s.reply.Reset(len(f.cursor.Request().Capture))
			s.scanned = true
		}
		if s.eof.ScanEOF(f.cursor.Request(), &s.reply) {
			s.reply.Fatal = true
			l.complete(s, l.now())
			return
		}
	}
	l.lose(s, nil, protocol.Failure{Class: protocol.UnknownOutcome,
		Text: "the server closed the connection before it answered", Fatal: true})
}
