package iproto

import (
	"context"
	"slices"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
)

// Bare opens a connection within Target.ConnectTimeout for requests whose bodies the caller encodes: Request.ID
// is the request type, the only argument is the body, and the reply's only captured value is the body of the
// answer. The request's verb and text determine what it may have done if it isn't answered.
func Bare(ctx context.Context, t protocol.Target) (protocol.CodecConn, *protocol.Error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	l, failure := dialLink(ctx, t)
	if failure != nil {
		return protocol.CodecConn{}, failure
	}
	l.conn.SetDeadline(time.Time{})
	extra, _ := l.in.Peek(l.in.Buffered())
	return protocol.CodecConn{Net: l.conn, Codec: &bareCodec{sent: l.sync}, Extra: slices.Clone(extra)}, nil
}

// Ping returns a request for Bare connections that every server answers at once.
func Ping() *protocol.Request { return &protocol.Request{ID: int(typePing), Verb: protocol.Read} }

// bareCodec sends bodies unchanged.
type bareCodec struct {
	sent, turn uint64
	inFlight   int // requests that were encoded and not answered
}

var _ protocol.Tagged = (*bareCodec)(nil)

// Encode appends a header and the body. Without an argument, the body is an empty map.
func (c *bareCodec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	at := len(dst)
	c.sent = nextSync(c.sent, c.inFlight == 0)
	c.turn = c.sent
	c.inFlight++
	dst = appendHeader(dst, byte(req.ID), c.sent)
	if len(args) == 0 {
		dst = msgpack.AppendMap(dst, 0)
	} else {
		dst = append(dst, args[0].B...)
	}
	setLength(dst, at)
	return dst, nil
}

// Tag returns the sync of the last request.
func (c *bareCodec) Tag() uint64 { return c.sent }

// Turn sets the sync of the answer to scan next.
func (c *bareCodec) Turn(sync uint64) { c.turn = sync }

// Answers returns the sync of the answer at the start of buf.
func (c *bareCodec) Answers(buf []byte) (sync uint64, ok bool) {
	p, ok := cutPacket(buf)
	return p.sync, ok && p.isAnswer()
}

// Scan consumes an answer as a whole.
func (c *bareCodec) Scan(buf []byte, _ *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	for {
		p, ok := cutPacket(buf[n:])
		switch {
		case !ok:
			reply.Fail(protocolError("an answer makes no sense"))
			return len(buf), true, 0
		case p.size == 0 && n > 0:
			return n, false, 0
		case p.size == 0:
			return 0, false, p.need
		case !p.isAnswer():
			n += p.size
			continue
		case p.sync != c.turn && n > 0:
			return n, false, 0
		case p.sync != c.turn:
			reply.Fail(protocolError("an answer came to a request that wasn't sent"))
			return len(buf), true, 0
		}
		reply.Reset(1)
		reply.BytesIn = int64(p.size)
		if failure := refusal(p.code, p.body); failure != nil {
			reply.Fail(failure)
		} else {
			reply.Captured[0].Kind, reply.Captured[0].B = gen.Bytes, append(reply.Captured[0].B[:0], p.body...)
		}
		c.inFlight--
		return n + p.size, true, 0
	}
}
