package grpc

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/http2"
	"brunt/internal/protocol/http2/rpc"
)

// codec makes the calls of one session. Several may be in flight, each on its own stream.
type codec struct {
	rpc.Conn
	plan *prepared

	current *protocol.Request // the request whose answer is being read
	reply   *protocol.Reply   // its reply
	paces   []pace
	now     func() time.Time // the clock of paces

	body, fields, scratch, plain []byte
	pack                         *gzip.Writer
	packed                       bytes.Buffer
	unpack                       *gzip.Reader
	packedIn                     bytes.Reader

	began time.Time // of the clock that times calls
}

// timeNs is a clock in ns that nobody sets back. It is above 0.
func (c *codec) timeNs() int64 { return int64(time.Since(c.began)) + 1 }

var (
	_ protocol.Codec       = (*codec)(nil)
	_ protocol.Tagged      = (*codec)(nil)
	_ protocol.IdleScanner = (*codec)(nil)
	_ protocol.Speaker     = (*codec)(nil)
	_ protocol.Dropper     = (*codec)(nil)
	_ protocol.Drainer     = (*codec)(nil)
	_ protocol.Stateless   = (*codec)(nil)
	_ protocol.Pacer       = (*codec)(nil)
)

func newCodec(p *prepared) *codec {
	c := &codec{plan: p, now: time.Now, began: time.Now()}
	c.Init(c, http2.NewHeaders(p.lists))
	return c
}

// Stateless implements protocol.Stateless.
func (*codec) Stateless() bool { return true }

// Encode appends a call with all its messages, or with the first if the others are due later.
func (c *codec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	k := &c.plan.calls[req.ID]
	if refused := protocol.Arguments(args, k.params); refused != nil {
		return dst, refused
	}
	if c.Draining() {
		return dst, protocol.Unconnected(errLeaving)
	}
	c.body = c.body[:0]
	if k.paced && k.params > 0 {
		for i := range k.messages { // what doesn't fit isn't found in the midst of the stream
			if refused := c.message(k, i, args); refused != nil {
				return dst, refused
			}
		}
		c.body = c.body[:0]
	}
	first := k.send
	if k.paced {
		first = min(first, 1)
	}
	for i := range first {
		if refused := c.message(k, i, args); refused != nil {
			return dst, refused
		}
	}
	c.fields = c.fields[:0]
	for i := range k.metadata {
		f := &k.metadata[i]
		c.scratch = f.text.Plain(c.scratch[:0], args)
		value := c.scratch
		if f.binary {
			c.plain = base64.RawStdEncoding.AppendEncode(c.plain[:0], value)
			value = c.plain
		} else if bytes.ContainsAny(value, "\r\n\x00") {
			return dst, protocol.Bad("a value for the metadata %s holds a line break or a zero byte", f.name)
		}
		c.fields = http2.AppendField(c.fields, f.name, value)
	}
	dst, s := c.Start(dst, req.ID, c.fields, c.body, first < k.send)
	if k.paced {
		c.begin(s, k, args, first)
	}
	if k.streamed || req.RPC.Deadline > 0 {
		c.Stamp(c.timeNs())
	}
	return dst, nil
}

// message appends message i of a call to c.body.
func (c *codec) message(k *call, i int, args []gen.Value) (refused *protocol.Error) {
	start := len(c.body)
	b, wrong := appendParts(append(c.body, 0, 0, 0, 0, 0), k.messages[i%len(k.messages)], args, &c.scratch)
	c.body = b
	if wrong != nil {
		return wrong.refuse(args)
	}
	if c.plan.options.gzip {
		c.compress(start)
	}
	rpc.Seal(c.body, start, c.plan.options.gzip)
	return nil
}

var errLeaving = fmt.Errorf("the server takes no further requests over this connection")

// refuse returns the failure of an argument that doesn't fit its field.
func (p *part) refuse(args []gen.Value) *protocol.Error {
	if p.whole != nil {
		text := p.text.Plain(nil, args)
		_, err := fromJSON(p.whole, p.types, text)
		return protocol.Bad("the message %q doesn't fit %s: %v", protocol.Line(string(text), ""), p.whole.FullName(), err)
	}
	what := p.kind.String()
	if p.time {
		what = "google.protobuf.Timestamp, which needs a datetime"
	}
	return protocol.Bad("%s: a parameter doesn't fit a field of type %s: %q", p.name, what,
		protocol.Line(string(p.text.Plain(nil, args)), ""))
}

// compress replaces the message that c.body[start:] holds after its prefix.
func (c *codec) compress(start int) {
	c.packed.Reset()
	if c.pack == nil {
		c.pack, _ = gzip.NewWriterLevel(&c.packed, gzip.DefaultCompression)
	} else {
		c.pack.Reset(&c.packed)
	}
	_, _ = c.pack.Write(c.body[start+rpc.MessageHead:]) // writing to a bytes.Buffer can't fail
	_ = c.pack.Close()
	c.body = append(c.body[:start+rpc.MessageHead], c.packed.Bytes()...)
}

// Scan reads the answer to req.
func (c *codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	c.current, c.reply = req, reply
	s, id := c.Stream, c.ID
	n, done, need = c.Conn.Scan(buf, reply, "the answer isn't gRPC: ")
	if done && len(c.paces) > 0 {
		c.paced(s, id, reply)
	}
	return n, done, need
}

// Streams implements rpc.Handler.
func (c *codec) Streams() bool { return c.plan.calls[c.current.ID].streams }

// Message implements rpc.Handler.
func (c *codec) Message(message []byte, compressed bool) (enough bool, violation protocol.Violation) {
	k := &c.plan.calls[c.current.ID]
	if compressed {
		if message, violation = c.uncompress(message); violation != "" {
			return false, violation
		}
	}
	if c.reply.Rows++; c.reply.Rows == 1 {
		for i := range k.captures {
			k.captures[i].take(message, &c.reply.Captured[i])
		}
	}
	if k.streamed {
		now := c.timeNs()
		c.reply.StreamMessage(now - c.Stream.At)
		c.Stream.At = now
	}
	return k.receive > 0 && c.reply.Rows >= k.receive, ""
}

func (c *codec) uncompress(message []byte) (plain []byte, violation protocol.Violation) {
	if c.Encoding != "gzip" || !c.plan.options.gzip {
		return nil, "the message is compressed, which we didn't ask for"
	}
	c.packedIn.Reset(message)
	var err error
	if c.unpack == nil {
		c.unpack, err = gzip.NewReader(&c.packedIn)
	} else {
		err = c.unpack.Reset(&c.packedIn)
	}
	if err != nil {
		return nil, "the message isn't compressed by gzip as it says"
	}
	c.plain = c.plain[:0]
	for err == nil {
		if len(c.plain) == cap(c.plain) {
			c.plain = append(c.plain, 0)[:len(c.plain)]
		}
		if len(c.plain) > protocol.MostPending {
			return nil, "the message is too long"
		}
		var n int
		n, err = c.unpack.Read(c.plain[len(c.plain):cap(c.plain)])
		c.plain = c.plain[:len(c.plain)+n]
	}
	if err != io.EOF {
		return nil, "the message isn't compressed by gzip as it says"
	}
	return c.plain, ""
}

// late reports whether the deadline of the call whose answer is being read is over.
func (c *codec) late() bool {
	d := c.current.RPC.Deadline
	return d > 0 && c.timeNs()-c.Began >= int64(d)
}

// cancelledLate is what servers mean that cancel a call, by a reset or a status, because its deadline is over: their
// timer for the stream and that of the method run at the same time, and either may be first.
const cancelledLate = "the server cancelled the call, whose deadline is over"

// Reset implements rpc.Handler.
func (c *codec) Reset(cancelled bool, failure *protocol.Error) {
	if cancelled && c.late() {
		failure = statusFailure(c.current, codes.DeadlineExceeded, cancelledLate)
	}
	c.fail(failure)
}

// Status implements rpc.Handler.
func (c *codec) Status(code codes.Code, text string) {
	if code == codes.Canceled && c.late() {
		code, text = codes.DeadlineExceeded, cancelledLate
	}
	c.fail(statusFailure(c.current, code, protocol.Line(text, "")))
}

// fail makes the reply a failure. What was captured before doesn't count.
func (c *codec) fail(failure *protocol.Error) {
	rows, captured := c.reply.Rows, c.reply.Captured
	*c.reply = protocol.Reply{Captured: captured}
	c.reply.Reset(len(captured))
	c.reply.Rows = rows
	c.reply.Fail(failure)
}

// statusFailure classifies a status. Its code is the status' name.
func statusFailure(req *protocol.Request, code codes.Code, text string) *protocol.Error {
	e := &protocol.Error{Class: protocol.Server, Code: code.String(), Text: text}
	switch code {
	case codes.DeadlineExceeded:
		e.Class = protocol.Late(req).Class
	case codes.Unavailable, codes.Aborted:
		e.Class = protocol.Retryable
	}
	if e.Text == "" {
		e.Text = "without a message"
	}
	return e
}
