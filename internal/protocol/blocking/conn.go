// Package blocking drives a protocol's codec by goroutines over a net.Conn. Event loops need Linux and a socket
// without TLS; this needs neither. Set-up and scripts use it as well.
//
// A driver with a codec gets its connections from it: Driver.Dial is
//
//	c, err := blocking.Dial(ctx, d, t, p)
//
// Conn serves one request at a time. Dial calls the driver's Open, which connects, authenticates and prepares,
// and Conn does the rest: it encodes, writes, reads, scans, and keeps to deadlines. A codec can offer more by
// implementing further interfaces of package protocol: RowReader for Reply.Each, Adder for requests that
// aren't in the program, Exchanger (which is Conn) to ask the server in between, EOFScanner for answers that end with
// the connection, Parting for a last message. None of this is on the event loops' path.
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

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

const (
	firstBuffer = 8 << 10               // bytes that a connection begins to read into
	keptBuffer  = 64 << 10              // the largest buffer that an idle connection keeps
	longRequest = 64 << 10              // bytes from which on a request is sent while the answer is awaited
	lastBytes   = 20 * time.Millisecond // for the end of a long request that has been answered
	idleCheck   = time.Second
	goodbye     = 100 * time.Millisecond // for the last message
	cancelling  = 2 * time.Second        // for asking the server to stop
)

// Conn is a connection that is used by one goroutine at a time. Close may be called while a request is under
// way, which then fails.
type Conn struct {
	net    net.Conn
	codec  protocol.Codec
	eof    protocol.EOFScanner // nil if the codec isn't one
	cancel func(context.Context)

	out       []byte
	in        input
	interrupt func()        // makes reads and writes end
	ended     chan struct{} // interrupt has run
	lastAt    time.Time     // when the last exchange ended
	closed    atomic.Bool
}

var (
	_ protocol.AdHoc     = (*Conn)(nil)
	_ protocol.Exchanger = (*Conn)(nil)
)

// Dial opens a connection within Target.ConnectTimeout and prepares the program. An error is an *protocol.Error.
func Dial(ctx context.Context, d protocol.CodecDriver, t protocol.Target, p *protocol.Program) (*Conn, error) {
	c, err := d.Open(ctx, t, p)
	if err != nil {
		return nil, err
	}
	return New(c), nil
}

// New returns a connection over one that is ready for requests. It owns it from now on.
func New(o protocol.CodecConn) *Conn {
	c := &Conn{net: o.Net, codec: o.Codec, cancel: o.Cancel, ended: make(chan struct{}, 1), lastAt: time.Now()}
	c.eof, _ = o.Codec.(protocol.EOFScanner)
	c.in.hold(o.Extra)
	c.interrupt = func() {
		c.net.SetDeadline(time.Unix(1, 0))
		c.ended <- struct{}{}
	}
	return c
}

// Do executes a request; see protocol.Conn. A request that was sent and not answered in full is lost with the
// connection.
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

// recycle keeps an output buffer for the next request unless it is large.
func (c *Conn) recycle(out []byte) {
	if c.out = nil; cap(out) <= keptBuffer {
		c.out = out
	}
}

// usable says why nothing can be sent, if that is so. A connection that has been idle is looked at: the server
// may have closed it.
func (c *Conn) usable() *protocol.Error {
	if c.closed.Load() {
		return unsent("the connection is closed", net.ErrClosed)
	}
	if time.Since(c.lastAt) < idleCheck {
		return nil
	}
	if err := c.look(); err != nil {
		c.drop()
		return unsent("the server had closed the idle connection", err)
	}
	return nil
}

// unsent is the failure of a request of which nothing was sent.
func unsent(text string, err error) *protocol.Error {
	return &protocol.Error{Class: protocol.Connect, Text: text, Fatal: true, Err: err}
}

// look takes in what came while nothing was asked. The error is that the connection has ended.
func (c *Conn) look() error {
	for {
		switch waiting, err := peek(c.net); {
		case err != nil:
			return err
		case !waiting:
			return nil
		}
		c.net.SetReadDeadline(time.Now().Add(time.Millisecond)) // of TLS a part of a record may be there
		err := c.in.fill(c.net, 0)
		c.net.SetReadDeadline(time.Time{})
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// exchange is something sent and the answer that is awaited.
type exchange struct {
	req   *protocol.Request // nil: none of a program
	reply *protocol.Reply   // nil likewise
	scan  func(buf []byte) (n int, done bool, need int)

	written bool // all of it
}

// converse sends bytes and reads until the answer is complete. After a failure the connection is closed, unless
// nothing was sent because ctx had ended.
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
	}
	c.lastAt = time.Now()
	return failure
}

// overBefore is the failure of a request whose time was over before it was sent.
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

// sendLong sends a request while it reads: a server may answer before it has read all of it, and then read no more. The
// answer counts; the connection is of no more use.
func (c *Conn) sendLong(ctx context.Context, out []byte, x *exchange) *protocol.Error {
	written := make(chan error, 1)
	go func() {
		_, err := c.net.Write(out) // after a failure the reader hears of the end too
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

// lost closes the connection, on which an answer is missing, and says so.
func (c *Conn) lost(ctx context.Context, x *exchange, sent bool, err error) *protocol.Error {
	if ctx.Err() != nil {
		err = ctx.Err() // which set the deadline that err tells of
	}
	if sent && c.cancel != nil && !c.closed.Load() {
		cancel := c.cancel
		go func() {
			ctx, done := context.WithTimeout(context.Background(), cancelling)
			defer done()
			cancel(ctx)
		}()
	}
	if ctx.Err() != nil && x.written {
		_ = c.Close() // the server is there, and told that nobody waits any more
	} else {
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
	for {
		for unread := c.in.unread(); len(unread) > 0 && len(unread) >= need; unread = c.in.unread() {
			n, done, want := x.scan(unread)
			if n < 0 || n > len(unread) {
				c.drop()
				return broken("the codec lost its place in the answer")
			}
			c.in.consume(n)
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
		err := c.in.fill(c.net, need)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return c.endOfStream(ctx, x)
		default:
			return c.lost(ctx, x, true, err)
		}
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

// errEnded is that the server closed the connection.
var errEnded = errors.New("the server closed it")

// endOfStream deals with a server that closed the connection, which may be how its answer ends.
func (c *Conn) endOfStream(ctx context.Context, x *exchange) *protocol.Error {
	if x.reply != nil && c.eof != nil && c.eof.ScanEOF(x.req, x.reply) {
		x.reply.Fatal = true
		return nil
	}
	return c.lost(ctx, x, true, errEnded)
}

// Exchange asks the server for what is no request of the program; see protocol.Exchanger.
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

// Add makes a request ready that isn't part of the program; see protocol.AdHoc.
func (c *Conn) Add(ctx context.Context, r *protocol.Request) error {
	a, ok := c.codec.(protocol.Adder)
	if !ok {
		return protocol.Bad("this protocol takes requests from plans only")
	}
	return a.Add(ctx, c, r)
}

// Close says goodbye to the server if the protocol has a message for that, and closes the connection. It is safe
// to call twice.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	if p, ok := c.codec.(protocol.Parting); ok {
		c.net.SetWriteDeadline(time.Now().Add(goodbye))
		_, _ = c.net.Write(p.Part(nil)) // a courtesy: the connection is closed whether it arrives or not
	}
	return c.net.Close()
}

// drop closes the connection in the midst of something.
func (c *Conn) drop() {
	if !c.closed.Swap(true) {
		c.net.Close()
	}
}
