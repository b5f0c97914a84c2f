package echo

import (
	"context"
	"net"
	"strconv"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/socket"
)

// Driver is the protocol "echo". Its only option is "sndbuf", the size of the socket's send buffer in bytes.
type Driver struct{}

var (
	_ protocol.CodecDriver = Driver{}
	_ protocol.Codec       = (*Codec)(nil)
)

// Name returns "echo".
func (Driver) Name() string { return "echo" }

// Dial opens a connection for use by a goroutine.
func (d Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	return blocking.Dial(ctx, d, t, p)
}

// Describe reports an echo server if the server accepts a connection.
func (Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	c, err := dial(ctx, t, &protocol.Program{})
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	c.Close()
	return protocol.ServerInfo{Product: "brunt echo"}, nil
}

// Takes reports that the codec can run every program, over plain text.
func (Driver) Takes(t protocol.Target, _ *protocol.Program) (why string, ok bool) {
	if t.TLS != nil {
		return "echo has no TLS", false
	}
	return "", true
}

// Open connects.
func (Driver) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	c, err := dial(ctx, t, p)
	if err != nil {
		return protocol.CodecConn{}, err
	}
	return protocol.CodecConn{Net: c, Codec: &Codec{}}, nil
}

func dial(ctx context.Context, t protocol.Target, p *protocol.Program) (net.Conn, error) {
	for i := range p.Requests {
		switch r := &p.Requests[i]; r.Verb {
		case protocol.Call, protocol.Begin, protocol.Commit, protocol.Rollback:
		default:
			return nil, protocol.Bad("%s",
				"echo knows calls and transactions only: statement "+strconv.Quote(r.Name)+" is neither")
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
