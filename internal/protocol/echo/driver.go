package echo

import (
	"context"
	"io"
	"net"
	"strconv"
	"time"

	"brunt/internal/gen"
	"brunt/internal/protocol"
	"brunt/internal/socket"
)

// Driver is the protocol. Options of a target: "sndbuf", the size of the socket's send buffer
// in bytes.
type Driver struct{}

var (
	_ protocol.CodecDriver = Driver{}
	_ protocol.Codec       = (*Codec)(nil)
)

// Name is "echo".
func (Driver) Name() string { return "echo" }

// Dial opens a session of the library tier.
func (Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	c, err := dial(ctx, t, p)
	if err != nil {
		return nil, err
	}
	return &conn{net: c}, nil
}

// Describe says that the server is an echo server, once it has accepted a connection.
func (Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	c, err := dial(ctx, t, &protocol.Program{})
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	c.Close()
	return protocol.ServerInfo{Product: "brunt echo"}, nil
}

// Takes reports that the codec can do everything that the protocol has, in plain text.
func (Driver) Takes(t protocol.Target, _ *protocol.Program) (why string, ok bool) {
	if t.TLS != nil {
		return "echo has no TLS", false
	}
	return "", true
}

// Takeover connects and gives up the socket.
func (Driver) Takeover(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	c, err := dial(ctx, t, p)
	if err != nil {
		return protocol.CodecConn{}, err
	}
	return protocol.TakeOver(c, &Codec{}, nil)
}

func dial(ctx context.Context, t protocol.Target, p *protocol.Program) (net.Conn, error) {
	for i := range p.Requests {
		switch r := &p.Requests[i]; r.Verb {
		case protocol.Call, protocol.Begin, protocol.Commit, protocol.Rollback:
		default:
			return nil, protocol.Bad("%s", "echo knows calls and transactions only: statement "+strconv.Quote(r.Name)+" is neither")
		}
	}
	read := protocol.OptionsOf("echo", t)
	sndbuf := read.Int("sndbuf", 0, 1, 1<<30)
	if refused := read.Done(); refused != nil {
		return nil, refused
	}
	c, err := socket.Dial(ctx, t.Address)
	if err == nil && sndbuf > 0 {
		err = c.(*net.TCPConn).SetWriteBuffer(int(sndbuf))
	}
	if err != nil {
		return nil, protocol.Unconnected(err)
	}
	return c, nil
}

// conn is a session of the library tier.
type conn struct {
	net   net.Conn
	codec Codec
	out   []byte
	in    [Size]byte
}

// Do sends one frame and reads its echo; see driver.Conn.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	out, encodeErr := c.codec.Encode(c.out[:0], req, args)
	c.out = out
	if encodeErr != nil {
		reply.Fail(encodeErr)
		return
	}
	stop := context.AfterFunc(ctx, func() { c.net.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if n, err := c.net.Write(c.out); err != nil {
		c.broken(ctx, req, reply, err, n > 0)
		return
	}
	if _, err := io.ReadFull(c.net, c.in[:]); err != nil {
		c.broken(ctx, req, reply, err, true)
		return
	}
	c.codec.Scan(c.in[:], req, reply)
}

func (c *conn) broken(ctx context.Context, req *protocol.Request, reply *protocol.Reply, err error, sent bool) {
	switch {
	case sent:
		reply.Fail(protocol.Unanswered(ctx, req, err, ""))
	case protocol.IsLate(ctx, err):
		reply.Fail(protocol.Late(nil))
	default:
		reply.Fail(protocol.Unconnected(err))
	}
}

// Close closes the connection.
func (c *conn) Close() error { return c.net.Close() }
