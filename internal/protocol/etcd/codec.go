package etcd

import (
	"context"
	"fmt"
	"net"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// codec encodes calls and scans answers of one session. It makes unary gRPC calls over HTTP/2 without TLS, each on its
// own stream (RFC 9113; gRPC over HTTP/2). Several may be in flight. The tag of a request is the number of its stream.
type codec struct {
	requests  requests
	templates []recordTemplate
	headers   *headers

	out              *output // frames of the request being encoded
	control          *output // frames to send to the server before the next request
	nextStream       uint32
	streamWindow     int64 // initial window of each stream that we send on, in bytes
	connectionWindow int64 // current send window of the connection, in bytes
	frameLimit       int   // maximum size of a frame that the server accepts, in bytes
	unacknowledged   int64 // bytes of data received and not yet returned to our own window

	greeted, acknowledged bool              // handshake: the server's settings have arrived; it has acknowledged ours
	current               *protocol.Request // the request whose answer is being read
	leaving               bool              // the server accepts no further streams
	revision              int64             // in the last answer to a command

	sent    uint32 // the stream of the request that was encoded last
	answers map[uint32]*answer
	*answer           // the answer being read
	idle    *answer   // stands for it while there is none
	unused  []*answer // of earlier requests
	headerBlock

	body, value, scratch []byte
}

var (
	_ protocol.Codec  = (*codec)(nil)
	_ protocol.Tagged = (*codec)(nil)
)

func newCodec(requests requests, o options, authority string) *codec {
	c := &codec{requests: requests, answers: map[uint32]*answer{}, answer: &answer{}, idle: &answer{},
		headers: newHeaders(authority), out: newOutput(), control: newOutput(), nextStream: 1,
		streamWindow: standardWindow, connectionWindow: standardWindow, frameLimit: frameLimit}
	for i := range requests {
		c.templates = append(c.templates, newTemplate(&requests[i], o))
	}
	c.decoder = hpack.NewDecoder(0, c.header)
	c.decoder.SetMaxStringLength(frameLimit)
	return c
}

// begin opens the stream of the next request.
func (c *codec) begin() {
	if len(c.unused) == 0 {
		c.unused = append(c.unused, &answer{})
	}
	last := len(c.unused) - 1
	a := c.unused[last]
	c.unused = c.unused[:last]
	*a = answer{stream: c.nextStream, partial: a.partial[:0]}
	c.answers[a.stream], c.sent = a, a.stream
	c.nextStream += 2
	if len(c.answers) == 1 {
		c.answer = a
	}
}

// finish forgets the answer that has been read.
func (c *codec) finish() {
	if c.stream == 0 {
		return
	}
	delete(c.answers, c.stream)
	c.unused = append(c.unused, c.answer)
	c.answer = c.idle
	for _, a := range c.answers {
		c.answer = a
		break
	}
}

// Tag implements protocol.Tagged.
func (c *codec) Tag() uint64 { return uint64(c.sent) }

// Turn implements protocol.Tagged.
func (c *codec) Turn(stream uint64) {
	if c.stream != uint32(stream) {
		if a := c.answers[uint32(stream)]; a != nil {
			c.answer = a
		}
	}
}

// Answers implements protocol.Tagged.
func (c *codec) Answers(buf []byte) (stream uint64, ok bool) {
	f, size, _, violation := cut(buf)
	if size == 0 || violation != "" || c.answers[f.StreamID] == nil {
		return 0, false
	}
	return uint64(f.StreamID), true
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
	c := newCodec(requests, o, address)
	extra, err := c.shakeHands(ctx, nc)
	if err != nil {
		nc.Close()
		return protocol.CodecConn{}, protocol.Unconnected(socket.Explain(ctx, address, err))
	}
	return protocol.CodecConn{Net: nc, Codec: c, Extra: extra}, nil
}

// shakeHands exchanges settings. It returns when the server has acknowledged ours, so that the server's later
// headers don't depend on anything that it sent before.
func (c *codec) shakeHands(ctx context.Context, nc net.Conn) (extra []byte, err error) {
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c.control.greet()
	if _, err := nc.Write(c.control.b); err != nil {
		return nil, err
	}
	c.control.b = c.control.b[:0]
	var buf []byte
	piece := make([]byte, 4<<10)
	for !c.greeted || !c.acknowledged {
		n, err := nc.Read(piece)
		if err != nil {
			return nil, err
		}
		buf = append(buf, piece[:n]...)
		for !c.greeted || !c.acknowledged {
			f, size, _, violation := cut(buf)
			if violation == "" && size == 0 {
				break
			}
			if violation == "" {
				violation = c.greet(&f)
			}
			if violation != "" {
				return nil, fmt.Errorf(
					"it doesn't speak HTTP/2 as etcd does (%s); is this etcd's port for clients, and without TLS?", violation)
			}
			buf = buf[size:]
		}
	}
	if _, err := nc.Write(c.control.b); err != nil {
		return nil, err
	}
	c.control.b = c.control.b[:0]
	if !stop() {
		return nil, context.DeadlineExceeded
	}
	return buf, nil
}

// greet processes a frame of the handshake.
func (c *codec) greet(f *frame) (violation protocol.Violation) {
	if !c.greeted && (f.Type != http2.FrameSettings || f.Flags.Has(http2.FlagSettingsAck)) {
		return "it doesn't begin with its settings"
	}
	_, violation = c.take(f, nil, nil)
	if violation == "" && c.leaving {
		violation = "it ended the connection"
	}
	return violation
}
