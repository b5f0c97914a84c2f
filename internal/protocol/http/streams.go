package http

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/http2"
	"brunt/internal/protocol/socket"
)

// streams sends the requests of one session over HTTP/2 (RFC 9113). Several may be in flight, each on its own stream.
type streams struct {
	http2.Conn
	plan    *prepared
	heads   []head   // shared with other sessions
	seen    []uint32 // number of answers so far, by request
	curious bool     // no answer has arrived yet
	server  string   // what the first answer's Server says

	current *request // whose answer is being read
	id      int      // its number
	reply   *protocol.Reply

	fields, body, scratch []byte
}

var (
	_ protocol.Codec       = (*streams)(nil)
	_ protocol.Tagged      = (*streams)(nil)
	_ protocol.IdleScanner = (*streams)(nil)
	_ protocol.Speaker     = (*streams)(nil)
	_ protocol.Dropper     = (*streams)(nil)
	_ protocol.Drainer     = (*streams)(nil)
	_ protocol.Stateless   = (*streams)(nil)
)

// head is what a request sends before its body.
type head struct {
	fixed   []hpack.HeaderField
	varying []field // those that depend on arguments, and those that follow them
}

// hopByHop are the fields that HTTP/2 doesn't have (RFC 9113, section 8.2.2), and Host, which is :authority.
var hopByHop = []string{"connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}

// headOf returns the fields of a request. Those that begin with a colon come first (RFC 9113, section 8.3).
func headOf(p *prepared, r *request) (h head) {
	add := func(name string, value template.Template) {
		if text, ok := value.Fixed(); ok && len(h.varying) == 0 {
			h.fixed = append(h.fixed, hpack.HeaderField{Name: name, Value: string(text)})
		} else {
			h.varying = append(h.varying, field{name, value})
		}
	}
	text := func(s string) template.Template { return template.Literal([]byte(s)) }
	add(":method", text(r.web.Method))
	add(":scheme", text(r.origin.scheme))
	for i := range r.fields {
		if strings.EqualFold(r.fields[i].name, "host") {
			add(":authority", r.fields[i].value)
		}
	}
	add(":path", r.path)
	for i := range r.fields {
		if name := strings.ToLower(r.fields[i].name); !slices.Contains(hopByHop, name) {
			add(name, r.fields[i].value)
		}
	}
	if p.options.compress && !r.has("Accept-Encoding") {
		add("accept-encoding", text("gzip"))
	}
	if body, fixed := r.body.Fixed(); r.sendsBody && fixed && !r.chunked {
		add("content-length", text(strconv.Itoa(len(body))))
	}
	return h
}

func newStreams(p *prepared) *streams {
	c := &streams{plan: p, heads: p.heads(), seen: make([]uint32, len(p.requests)), curious: true}
	lists, watch := make([][]hpack.HeaderField, len(p.requests)), false
	for i := range p.requests {
		lists[i] = c.heads[i].fixed
		watch = watch || len(p.requests[i].captures) > 0
	}
	c.Init(c, http2.NewHeaders(lists))
	if watch {
		c.Watch(c.capture)
	}
	return c
}

// openStreams opens a connection to a server that is known to speak HTTP/2.
func (d *Driver) openStreams(ctx context.Context, t protocol.Target, p *prepared) (protocol.CodecConn, error) {
	nc, refused := d.connect(ctx, t, []string{"h2"})
	if refused != nil {
		return protocol.CodecConn{}, refused
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	c := newStreams(p)
	extra, err := c.Greet(ctx, nc)
	if err == nil {
		return protocol.CodecConn{Net: nc, Codec: c, Extra: extra}, nil
	}
	nc.Close()
	if wrong, ok := errors.AsType[http2.Mismatch](err); ok {
		err = fmt.Errorf("%w; leave option http2=prior out for HTTP/1.1", wrong)
	}
	return protocol.CodecConn{}, protocol.Unconnected(socket.Explain(ctx, t.Address, err))
}

// multiplexes returns why the requests of a program can't be sent by streams.
func (p *prepared) multiplexes() (why string, ok bool) {
	if p.options.parts {
		return "the parts of a request's time over HTTP/2 need the library tier", false
	}
	return "", true
}

// Stateless implements protocol.Stateless.
func (*streams) Stateless() bool { return true }

var errLeaving = errors.New("the server takes no further requests over this connection")

// Encode appends a request.
func (c *streams) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	r, h := &c.plan.requests[req.ID], &c.heads[req.ID]
	if refused := protocol.Arguments(args, r.params); refused != nil {
		return dst, refused
	}
	if c.Draining() {
		return dst, protocol.Unconnected(errLeaving)
	}
	c.fields = c.fields[:0]
	for i := range h.varying {
		f, escape := &h.varying[i], template.Escape(checkField)
		if f.name == ":path" {
			escape = escapePath
		}
		value, ok := f.value.Append(c.scratch[:0], args, escape)
		if c.scratch = value; !ok {
			return dst, badField(f.name)
		}
		c.fields = http2.AppendField(c.fields, f.name, value)
	}
	body, fixed := r.body.Fixed()
	if r.sendsBody && !fixed {
		c.body, _ = r.body.Append(c.body[:0], args, nil)
		if body = c.body; !r.chunked {
			c.scratch = strconv.AppendInt(c.scratch[:0], int64(len(body)), 10)
			c.fields = http2.AppendField(c.fields, "content-length", c.scratch)
		}
	}
	return c.Append(dst, req.ID, c.fields, body), nil
}

// Scan reads the answer to req.
func (c *streams) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	c.current, c.id, c.reply = &c.plan.requests[req.ID], req.ID, reply
	return c.Conn.Scan(buf, reply, "the answer isn't HTTP/2: ")
}

// Headers implements http2.Handler. The stream's Count is the status of the answer, and its At the hash of the body so
// far.
func (c *streams) Headers(f *http2.Fields, last bool) (finished bool, violation protocol.Violation) {
	if c.Count != 0 { // trailers
		if !last {
			return false, "headers in the midst of an answer"
		}
		return c.finish(), ""
	}
	status, err := strconv.Atoi(f.Status)
	switch {
	case err != nil || status < 100 || status > 999:
		return false, "an answer without a status"
	case status < 200 && last:
		return false, "the stream ended before the answer"
	case status < 200:
		return false, ""
	}
	c.Count = int64(status)
	if every := c.current.web.HashEvery; every > 0 {
		if c.seen[c.id]%every == 0 {
			hash := uint64(fnvOffset)
			c.At = int64(hash)
		}
		c.seen[c.id]++
	}
	if last {
		return c.finish(), ""
	}
	return false, ""
}

// capture keeps a field of an answer's header.
func (c *streams) capture(h hpack.HeaderField) {
	if c.curious && h.Name == "server" {
		c.server = h.Value
	}
	for i := range c.current.captures {
		k := &c.current.captures[i]
		if v := &c.reply.Captured[i]; v.Kind == gen.Null && h.Name == k.name {
			template.SetText(v, k.kind, []byte(h.Value))
		}
	}
}

// Data implements http2.Handler.
func (c *streams) Data(data []byte, last bool) (finished bool, violation protocol.Violation) {
	if c.Count == 0 {
		return false, "data came before headers"
	}
	c.reply.Parts.BodyBytes += int64(len(data))
	if c.At != 0 {
		c.At = int64(fnv1a(uint64(c.At), data))
	}
	if last {
		return c.finish(), ""
	}
	return false, ""
}

// finish fills in the reply to an answer that is complete.
func (c *streams) finish() bool {
	status := int(c.Count)
	c.reply.Status = status
	c.reply.BadHash = c.At != 0 && uint64(c.At) != c.current.web.Hash
	if c.curious {
		c.curious = false
		c.plan.heard.note(c.current.origin.address, c.server, "HTTP/2")
	}
	if !c.plan.options.isGood(status) {
		c.reply.Failure = statusFailure(status, false)
	}
	return true
}

// Reset implements http2.Handler.
func (c *streams) Reset(_ h2.ErrCode, failure *protocol.Error) { c.reply.Fail(failure) }
