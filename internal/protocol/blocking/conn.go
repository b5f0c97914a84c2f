// Package blocking drives a protocol's codec with goroutines over a net.Conn. Unlike event loops, it doesn't
// need Linux or a socket without TLS. Set-up and scripts use it as well.
//
// A driver with a codec implements Driver.Dial with it:
//
//	c, err := blocking.Dial(ctx, d, t, p)
//
// Conn serves one request at a time. Dial calls the driver's Open, which connects, authenticates and prepares.
// Conn does the rest: it encodes, writes, reads, scans and enforces deadlines. A codec can offer more by
// implementing other interfaces of package protocol: RowReader for Reply.Each, Adder for requests that aren't in
// the program, EOFScanner for answers that end with the connection, Parting for a final message. Conn itself is
// the Exchanger over which an Adder queries the server. Event loops use none of this.
//
// Shared is a connection that many goroutines use at once.
package blocking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

const (
	firstBuffer = 8 << 10               // initial size of the read buffer, in bytes
	keptBuffer  = 64 << 10              // the largest buffer that an idle connection keeps, in bytes
	longRequest = 64 << 10              // requests of more bytes are sent while the answer is being read
	lastBytes   = 20 * time.Millisecond // time to finish sending a long request that has been answered already
	idleCheck   = time.Second
	endCheck    = time.Millisecond       // Ended looks at a connection that has been idle for so long
	goodbye     = 100 * time.Millisecond // time to send the final message
)

// Conn is a connection that is used by one goroutine at a time. Close may be called while a request is in
// flight; the request then fails.
type Conn struct {
	net    net.Conn
	codec  protocol.Codec
	eof    protocol.EOFScanner  // nil if the codec isn't one
	idle   protocol.IdleScanner // nil if the codec isn't one
	speaks protocol.Speaker     // nil if the codec isn't one
	pacer  protocol.Pacer       // nil if the codec isn't one
	cancel func(context.Context)

	out       []byte
	said      []byte // the buffer of speak
	in        input
	interrupt func()        // makes pending reads and writes return
	ended     chan struct{} // receives when interrupt has run
	silence   time.Duration // the longest that the server may send nothing; 0: no limit
	limited   bool          // a read has a deadline
	wakes     bool          // it is that of pacer
	lastAt    time.Time     // when the last exchange ended, or the connection was last looked at
	closed    atomic.Bool
	lingers   chan struct{} // closed when the server has been asked to stop; nil if it needn't be
}

var (
	_ protocol.AdHoc      = (*Conn)(nil)
	_ protocol.Exchanger  = (*Conn)(nil)
	_ protocol.Lingering  = (*Conn)(nil)
	_ protocol.Patient    = (*Conn)(nil)
	_ protocol.Perishable = (*Conn)(nil)
	_ protocol.Stateless  = (*Conn)(nil)
)

// Dial opens a connection within Target.ConnectTimeout and prepares the program. An error is an *protocol.Error.
func Dial(ctx context.Context, d protocol.CodecDriver, t protocol.Target, p *protocol.Program) (*Conn, error) {
	c, err := d.Open(ctx, t, p)
	if err != nil {
		return nil, err
	}
	return New(c), nil
}

// New returns a Conn over a connection that is ready for requests. It takes ownership of the connection.
func New(o protocol.CodecConn) *Conn {
	c := &Conn{net: o.Net, codec: o.Codec, cancel: o.Cancel, ended: make(chan struct{}, 1), lastAt: time.Now()}
	c.eof, _ = o.Codec.(protocol.EOFScanner)
	c.idle, _ = o.Codec.(protocol.IdleScanner)
	c.speaks, _ = o.Codec.(protocol.Speaker)
	c.pacer, _ = o.Codec.(protocol.Pacer)
	c.in.hold(o.Extra)
	c.interrupt = func() {
		c.net.SetDeadline(time.Unix(1, 0))
		c.ended <- struct{}{}
	}
	return c
}

// Do executes a request; see protocol.Conn. If a request was sent and not answered in full, the connection is
// closed.
func (c *Conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	received := int64(0)
	for n := 0; ; n++ {
		reply.Reset(len(req.Capture))
		c.once(ctx, req, args, reply)
		received += reply.BytesIn
		if !reply.Again || reply.Fatal || n == protocol.AgainAtMost {
			break
		}
	}
	reply.BytesIn = received
}

// once sends a request and reads its answer.
func (c *Conn) once(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	if failure := c.usable(); failure != nil {
		reply.Fail(failure)
		return
	}
	out, refused := c.codec.Encode(c.out[:0], req, args)
	if refused != nil {
		reply.Fail(refused)
		return
	}
	rows, _ := c.codec.(protocol.RowReader)
	c.in.keep = reply.Each != nil && rows != nil
	failure := c.converse(ctx, out, &exchange{req: req, reply: reply, scan: func(buf []byte) (int, bool, int) {
		n, done, need := c.codec.Scan(buf, req, reply)
		return n, done || reply.Fatal, need
	}})
	c.recycle(out)
	if failure == nil && c.in.keep && reply.Class == protocol.OK {
		failure = rows.Rows(c.in.answer(), req, reply.Each)
	}
	if failure != nil {
		reply.Fail(failure)
	}
	if reply.Fatal {
		c.drop()
		return
	}
	c.in.next()
}

// recycle keeps an output buffer for the next request unless it is larger than keptBuffer.
func (c *Conn) recycle(out []byte) {
	if c.out = nil; cap(out) <= keptBuffer {
		c.out = out
	}
}

// Ended reports whether the server has closed the connection, or said that it will; see protocol.Perishable.
func (c *Conn) Ended() bool { return c.unusable(endCheck, c.idle) != nil }

// Stateless implements protocol.Stateless.
func (c *Conn) Stateless() bool { return protocol.IsStateless(c.codec) }

// LimitSilence implements protocol.Patient.
func (c *Conn) LimitSilence(d time.Duration) { c.silence = d }

// usable returns why nothing can be sent, or nil. If the connection has been idle for idleCheck, it checks
// whether the server has closed it.
func (c *Conn) usable() *protocol.Error { return c.unusable(idleCheck, nil) }

// unusable returns why nothing can be sent, or nil. It looks at the connection if it has been idle for the given time.
// idle, if not nil, reads what the server has sent since: the session isn't in the middle of an operation.
func (c *Conn) unusable(after time.Duration, idle protocol.IdleScanner) *protocol.Error {
	if c.closed.Load() {
		return unsent("the connection is closed", net.ErrClosed)
	}
	if time.Since(c.lastAt) < after {
		return nil
	}
	if err := c.look(idle); err != nil {
		e := unsent("the server had closed the idle connection", err)
		if c.idle != nil {
			if _, end := c.idle.ScanIdle(c.in.unread()); end != nil { // it has said why
				e.Code, e.Text = end.Code, end.Text
			}
		}
		c.drop()
		return e
	}
	c.lastAt = time.Now()
	return nil
}

// unsent returns the failure of a request of which nothing was sent.
func unsent(text string, err error) *protocol.Error {
	return &protocol.Error{Class: protocol.Connect, Text: text, Fatal: true, Err: err}
}

// look reads what has arrived while no request was in flight. It returns an error if the connection has ended.
func (c *Conn) look(idle protocol.IdleScanner) error {
	for {
		switch waiting, err := socket.Peek(c.net); {
		case err != nil:
			return err
		case !waiting:
			return nil
		}
		c.net.SetReadDeadline(time.Now().Add(time.Millisecond)) // with TLS, only part of a record may have arrived
		err := c.in.fill(c.net, 0)
		c.net.SetReadDeadline(time.Time{})
		if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
			continue // this process may have waited for a core until the deadline was over: what has arrived is still there
		}
		if err != nil {
			return err
		}
		if idle != nil {
			n, end := idle.ScanIdle(c.in.unread())
			if end != nil {
				return errEnded
			}
			c.in.consume(n)
			c.speak()
		}
	}
}

// exchange is one message sent and the answer expected for it.
type exchange struct {
	req   *protocol.Request // nil if not a request of a program
	reply *protocol.Reply   // nil if req is nil
	scan  func(buf []byte) (n int, done bool, need int)

	written bool // the whole message has been written
}

// converse sends out and reads until the answer is complete. After a failure the connection is closed, unless
// nothing was sent because ctx was already done.
func (c *Conn) converse(ctx context.Context, out []byte, x *exchange) *protocol.Error {
	if ctx.Err() != nil {
		if x.reply != nil {
			x.reply.Unsent = true
		}
		return overBefore(ctx)
	}
	stop := context.AfterFunc(ctx, c.interrupt)
	var failure *protocol.Error
	if len(out) > longRequest {
		failure = c.sendLong(ctx, out, x)
	} else if failure = c.send(ctx, out, x); failure == nil {
		failure = c.receive(ctx, x)
	}
	if !stop() {
		<-c.ended
		c.net.SetDeadline(time.Time{})
	} else if c.limited {
		c.net.SetReadDeadline(time.Time{})
	}
	c.limited = false
	c.lastAt = time.Now()
	return failure
}

// overBefore returns the failure of a request whose ctx was done before it was sent.
func overBefore(ctx context.Context) *protocol.Error {
	if protocol.IsLate(ctx, ctx.Err()) {
		e := protocol.Late(nil)
		e.Fatal = false
		return e
	}
	return &protocol.Error{Class: protocol.Connect, Text: "the operation was interrupted before it was sent",
		Err: ctx.Err()}
}

func (c *Conn) send(ctx context.Context, out []byte, x *exchange) *protocol.Error {
	n, err := c.net.Write(out)
	switch {
	case err == nil:
		x.written = true
		return nil
	case n > 0 || ctx.Err() != nil:
		return c.lost(ctx, x, n > 0, err)
	}
	c.drop()
	return unsent("the connection was lost before the request was sent: "+protocol.Line(err.Error(), ""), err)
}

// sendLong sends a request while it reads: a server may answer before it has read the whole request, and stop
// reading. The answer is valid then, but the connection can't be used any more.
func (c *Conn) sendLong(ctx context.Context, out []byte, x *exchange) *protocol.Error {
	written := make(chan error, 1)
	go func() {
		_, err := c.net.Write(out) // after a failure, the reader notices the end of the connection too
		written <- err
	}()
	failure := c.receive(ctx, x)
	if failure != nil {
		<-written // the connection is closed
		return failure
	}
	given := time.NewTimer(lastBytes)
	defer given.Stop()
	select {
	case err := <-written:
		if err == nil {
			return nil
		}
		c.drop()
	case <-given.C:
		c.drop()
		<-written
	}
	if x.reply != nil {
		x.reply.Fatal = true
	}
	return nil
}

// lost closes a connection on which an answer is missing, and returns the failure.
func (c *Conn) lost(ctx context.Context, x *exchange, sent bool, err error) *protocol.Error {
	if ctx.Err() != nil {
		err = ctx.Err() // ctx set the deadline that caused err
	}
	switch part := ctx.Err() != nil && x.written; { // the server is alive, so send the final message as well
	case sent && c.cancel != nil && !c.closed.Swap(true):
		c.abandon(part)
	case part:
		_ = c.Close()
	default:
		c.drop()
	}
	if sent {
		return protocol.Unanswered(ctx, x.req, err, "")
	}
	e := overBefore(ctx)
	e.Fatal = true
	return e
}

func broken(text string) *protocol.Error {
	return &protocol.Error{Class: protocol.Protocol, Text: text, Fatal: true}
}

// receive reads and scans until the answer is complete.
func (c *Conn) receive(ctx context.Context, x *exchange) *protocol.Error {
	need := 0
	heard := time.Now()
	for {
		for unread := c.in.unread(); len(unread) > 0 && len(unread) >= need; unread = c.in.unread() {
			n, done, want := x.scan(unread)
			if n < 0 || n > len(unread) {
				c.drop()
				return broken("the codec lost its place in the answer")
			}
			c.in.consume(n)
			c.speak()
			if done {
				return nil
			}
			if need = 0; n == 0 {
				need = want
				break
			}
		}
		if held := c.in.held(); held > protocol.MostPending {
			c.drop()
			return tooLong(held, c.in.keep)
		}
		if c.pace(x) {
			return nil
		}
		err := c.listen(ctx, heard)
		if err == nil {
			err = c.in.fill(c.net, need)
		}
		switch {
		case err == nil:
			heard = time.Now()
		case c.woken(ctx, err):
		case errors.Is(err, io.EOF):
			return c.endOfStream(ctx, x)
		default:
			return c.lost(ctx, x, true, err)
		}
	}
}

// pace sends what is due of a request that is sent in parts, and reports whether its answer ends now.
func (c *Conn) pace(x *exchange) (ends bool) {
	if c.pacer == nil {
		return false
	}
	if c.pacer.Pace() != 0 {
		_, ends, _ = x.scan(nil)
	}
	c.speak()
	return ends
}

// listen sets the deadline of a read: the server's silence is limited, or something is to be sent later. heard is when
// the server sent something last.
func (c *Conn) listen(ctx context.Context, heard time.Time) error {
	var until time.Time
	if c.silence > 0 {
		until = heard.Add(c.silence)
	}
	c.wakes = false
	if c.pacer != nil {
		if wait, ok := c.pacer.Due(); ok {
			if at := time.Now().Add(wait); until.IsZero() || at.Before(until) {
				until, c.wakes = at, true
			}
		}
	}
	if until.IsZero() && !c.limited {
		return nil
	}
	c.limited = !until.IsZero()
	if err := c.net.SetReadDeadline(until); err != nil {
		return err
	}
	return ctx.Err() // interrupt may have set its deadline before
}

// woken reports whether a read has failed only because something is to be sent now.
func (c *Conn) woken(ctx context.Context, err error) bool {
	late, ok := errors.AsType[net.Error](err)
	return c.wakes && ok && late.Timeout() && ctx.Err() == nil
}

// speak sends what the server waits for. If that fails, the next read fails too.
func (c *Conn) speak() {
	if c.speaks == nil {
		return
	}
	if said := c.speaks.Speak(c.said[:0]); len(said) > 0 {
		_, _ = c.net.Write(said)
		c.said = said
	}
}

func tooLong(held int, rows bool) *protocol.Error {
	if rows {
		e := protocol.Bad("the answer is longer than the %d MiB that can be read row by row: ask for fewer rows",
			protocol.MostPending>>20)
		e.Fatal = true
		return e
	}
	return broken(fmt.Sprintf("%d bytes that make no complete answer", held))
}

// errEnded says that the server closed the connection.
var errEnded = errors.New("the server closed it")

// endOfStream handles a connection closed by the server, which may be the regular end of an answer.
func (c *Conn) endOfStream(ctx context.Context, x *exchange) *protocol.Error {
	if x.reply != nil && c.eof != nil && c.eof.ScanEOF(x.req, x.reply) {
		x.reply.Fatal = true
		return nil
	}
	return c.lost(ctx, x, true, errEnded)
}

// Exchange queries the server outside of the program's requests; see protocol.Exchanger.
func (c *Conn) Exchange(
	ctx context.Context, out []byte, scan func(buf []byte) (n int, done bool, need int),
) *protocol.Error {
	failure := c.usable()
	if failure == nil {
		c.in.keep = false
		failure = c.converse(ctx, out, &exchange{scan: scan})
		c.in.next()
	}
	return failure
}

// Add prepares a request that isn't part of the program; see protocol.AdHoc.
func (c *Conn) Add(ctx context.Context, r *protocol.Request) error {
	a, ok := c.codec.(protocol.Adder)
	if !ok {
		return protocol.Bad("this protocol takes requests from plans only")
	}
	return a.Add(ctx, c, r)
}

// Close sends the protocol's final message, if it has one, and closes the connection. It is safe to call twice.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.part()
	return c.net.Close()
}

// part sends the final message, if there is one.
func (c *Conn) part() {
	if p, ok := c.codec.(protocol.Parting); ok {
		c.net.SetWriteDeadline(time.Now().Add(goodbye))
		_, _ = c.net.Write(p.Part(nil)) // best effort: the connection is closed in any case
	}
}

// abandon closes the connection in the background, once the server has stopped what it does for it.
func (c *Conn) abandon(part bool) {
	if part {
		c.part()
	} else {
		socket.CloseWrite(c.net, goodbye)
	}
	c.lingers = make(chan struct{})
	go func() {
		defer close(c.lingers)
		ctx, done := context.WithTimeout(context.Background(), protocol.Abandoning)
		defer done()
		protocol.Abandon(ctx, c.net, c.cancel)
	}()
}

// Lingers returns a channel that is closed when the server has been asked to stop, or nil; see protocol.Lingering.
func (c *Conn) Lingers() <-chan struct{} { return c.lingers }

// drop closes the connection without a final message.
func (c *Conn) drop() {
	if !c.closed.Swap(true) {
		c.net.Close()
	}
}
