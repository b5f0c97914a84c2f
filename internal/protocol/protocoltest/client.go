// Package drivertest drives drivers in tests: a codec's session over a blocking socket, and scans
// of one answer cut into pieces in every way.
package protocoltest

import (
	"context"
	"net"
	"os"
	"time"

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

// TB is what the helpers need of a test.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Client is a session of the codec tier with a blocking socket: a driver.Conn by other means. It
// reads small pieces, so that answers arrive torn.
type Client struct {
	codec protocol.Codec
	c     net.Conn
	buf   []byte
	piece []byte
}

var _ protocol.Conn = (*Client)(nil)

// Take opens a session of the codec tier. piece is how many bytes are read at a time.
func Take(t TB, p protocol.CodecDriver, target protocol.Target, program *protocol.Program, piece int) *Client {
	t.Helper()
	if why, ok := p.Takes(target, program); !ok {
		t.Fatalf("the codec doesn't take the program: %s", why)
	}
	s, err := p.Takeover(context.Background(), target, program)
	if err != nil {
		t.Fatalf("take over: %v", err)
	}
	f := os.NewFile(uintptr(s.FD), "session")
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatalf("take over: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return &Client{codec: s.Codec, c: c, buf: s.Extra, piece: make([]byte, piece)}
}

// Do sends one request and reads its answer.
func (c *Client) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	out, refused := c.codec.Encode(nil, req, args)
	if refused != nil {
		reply.Fail(refused)
		return
	}
	deadline, _ := ctx.Deadline()
	c.c.SetDeadline(deadline)
	if _, err := c.c.Write(out); err != nil {
		reply.Fail(protocol.Unanswered(context.Background(), req, err, ""))
		return
	}
	c.Receive(req, reply)
}

// Send writes a request without reading its answer.
func (c *Client) Send(t TB, req *protocol.Request, args ...gen.Value) {
	t.Helper()
	out, refused := c.codec.Encode(nil, req, args)
	if refused != nil {
		t.Fatalf("encode: %v", refused)
	}
	if _, err := c.c.Write(out); err != nil {
		t.Fatalf("send: %v", err)
	}
}

// Receive reads the answer to a request that was sent; reply must have been reset.
func (c *Client) Receive(req *protocol.Request, reply *protocol.Reply) {
	for {
		if len(c.buf) > 0 {
			n, done, _ := c.codec.Scan(c.buf, req, reply)
			c.buf = c.buf[n:]
			if done {
				return
			}
		}
		n, err := c.c.Read(c.piece)
		if err != nil {
			if e, ok := c.codec.(protocol.EOFScanner); ok && n == 0 && e.ScanEOF(req, reply) {
				return
			}
			reply.Fail(protocol.Unanswered(context.Background(), req, err, ""))
			return
		}
		c.buf = append(c.buf, c.piece[:n]...)
	}
}

// Close closes the socket.
func (c *Client) Close() error { return c.c.Close() }

// Within returns a context for one request.
func Within(t TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
