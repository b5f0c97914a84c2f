package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"

	"brunt/internal/protocol"
	"brunt/internal/protocol/http2"
	"brunt/internal/protocol/http2/rpc"
	"brunt/internal/protocol/socket"
)

// codec encodes calls and scans answers of one session. It makes unary gRPC calls over HTTP/2 without TLS, each on its
// own stream. Several may be in flight. The tag of a request is the number of its stream.
type codec struct {
	rpc.Conn
	requests  requests
	templates []recordTemplate
	revision  int64 // in the last answer to a command

	current *protocol.Request // the request whose answer is being read
	reply   *protocol.Reply   // its reply

	body, value, scratch []byte
}

var (
	_ protocol.Codec       = (*codec)(nil)
	_ protocol.Tagged      = (*codec)(nil)
	_ protocol.IdleScanner = (*codec)(nil)
	_ protocol.Dropper     = (*codec)(nil)
)

func newCodec(requests requests, o options, authority string) *codec {
	c := &codec{requests: requests}
	c.Init(c, newHeaders(authority))
	for i := range requests {
		c.templates = append(c.templates, newTemplate(&requests[i], o))
	}
	return c
}

// Takes reports whether the codec can run the program over this target.
func (d *Driver) Takes(t protocol.Target, p *protocol.Program) (why string, ok bool) {
	requests, o, refused := prepare(t, p)
	_, secure := host(t)
	switch {
	case refused != nil:
		return refused.Text, false
	case secure != nil:
		return "TLS needs the library tier", false
	case t.User != "":
		return "etcd's users need the library tier", false
	case !o.codec:
		return "option codec=off", false
	}
	for i := range requests {
		if p.Requests[i].Verb == protocol.Batch {
			return "batches need the library tier", false
		}
		if c := requests[i].command; c != nil && c.method >= methodWatch {
			return "watches need the library tier", false
		}
	}
	return "", true
}

// Open connects and exchanges settings.
func (d *Driver) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	requests, o, refused := prepare(t, p)
	if refused != nil {
		return protocol.CodecConn{}, refused
	}
	address, _ := host(t)
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	nc, err := socket.Dial(ctx, address)
	if err != nil {
		return protocol.CodecConn{}, protocol.Unconnected(err)
	}
	authority := address
	if socket.Network(address) == "unix" {
		authority = "localhost"
	}
	c := newCodec(requests, o, authority)
	extra, err := c.shakeHands(ctx, nc)
	if err != nil {
		nc.Close()
		return protocol.CodecConn{}, protocol.Unconnected(socket.Explain(ctx, address, err))
	}
	return protocol.CodecConn{Net: nc, Codec: c, Extra: extra}, nil
}

// shakeHands exchanges settings.
func (c *codec) shakeHands(ctx context.Context, nc net.Conn) (extra []byte, err error) {
	extra, err = c.Greet(ctx, nc)
	if wrong, ok := errors.AsType[http2.Mismatch](err); ok {
		return nil, fmt.Errorf(
			"it doesn't speak HTTP/2 as etcd does (%s); is this etcd's port for clients, and without TLS?", string(wrong))
	}
	return extra, err
}
