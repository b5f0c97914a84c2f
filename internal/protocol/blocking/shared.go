package blocking

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Shared is a connection that many goroutines use at once. It needs a codec that is Tagged. Requests are sent in
// the order in which Send was called; those of several goroutines are combined into one write. Shared is safe
// for concurrent use.
type Shared struct {
	net     net.Conn
	codec   protocol.Codec
	tagged  protocol.Tagged
	options SharedOptions
	limit   chan struct{} // holds an element for each request in flight; nil without a limit
	kick    chan struct{} // signals that there is something to write
	over    chan struct{} // closed when the connection has ended
	heardNs atomic.Int64  // when bytes were last received

	in     input    // used by the reader only
	nobody Exchange // used by the reader only: receives answers that are no longer awaited

	mu      sync.Mutex // guards the following fields and the codec
	out     []byte     // bytes to be written
	under   map[uint64]*Exchange
	current *Exchange // the exchange whose answer has been scanned in part
	failure error     // why the connection has ended
}

// SharedOptions are the options of a Shared.
type SharedOptions struct {
	Timeout time.Duration     // timeout of a request; 0 means none
	Most    int               // maximum number of requests in flight; 0 means no limit
	Wait    bool              // at the maximum, wait for another answer instead of failing
	Now     func() int64      // the clock for Exchange, in ns
	Ping    *protocol.Request // has no parameters and is answered at once; detects a silent server; nil means none
}

// Exchange is a request and its outcome. The caller sets Request, Sent and Done. The other fields may be read
// after receiving from Done.
type Exchange struct {
	Request *protocol.Request
	Sent    int64         // by SharedOptions.Now
	Done    chan struct{} // must have a buffer of one

	Tag   uint64 // the tag by which the server knows the request
	Reply protocol.Reply
	End   int64 // when the answer came, by SharedOptions.Now
	Lost  error // why there is no answer, see protocol.Unanswered; nil if there is one
}

// mostKept is the maximum size in bytes of the buffer that is kept between writes.
const mostKept = 1 << 20

// Share returns a shared connection over a connection that is ready for requests, whose codec must be Tagged. It
// takes ownership of the connection.
func Share(c protocol.CodecConn, o SharedOptions) (*Shared, *protocol.Error) {
	tagged, ok := c.Codec.(protocol.Tagged)
	if !ok {
		c.Net.Close()
		return nil, protocol.Bad("the answers of this protocol don't say which request they are to")
	}
	s := &Shared{
		net: c.Net, codec: c.Codec, tagged: tagged, options: o,
		kick: make(chan struct{}, 1), over: make(chan struct{}), under: map[uint64]*Exchange{},
		nobody: Exchange{Request: &protocol.Request{}},
	}
	s.in.hold(c.Extra)
	if o.Most > 0 {
		s.limit = make(chan struct{}, o.Most)
	}
	s.heardNs.Store(o.Now())
	go s.write()
	go s.read()
	if o.Timeout > 0 {
		go s.watch()
	}
	return s, nil
}

// Alive reports whether requests can be sent.
func (s *Shared) Alive() bool {
	select {
	case <-s.over:
		return false
	default:
		return true
	}
}

// Over returns a channel that is closed when the connection has ended.
func (s *Shared) Over() <-chan struct{} { return s.over }

// Send sends x.Request with args, which it doesn't keep. The outcome is signalled through x.Done. If Send
// returns an error, nothing was sent and x.Done isn't used.
func (s *Shared) Send(ctx context.Context, args []gen.Value, x *Exchange) *protocol.Error {
	if failure := s.enter(ctx); failure != nil {
		return failure
	}
	s.mu.Lock()
	first := len(s.out) == 0
	failure := s.add(args, x)
	s.mu.Unlock()
	if failure != nil {
		s.leave()
		return failure
	}
	if first {
		s.wake()
	}
	return nil
}

// add encodes a request. The caller holds s.mu.
func (s *Shared) add(args []gen.Value, x *Exchange) *protocol.Error {
	if s.failure != nil {
		return unsent("it wasn't sent: the connection is lost", s.failure)
	}
	out, failure := s.codec.Encode(s.out, x.Request, args)
	if failure != nil {
		return failure
	}
	s.out, x.Tag = out, s.tagged.Tag()
	s.under[x.Tag] = x
	return nil
}

// wake wakes the writer.
func (s *Shared) wake() {
	select {
	case s.kick <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// enter waits for a free place among the requests in flight.
func (s *Shared) enter(ctx context.Context) *protocol.Error {
	if s.limit == nil {
		return nil
	}
	select {
	case s.limit <- struct{}{}:
		return nil
	default:
	}
	const text = "it wasn't sent: as many requests as rate_limit allows are under way"
	if !s.options.Wait {
		return &protocol.Error{Class: protocol.Connect, Text: text}
	}
	if s.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.options.Timeout)
		defer cancel()
	}
	select {
	case s.limit <- struct{}{}:
		return nil
	case <-s.over:
	case <-ctx.Done():
	}
	return &protocol.Error{Class: protocol.Connect, Text: text, Err: ctx.Err()}
}

func (s *Shared) leave() {
	if s.limit != nil {
		<-s.limit
	}
}

// write sends queued requests until the connection ends. It first yields to goroutines that are ready to send,
// so that requests which are due at the same time go out in one write. It doesn't wait for goroutines that
// become ready later, so that the server isn't left idle.
func (s *Shared) write() {
	var spare []byte
	for {
		select {
		case <-s.kick:
		case <-s.over:
			return
		}
		runtime.Gosched()
		s.mu.Lock()
		out := s.out
		s.out = spare[:0]
		s.mu.Unlock()
		if _, err := s.net.Write(out); err != nil {
			s.end(err)
			return
		}
		if spare = out; cap(spare) > mostKept {
			spare = nil
		}
	}
}

// read reads answers and signals each exchange when its answer is complete.
func (s *Shared) read() {
	need := 0
	for {
		err := s.in.fill(s.net, need)
		if err == nil {
			s.heardNs.Store(s.options.Now())
			need, err = s.scan()
		}
		if held := s.in.held(); err == nil && held > protocol.MostPending {
			err = tooLong(held, false)
		}
		if err != nil {
			s.end(err)
			return
		}
	}
}

// scan passes the bytes read to the codec. need is how many bytes the codec must see before it is called again.
func (s *Shared) scan() (need int, err error) {
	for unread := s.in.unread(); len(unread) > 0; unread = s.in.unread() {
		x, n, done, want := s.scanOne(unread)
		if n < 0 || n > len(unread) {
			return 0, broken("the codec lost its place in the answer")
		}
		s.in.consume(n)
		if done && x != &s.nobody {
			x.End = s.heardNs.Load()
			failure := x.Reply.Failure
			s.tell(x)
			if failure.Fatal {
				return 0, &protocol.Error{Class: failure.Class, Code: failure.Code, Text: failure.Text, Fatal: true}
			}
		}
		if !done && n == 0 {
			return want, nil
		}
	}
	s.in.next()
	return 0, nil
}

// scanOne scans bytes for the exchange that they belong to.
func (s *Shared) scanOne(unread []byte) (x *Exchange, n int, done bool, need int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tag, ok := s.tagged.Answers(unread); ok {
		s.tagged.Turn(tag)
		if x = s.under[tag]; x != s.current && x != nil {
			x.Reply.Reset(len(x.Request.Capture))
		}
		s.current = x
	}
	if x = s.current; x == nil {
		x = &s.nobody
		x.Reply.Reset(0)
	}
	n, done, need = s.codec.Scan(unread, x.Request, &x.Reply)
	if done = done || x.Reply.Fatal; done {
		delete(s.under, x.Tag)
		s.current = nil
	}
	return x, n, done, need
}

// tell signals that an exchange, which is no longer in flight, has ended.
func (s *Shared) tell(x *Exchange) {
	if x.Done != nil {
		x.Done <- struct{}{}
		s.leave()
	}
}

// pings is how many pings are sent per request timeout, to detect a connection over which nothing arrives any
// more.
const pings = 3

// watch ends requests that have timed out, and closes the connection if nothing arrives over it any more.
func (s *Shared) watch() {
	timeout, pause := int64(s.options.Timeout), int64(s.options.Timeout)/pings
	timer := time.NewTimer(time.Duration(pause))
	defer timer.Stop()
	pinged := s.options.Now()
	for {
		select {
		case <-timer.C:
		case <-s.over:
			return
		}
		now := s.options.Now()
		next := s.expire(now, now-timeout) + timeout
		if s.options.Ping != nil && now-s.heardNs.Load() > timeout {
			s.end(errors.New("the server has been silent for too long"))
			return
		}
		if now >= pinged+pause {
			pinged = now
			s.ping(now)
		}
		timer.Reset(time.Duration(max(min(next, pinged+pause)-now, 1)))
	}
}

// expire ends the requests that were sent before the given time, and returns when the oldest of the others was
// sent.
func (s *Shared) expire(now, before int64) (oldest int64) {
	var late []*Exchange
	oldest = now
	s.mu.Lock()
	for tag, x := range s.under {
		if x.Sent >= before {
			oldest = min(oldest, x.Sent)
			continue
		}
		late = append(late, x)
		delete(s.under, tag)
		if s.current == x {
			s.current = nil
		}
	}
	s.mu.Unlock()
	for _, x := range late {
		x.Lost, x.End = context.DeadlineExceeded, now
		s.tell(x)
	}
	return oldest
}

func (s *Shared) ping(now int64) {
	if s.options.Ping == nil {
		return
	}
	s.mu.Lock()
	_ = s.add(nil, &Exchange{Request: s.options.Ping, Sent: now}) // on error the connection has ended
	s.mu.Unlock()
	s.wake()
}

// end closes the connection and ends all requests in flight on it.
func (s *Shared) end(why error) {
	s.mu.Lock()
	if s.failure != nil {
		s.mu.Unlock()
		return
	}
	s.failure = why
	under := s.under
	s.under, s.out, s.current = nil, nil, nil
	s.mu.Unlock()
	close(s.over)
	s.net.Close() // the error, if any, doesn't matter: the requests are lost
	now := s.options.Now()
	for _, x := range under {
		x.Lost, x.End = why, now
		s.tell(x)
	}
}

// Close ends the connection. Requests in flight are lost. It is safe to call twice.
func (s *Shared) Close() error {
	s.end(net.ErrClosed)
	return nil
}
