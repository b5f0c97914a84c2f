package iproto

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/protocol"
)

// Line is a connection that many goroutines use at once. What is sent while others are still at work goes out
// in one write, in the order in which it was given. It is safe for concurrent use.
type Line struct {
	link    *link
	options LineOptions
	limit   chan struct{} // a place for each request under way; nil without a limit
	kick    chan struct{} // there is something to write
	over    chan struct{} // closed at the end
	heardNs atomic.Int64  // when bytes came last

	mu      sync.Mutex
	out     []byte // to be written
	under   map[uint64]*Exchange
	failure error // why it is over
}

// LineOptions are what a Line needs to know.
type LineOptions struct {
	Timeout time.Duration // of a request; 0 means none
	Most    int           // requests under way at once; 0 means without a limit
	Wait    bool          // beyond Most: wait for an answer to another, instead of failing
	Now     func() int64  // the clock of Exchange, in ns
}

// Exchange is a request and what came of it. Sent and Done are the caller's to set; the rest may be read after
// Done has been received from.
type Exchange struct {
	Sent int64         // by LineOptions.Now
	Done chan struct{} // with room for one

	Sync uint64
	Code uint32 // of the answer; see Failed
	Body []byte // of the answer
	End  int64  // when the answer came, by LineOptions.Now
	Lost error  // why there is no answer: see driver.Unanswered
}

// Failed is the number of the error that the server answered with.
func (x *Exchange) Failed() (number uint32, failed bool) {
	return x.Code &^ errorBit, x.Code&errorBit != 0
}

// mostKept bounds the buffer that is kept between writes.
const mostKept = 1 << 20

// DialLine opens a Line within Target.ConnectTimeout.
func DialLine(ctx context.Context, t protocol.Target, o LineOptions) (*Line, *protocol.Error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	k, failure := dialLink(ctx, t)
	if failure != nil {
		return nil, failure
	}
	k.conn.SetDeadline(time.Time{})
	l := &Line{link: k, options: o, kick: make(chan struct{}, 1), over: make(chan struct{}), under: map[uint64]*Exchange{}}
	k.in.Reset(heard{l}) // nothing is in it: a server speaks when it is asked
	if o.Most > 0 {
		l.limit = make(chan struct{}, o.Most)
	}
	l.heardNs.Store(o.Now())
	go l.write()
	go l.read()
	if o.Timeout > 0 {
		go l.watch()
	}
	return l, nil
}

// Alive reports whether requests can be sent.
func (l *Line) Alive() bool {
	select {
	case <-l.over:
		return false
	default:
		return true
	}
}

// Send sends a request of a kind, whose body it doesn't keep. What comes of it is told through x.Done, unless it
// isn't sent at all, which is what the error says.
func (l *Line) Send(ctx context.Context, kind byte, body []byte, x *Exchange) *protocol.Error {
	if failure := l.enter(ctx); failure != nil {
		return failure
	}
	l.mu.Lock()
	if l.failure != nil {
		l.mu.Unlock()
		l.leave()
		return &protocol.Error{Class: protocol.Connect, Text: "it wasn't sent: the connection is lost", Fatal: true, Err: l.failure}
	}
	first := len(l.out) == 0
	l.add(kind, body, x)
	l.mu.Unlock()
	if first {
		l.wake()
	}
	return nil
}

// add writes a request to the buffer. l.mu is held.
func (l *Line) add(kind byte, body []byte, x *Exchange) {
	at := len(l.out)
	l.link.sync++
	x.Sync = l.link.sync
	l.out = append(appendHeader(l.out, kind, x.Sync), body...)
	setLength(l.out, at)
	l.under[x.Sync] = x
}

func (l *Line) wake() {
	select {
	case l.kick <- struct{}{}:
	default: // the writer will look
	}
}

// enter waits for a place among the requests under way.
func (l *Line) enter(ctx context.Context) *protocol.Error {
	if l.limit == nil {
		return nil
	}
	select {
	case l.limit <- struct{}{}:
		return nil
	default:
	}
	const text = "it wasn't sent: as many requests as rate_limit allows are under way"
	if !l.options.Wait {
		return &protocol.Error{Class: protocol.Connect, Text: text}
	}
	if l.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.options.Timeout)
		defer cancel()
	}
	select {
	case l.limit <- struct{}{}:
		return nil
	case <-l.over:
	case <-ctx.Done():
	}
	return &protocol.Error{Class: protocol.Connect, Text: text, Err: ctx.Err()}
}

func (l *Line) leave() {
	if l.limit != nil {
		<-l.limit
	}
}

// write writes what there is, again and again. Whoever is ready to send does so before: what falls due together
// is one write. But nobody waits for those who become ready meanwhile, so that the server isn't idle until
// everybody has sent.
func (l *Line) write() {
	var spare []byte
	for {
		select {
		case <-l.kick:
		case <-l.over:
			return
		}
		runtime.Gosched()
		l.mu.Lock()
		out := l.out
		l.out = spare[:0]
		l.mu.Unlock()
		if _, err := l.link.conn.Write(out); err != nil {
			l.end(err)
			return
		}
		if spare = out; cap(spare) > mostKept {
			spare = nil
		}
	}
}

// heard is what a Line receives. It notes when.
type heard struct{ l *Line }

// Read implements io.Reader.
func (h heard) Read(b []byte) (int, error) {
	n, err := h.l.link.conn.Read(b)
	if n > 0 {
		h.l.heardNs.Store(h.l.options.Now())
	}
	return n, err
}

// read tells of answers as they come.
func (l *Line) read() {
	for {
		code, sync, body, err := l.link.receive()
		if err != nil {
			l.end(err)
			return
		}
		l.mu.Lock()
		x := l.under[sync]
		delete(l.under, sync)
		l.mu.Unlock()
		if x != nil { // else it is too late
			x.Code, x.Body, x.End = code, body, l.heardNs.Load()
			l.tell(x)
		}
	}
}

// tell says that an exchange, which is under way no more, is over.
func (l *Line) tell(x *Exchange) {
	if x.Done != nil {
		x.Done <- struct{}{}
		l.leave()
	}
}

// pings is how many pings are sent in the time of a request, so that a connection over which nothing comes
// any more is noticed.
const pings = 3

// watch ends requests that take too long, and the connection if nothing comes over it any more.
func (l *Line) watch() {
	timeout, pause := int64(l.options.Timeout), int64(l.options.Timeout)/pings
	timer := time.NewTimer(time.Duration(pause))
	defer timer.Stop()
	pinged := l.options.Now()
	for {
		select {
		case <-timer.C:
		case <-l.over:
			return
		}
		now := l.options.Now()
		next := l.expire(now, now-timeout) + timeout
		if now-l.heardNs.Load() > timeout {
			l.end(errors.New("the server has been silent for too long"))
			return
		}
		if now >= pinged+pause {
			pinged = now
			l.ping(now)
		}
		timer.Reset(time.Duration(max(min(next, pinged+pause)-now, 1)))
	}
}

// expire ends the requests that were sent before a moment, and returns when the oldest of the others was sent.
func (l *Line) expire(now, before int64) (oldest int64) {
	var late []*Exchange
	oldest = now
	l.mu.Lock()
	for sync, x := range l.under {
		if x.Sent < before {
			late = append(late, x)
			delete(l.under, sync)
		} else {
			oldest = min(oldest, x.Sent)
		}
	}
	l.mu.Unlock()
	for _, x := range late {
		x.Lost, x.End = context.DeadlineExceeded, now
		l.tell(x)
	}
	return oldest
}

func (l *Line) ping(now int64) {
	l.mu.Lock()
	if l.failure == nil {
		l.add(typePing, []byte{0x80}, &Exchange{Sent: now})
	}
	l.mu.Unlock()
	l.wake()
}

// end ends the connection and all that is under way on it.
func (l *Line) end(why error) {
	l.mu.Lock()
	if l.failure != nil {
		l.mu.Unlock()
		return
	}
	l.failure = why
	under := l.under
	l.under, l.out = nil, nil
	l.mu.Unlock()
	close(l.over)
	l.link.Close() // what is lost is lost
	now := l.options.Now()
	for _, x := range under {
		x.Lost, x.End = why, now
		l.tell(x)
	}
}

// Close ends the connection; requests under way are lost. It is safe to call twice.
func (l *Line) Close() error {
	l.end(net.ErrClosed)
	return nil
}
