package wire

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"brunt/internal/driver"
)

// What a completion belongs to: the session's slot, 24 bits of its generation, and one of these.
const (
	ringBell = iota
	ringReceive
	ringSend
)

func ringData(s *session, kind uint64) uint64 {
	return uint64(s.slot)<<32 | uint64(uint32(s.generation)&0xffffff)<<8 | kind
}

// listen makes the ring receive for a session until further notice: messages where their times of
// arrival may be wanted, else plain bytes, which costs the kernel less.
func (l *loop) listen(s *session) {
	e := l.ring.next()
	e.opcode, e.flags, e.ioprio, e.fd = opRecv, sqeBufferSelect, recvMultishot, int32(s.fd)
	if l.messages() {
		e.opcode = opRecvMsg
		e.addr, e.len = uint64(uintptr(unsafe.Pointer(&l.ring.template))), 1
	}
	e.userData = ringData(s, ringReceive)
}

func (l *loop) messages() bool { return !l.cfg.ClosedOnly }

// payload is what was received, of a buffer that the ring filled.
func (l *loop) payload(b []byte) []byte {
	if l.messages() {
		return b[min(len(b), headerBytes+controlBytes):]
	}
	return b
}

// listenBell makes the ring tell when the bell rings.
func (l *loop) listenBell() {
	e := l.ring.next()
	e.opcode, e.fd, e.opFlags, e.len = opPollAdd, int32(l.poller.bell), unix.POLLIN, pollMulti
	e.userData = ringBell
}

// queueSend hands what has been encoded to the ring. What the kernel is about to read must stay
// as it is, so that encoding goes on in another buffer meanwhile.
func (l *loop) queueSend(s *session) {
	if s.sending != nil || len(s.out) == 0 {
		return
	}
	l.stampSent(s)
	s.handedOver()
	s.sending, s.outPos = s.out, 0
	s.out, s.spare = s.spare[:0], nil
	l.sendRest(s)
}

func (l *loop) sendRest(s *session) {
	b := s.sending[s.outPos:]
	e := l.ring.next()
	e.opcode, e.fd, e.opFlags = opSend, int32(s.fd), unix.MSG_NOSIGNAL
	e.addr, e.len = uint64(uintptr(unsafe.Pointer(&b[0]))), uint32(len(b))
	e.userData = ringData(s, ringSend)
}

// reap deals with all completions.
func (l *loop) reap() {
	for c, ok := l.ring.pop(); ok; c, ok = l.ring.pop() {
		kind := c.userData & 0xff
		if kind == ringBell {
			l.poller.drain(bellToken)
			if c.flags&cqeMore == 0 {
				l.listenBell()
			}
			l.readMail()
			continue
		}
		s := &l.sessions[c.userData>>32]
		current := s.up && uint32(s.generation)&0xffffff == uint32(c.userData>>8)&0xffffff
		if kind == ringReceive {
			l.ringReceived(s, &c, current)
		} else if current {
			l.ringSent(s, int(c.res))
		}
	}
}

// ringSent goes on after a send.
func (l *loop) ringSent(s *session, n int) {
	if n < 0 {
		l.lose(s, nil, driver.Failure{Class: driver.UnknownOutcome, Text: "write: " + unix.Errno(-n).Error(), Fatal: true})
		return
	}
	if s.outPos += n; s.outPos < len(s.sending) {
		l.rec.Stall()
		l.sendRest(s)
		return
	}
	s.spare, s.sending, s.outPos = s.sending[:0], nil, 0
	if cap(s.spare) > keepBytes {
		s.spare = nil
	}
	l.queueSend(s)
}

// ringReceived goes on after a receive.
func (l *loop) ringReceived(s *session, c *cqe, current bool) {
	if c.flags&cqeBuffer != 0 {
		id := uint16(c.flags >> 16)
		if b := l.ring.buffer(id, max(int(c.res), 0)); current && len(l.payload(b)) > 0 {
			l.ringAnswer(s, b)
			l.ring.recycle(id)
			if s.up && c.flags&cqeMore == 0 && uint32(s.generation)&0xffffff == uint32(c.userData>>8)&0xffffff {
				l.listen(s)
			}
			return
		}
		l.ring.recycle(id)
	}
	switch {
	case !current:
	case c.res == -int32(unix.ENOBUFS), c.res == -int32(unix.EINTR):
		l.listen(s)
	case c.res < 0:
		l.lose(s, nil, driver.Failure{Class: driver.UnknownOutcome, Text: "read: " + unix.Errno(-c.res).Error(), Fatal: true})
	default:
		l.endOfStream(s)
	}
}

// ringAnswer gives what was received to the session's codec.
func (l *loop) ringAnswer(s *session, b []byte) {
	end := l.now()
	if l.stamped && s.head != nil {
		var stamp int64
		h := (*unix.Cmsghdr)(unsafe.Pointer(&b[headerBytes]))
		controlled := *(*uint32)(unsafe.Pointer(&b[4])) >= controlBytes
		if controlled && h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS {
			stamp = (*unix.Timespec)(unsafe.Pointer(&b[headerBytes+unix.SizeofCmsghdr])).Nano()
		}
		end = l.kernel.run(stamp, s.head.began, end)
	}
	payload := l.payload(b)
	if len(s.in) > 0 {
		s.in = append(s.in, payload...)
		payload = s.in
	}
	l.scan(s, payload, end)
	if s.up {
		l.settle(s)
	}
}

// ringTurn is turn with a ring.
func (l *loop) ringTurn() {
	l.ringSleep()
	if l.part != nil && l.part.stage.Open() {
		l.sendDue(l.now())
		if l.ring.pending > 0 {
			l.ringEnter(0, 0, false)
		}
	}
	l.reap()
	now := l.now()
	l.expire(now)
	if l.part != nil {
		l.begin(now)
		l.finish()
	}
	l.flushDirty()
	if l.rec.Asked() {
		l.gauge()
	}
	l.rec.Poll()
}

// ringSleep submits what is queued and waits until something is to be done.
func (l *loop) ringSleep() {
	now := l.now()
	l.kernel.refresh(now)
	until := min(now+pollEveryNs, l.timers.next(), l.deadlines.next())
	completions := uint32(1)
	if l.part != nil {
		send, blind := l.nextSend(now)
		until = min(until, send)
		if blind {
			completions = 8 * ringEntries
		}
	}
	if until <= now {
		l.ringEnter(0, 0, false)
		return
	}
	ns, long := l.wait(until - now)
	l.ringEnter(completions, ns, long)
	woke := l.now()
	l.asleepNs += woke - now
	l.idle = woke-now >= idleNs
}

func (l *loop) ringEnter(completions uint32, ns int64, long bool) {
	if errno := l.ring.enter(completions, ns, long); errno != 0 {
		l.breakDown(errno)
	}
}
