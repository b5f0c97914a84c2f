package loop

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"brunt/internal/engine"
	"brunt/internal/protocol"
)

const (
	// readsAtOnce limits how often one session is read before the others are.
	readsAtOnce = 8
	// keepBytes is the size of the largest buffer that a session keeps while the buffer is empty.
	keepBytes = 64 << 10
	// uselessBytes limits what a server may send without a request.
	uselessBytes = 1 << 20
)

// sockets is what a loop sleeps, reads and writes with.
type sockets struct {
	poller   *poller
	receiver receiver
	kernel   kernelTime
	stamped  bool // kernel timestamps are on
	buffer   []byte
	more     []*session // with more to read than was read at once
	dirty    []*session // with a router or a pipeline: with encoded requests
	stalled  int        // sessions whose socket's buffer is full
	readNs   int64      // when a session was last read
}

// flush passes encoded requests to the kernel.
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

// wrote records that the kernel accepted n bytes.
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
			l.io.stalled--
		}
		return
	}
	if !s.stalled {
		l.rec.Stall()
		s.stalled = true
		l.io.stalled++
	}
}

// handedOver records that the kernel may have sent a part of each encoded request.
func (s *session) handedOver() {
	if s.unsent == 0 {
		return
	}
	for f := s.fresh; f != nil; f = f.next {
		f.wrote, f.fresh = true, false
	}
	s.unsent, s.fresh = 0, nil
}

// stampSent records the send time of the requests that are about to be written.
func (l *loop) stampSent(s *session) {
	now := l.now()
	for f := s.fresh; f != nil; f = f.next {
		f.leaves(now)
	}
}

// read reads what has arrived for a session and continues its operations.
func (l *loop) read(s *session) {
	for range readsAtOnce {
		into, held := l.io.space(s)
		n, stamp, errno := l.io.receiver.read(s.fd, into[held:], l.io.stamped)
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
		l.io.readNs, s.heardNs = end, end
		if s.head != nil && l.io.stamped {
			end = l.io.kernel.run(stamp, s.head.began, end)
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
		l.io.more = append(l.io.more, s)
	}
}

// settle sends the requests that follow from the answers. In closed loads it also starts the worker's next operations,
// unless others have waited longer, so that the server has work while the loop reads the other sessions' answers.
func (l *loop) settle(s *session) {
	if !s.up {
		return
	}
	l.speak(s)
	if p := l.part; p != nil && !p.ended && !p.stage.Open() && s.worker.active && s.worker.vacant != nil {
		l.available.push(s.worker)
		if l.available.peek() == s.worker {
			l.available.drop()
			l.startNext(s.worker, l.io.readNs)
			return
		}
	}
	l.flushAll(s)
}

// speak adds what the server waits for besides requests.
func (l *loop) speak(s *session) {
	l.pace(s)
	if s.speaker == nil || !s.up {
		return
	}
	s.out = s.speaker.Speak(s.out)
	if l.router != nil {
		l.io.markDirty(s)
	}
}

// space returns a buffer to read into, which begins with the unscanned bytes of the session. It is the loop's own
// buffer, or the session's if that contains a large part of a large answer.
func (io *sockets) space(s *session) (into []byte, held int) {
	held = len(s.in)
	if held <= len(io.buffer)/4 && s.need <= len(io.buffer)/2 {
		copy(io.buffer, s.in)
		return io.buffer, held
	}
	if cap(s.in)-held < len(io.buffer)/2 {
		grown := make([]byte, held, 2*held+len(io.buffer))
		copy(grown, s.in)
		s.in = grown
	}
	return s.in[:cap(s.in)], held
}

// scan passes what has been read to the codec, answer by answer, and keeps the rest.
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
		s.begin()
		n, done, need := s.codec.Scan(buf, f.cursor.Request(), &s.reply)
		s.draining = s.drainer != nil && s.drainer.Draining()
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
	if s.head == nil && len(buf) > 0 && s.idle != nil && !s.within() {
		n, end := s.idle.ScanIdle(buf)
		if end != nil {
			l.lose(s, nil, protocol.Failure{Class: protocol.UnknownOutcome, Code: end.Code, Text: end.Text, Fatal: true})
			return
		}
		buf = buf[n:]
	}
	l.keep(s, buf)
}

// complete handles a complete answer, and reports whether the session still exists.
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

// keep stores the bytes that the codec couldn't use yet.
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
	s.in = append(s.in[:0], rest...) // rest may be a part of the same array
}

// lookNs is the time for which a session must have been idle to be looked at before it is used. The events of this
// moment are handled after arrivals are sent, so the end of an idle connection might be among them.
const lookNs = int64(500_000_000)

// gone reports whether the server has closed a free worker's connection, which is then lost. It looks only if the
// worker has been idle for lookNs.
func (l *loop) gone(a *worker, now int64) bool {
	if now-a.freeAt < lookNs || l.router != nil {
		return false
	}
	s := a.sessions[0]
	var one [1]byte
	n, _, err := unix.Recvfrom(s.fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err == unix.EAGAIN || err == unix.EINTR {
		return false
	}
	if n > 0 {
		l.read(s)
	} else {
		l.endOfStream(s)
	}
	return !a.ready()
}

// endOfStream handles a connection that the server has closed.
func (l *loop) endOfStream(s *session) {
	if f := s.head; f != nil && s.eof != nil {
		s.begin()
		if s.eof.ScanEOF(f.cursor.Request(), &s.reply) {
			s.reply.Fatal = true
			l.complete(s, l.now())
			return
		}
	}
	failure := protocol.Failure{Class: protocol.UnknownOutcome, Fatal: true,
		Text: "the server closed the connection before it answered"}
	if s.head == nil && s.idle != nil {
		if _, end := s.idle.ScanIdle(s.in); end != nil { // it has said why, while an operation paused
			failure.Code, failure.Text = end.Code, end.Text
		}
	}
	l.lose(s, nil, failure)
}

// kernelTime translates the kernel's receive timestamps, which are wall-clock time, to the run's
// clock. The wall clock may be stepped or slewed, so the difference of the two is measured again
// every stampEveryNs, and whenever a timestamp is impossible.
type kernelTime struct {
	clock  engine.Clock
	offset int64 // wall clock minus run clock
	at     int64 // when that was measured
}

// keepStamping returns a socket that makes the kernel put timestamps on packets while it is open, or −1 on failure.
// Without it the first answers after sockets ask for timestamps have none, because the kernel begins some milliseconds
// later.
func keepStamping() (fd int) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	stampSocket(fd, true)
	return fd
}

const stampEveryNs = 20_000_000

// calibrate measures the difference of the clocks. It makes several attempts and uses the one that took the least time.
// Half of this time is the largest error.
func (k *kernelTime) calibrate() {
	best := never
	for range 4 {
		var wall unix.Timespec
		before := k.clock.Now()
		unix.ClockGettime(unix.CLOCK_REALTIME, &wall)
		after := k.clock.Now()
		if after-before < best {
			best = after - before
			k.offset = wall.Nano() - before - (after-before)/2
			k.at = after
		}
		if best < 500 {
			return
		}
	}
}

// refresh calibrates if it is due.
func (k *kernelTime) refresh(now int64) {
	if now-k.at > stampEveryNs {
		k.calibrate()
	}
}

// run converts a timestamp, which must lie between sent and now, to the run's clock. It returns now if it can't.
func (k *kernelTime) run(stamp, sent, now int64) int64 {
	if stamp == 0 {
		return now
	}
	t := stamp - k.offset
	if t < sent || t > now {
		k.calibrate()
		t = stamp - k.offset
	}
	return min(max(t, sent), now)
}

// receiver reads sockets, with or without kernel timestamps.
type receiver struct {
	header  unix.Msghdr
	vector  unix.Iovec
	control [8]uint64
}

// read reads into b and returns the count, and when the kernel received the last of it (0 if
// stamped is false or the kernel didn't say).
func (r *receiver) read(fd int, b []byte, stamped bool) (n int, stamp int64, errno syscall.Errno) {
	if !stamped {
		c, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
		if e != 0 {
			return 0, 0, e
		}
		return int(c), 0, 0
	}
	r.vector.Base = &b[0]
	r.vector.SetLen(len(b))
	r.header.Iov = &r.vector
	r.header.SetIovlen(1)
	r.header.Control = (*byte)(unsafe.Pointer(&r.control[0]))
	r.header.SetControllen(8 * len(r.control))
	c, _, e := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.header)), 0)
	if e != 0 {
		return 0, 0, e
	}
	return int(c), r.stamp(), 0
}

// stamp finds the timestamp among the control messages.
func (r *receiver) stamp() int64 {
	const size = unix.SizeofCmsghdr + int(unsafe.Sizeof(unix.Timespec{}))
	if int(r.header.Controllen) < size {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&r.control[unix.SizeofCmsghdr/8])).Nano()
}

// write writes b, without a signal if the other side has closed.
func write(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// stampSocket turns receive timestamps of a socket on or off.
func stampSocket(fd int, on bool) {
	v := 0
	if on {
		v = 1
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, v)
}
