package loop

import (
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"brunt/internal/engine"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
)

// recorder is the part of measure.Recorder that a loop uses.
type recorder interface {
	Record(s *measure.Sample)
	OwnLag(ns int64)
	GiveUpAt(operation int, why measure.Unsent, intendedNs, nowNs int64)
	UnfinishedAt(operation, address int, intendedNs, nowNs int64)
	Abort(operation int)
	Offer(n uint64)
	Stall()
	Reconnect(address int)
	SetGauges(up []int, busy int, backlog uint64, loopBusy float64)
	SetUp(upNs float64, spanNs int64)
	NextPhase(ns int64, undecided uint64)
	Asked() bool
	Poll()
	Close()
}

const (
	// pollEveryNs limits every sleep, because recorders must be polled every 100 ms.
	pollEveryNs = 40_000_000
	// blindNs is the longest sleep in an open load that no event can end. Up to this length, reading answers only when
	// there is something to send saves a wake-up per operation. Beyond it, retries and lost connections would be
	// noticed late for little gain.
	blindNs = 2_000_000
	// readBytes is the size of the buffer that a loop reads into.
	readBytes = 256 << 10
	// startsAtOnce limits how many operations start before answers are read again.
	startsAtOnce = 256
)

// loop is one locked OS thread, its sessions, its share of the schedule and its recorder. Other threads only use the
// mailbox and the poller's wakeup.
type loop struct {
	fleet   *Fleet
	cfg     *engine.FleetConfig
	work    *workload.Workload
	rec     recorder
	mailbox mailbox
	io      sockets

	router    protocol.Router   // nil: a worker uses one session for all its requests
	balancer  *balance.Balancer // chooses among a worker's sessions; nil: any is taken
	workers   []worker
	sessions  []session
	available available
	deadlines deadlines
	timers    timers
	part      *stagePart // nil between stages
	backoff   engine.Backoff

	timing  timing
	pending pending
	conns   connectivity
	growing growing
	thread  thread
	sample  measure.Sample
	cutting bool // operations end because the load is being cut off
}

// pending counts what is under way.
type pending struct {
	operations int // pauses after them excluded
	sessions   int // that wait for an answer
	eager      int // outstanding requests whose answer leads to a further one
}

// run is the body of the loop's goroutine.
func (l *loop) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	l.io.kernel.calibrate()
	now := l.now()
	l.thread.begin(now)
	l.conns.downSince = now
	for !l.thread.quitting {
		l.turn()
	}
	l.end()
}

func (l *loop) now() int64 { return l.cfg.Clock.Now() }

// turn sleeps until there is something to do. It then sends what is due, because only sends are harmed by a delay, and
// after that reads what has arrived.
func (l *loop) turn() {
	n, blind, now := l.sleep()
	if l.part != nil && l.part.stage.Open() {
		l.startDue(now)
	}
	if blind {
		n = l.collect(now, 0, false)
	}
	for i := range n {
		l.handle(&l.io.poller.events[i])
	}
	l.readMore()
	now = l.afterReading(now)
	l.expire(now)
	if l.part != nil {
		l.startOperations(now)
		l.finishStage()
	}
	l.flushDirty()
	// Both or neither: a hand-over that is asked for between two checks would carry the gauges of an earlier turn.
	if l.rec.Asked() {
		l.gauge()
		l.rec.Poll()
	}
}

// afterReading returns the time after reading all that has arrived. In a closed stage the last read has just read the
// clock, or there was no read.
func (l *loop) afterReading(woke int64) int64 {
	if l.part == nil || l.part.stage.Open() {
		return l.now()
	}
	return max(woke, l.io.readNs)
}

// sleep waits until there is something to do. blind means that answers didn't end the sleep and have not been checked.
// woke is when the sleep ended.
func (l *loop) sleep() (events int, blind bool, woke int64) {
	now := l.now()
	l.io.kernel.refresh(now)
	until := min(now+pollEveryNs, l.timers.next(), l.deadlines.next())
	if len(l.io.more) > 0 {
		until = now
	}
	if l.part != nil {
		var send int64
		send, blind = l.nextSend(now)
		until = min(until, send)
	}
	if until <= now {
		return l.collect(now, 0, false), false, now
	}
	if blind {
		l.io.poller.sleep(until - now)
	} else {
		ns, long := l.thread.wait(until-now, l.part != nil && l.part.stage.Open())
		events = l.collect(now, ns, long)
	}
	woke = l.now()
	l.thread.slept(woke-now, events)
	return events, blind, woke
}

// collect waits for events for at most ns.
func (l *loop) collect(now, ns int64, long bool) int {
	n, errno := l.io.poller.wait(now, ns, long)
	if errno != 0 {
		l.breakDown(errno)
	}
	return n
}

// breakDown ends the loop after an error that only a broken system causes.
func (l *loop) breakDown(errno syscall.Errno) {
	l.thread.fail(fmt.Errorf("wait for sockets: %w", errno))
}

// handle handles one event.
func (l *loop) handle(e *unix.EpollEvent) {
	if e.Fd < 0 {
		if e.Fd == wakeupToken {
			l.io.poller.resetWakeup()
			l.readMail()
		}
		return
	}
	s := &l.sessions[e.Fd]
	if !s.up || s.generation != e.Pad {
		return
	}
	if e.Events&unix.EPOLLOUT != 0 && s.outPos < len(s.out) {
		l.flush(s)
	}
	if s.up && e.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.ending = s.ending || e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
		l.read(s)
	}
}

// readMore continues with sessions that sent more than was read at once.
func (l *loop) readMore() {
	n := len(l.io.more)
	for _, s := range l.io.more[:n] {
		s.again = false
		if s.up {
			l.read(s)
		}
	}
	l.io.more = l.io.more[:copy(l.io.more, l.io.more[n:])] // those that read has added
}

// gauge passes the current state to the recorder.
func (l *loop) gauge() {
	now := l.now()
	var backlog uint64
	if p := l.part; p != nil && p.stage.Open() {
		l.countDue(p, now)
		backlog = p.backlog()
	}
	l.setGauges(now, backlog)
}

func (l *loop) setGauges(now int64, backlog uint64) {
	l.rec.SetGauges(l.conns.up, l.pending.operations, backlog, l.thread.busy(now))
	l.rec.SetUp(l.conns.uptime.Take(now))
}

// readMail handles the messages in the mailbox.
func (l *loop) readMail() {
	for _, m := range l.mailbox.takeAll() {
		switch m.kind {
		case connected:
			l.connected(&l.sessions[m.slot], m.fd, &m.conn)
		case refused:
			l.unconnected(&l.sessions[m.slot])
		case crowded:
			l.crowdedOut(&l.sessions[m.slot])
		case unwanted:
			s := &l.sessions[m.slot]
			s.dialing = false
			l.unpark(s)
			l.leave(s)
		case served:
			l.dialServed()
		case moved:
			l.move()
		case start:
			l.startStage(m.stage)
		case stop:
			l.stopStage()
		case abort:
			l.stopStage()
			l.abandon()
		case quit:
			l.thread.quitting = true
		}
	}
}

// end closes everything.
func (l *loop) end() {
	l.stopStage()
	l.abandon()
	if l.part != nil {
		l.finishStage()
	}
	for i := range l.sessions {
		l.hangUp(&l.sessions[i])
	}
	for _, m := range l.mailbox.close() {
		switch m.kind {
		case connected:
			closeSocket(m.fd, m.conn.Codec)
		case start:
			m.stage.finished <- m.stage
		}
	}
	l.rec.Close()
}
