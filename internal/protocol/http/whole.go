package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// checkRaw reports what can't be done with requests that are sent as they are.
func (r *request) checkRaw(o *options) error {
	switch {
	case o.proxy || o.follow > 0 || o.lazy:
		return errors.New("a whole request is sent as it is: proxy, redirects and lazy have no meaning for it")
	case r.web.HashEvery > 0:
		return errors.New("the answers to whole requests have no expected hash")
	}
	return nil
}

// keep adds a capture of an answer's head or body, or of the list of answers. The head is the header lines, each ended
// by a line break, and an empty line. The list has a line for each answer: its status, and where its head and its body
// end in the captured text.
func (r *request) keep(k capture, name string) error {
	r.captures = append(r.captures, capture{from: k.from, kind: k.kind})
	switch k.from {
	case fromHead:
		r.keepsHead = len(r.captures)
	case fromBody:
		r.keepsBody = len(r.captures)
	case fromAnswers:
		r.lists = len(r.captures)
	default:
		return fmt.Errorf("capture %q: of whole requests, only head, body and answers are captured", name)
	}
	return nil
}

// keepText appends text to a captured value.
func keepText(v *gen.Value, text []byte) {
	if v.Kind == gen.Null {
		v.B = v.B[:0]
	}
	v.Kind = gen.String
	v.B = append(v.B, text[:min(len(text), maxCaptured-len(v.B))]...)
}

// bundle is what a codec knows of the requests that were sent as one.
type bundle struct {
	answers int    // that are still to come
	heads   []bool // of these requests, whether they are HEAD
}

// head reports whether the answer that is being read has no body.
func (b *bundle) head() bool { return len(b.heads) > 0 && b.heads[0] }

// bundleOf takes the requests in a text apart.
func bundleOf(text []byte) (b bundle, err error) {
	heads := false
	for rest := text; len(rest) > 0; b.answers++ {
		n, err := RequestLength(rest)
		if err != nil {
			return bundle{}, err
		}
		head := bytes.HasPrefix(rest, []byte("HEAD "))
		if heads = heads || head; heads {
			for len(b.heads) < b.answers {
				b.heads = append(b.heads, false)
			}
			b.heads = append(b.heads, head)
		}
		rest = rest[n:]
	}
	if b.answers == 0 {
		return b, errors.New("the request is empty")
	}
	return b, nil
}

// encodeWhole appends a request, or several, that is sent as it is.
func (c *codec) encodeWhole(dst []byte, r *request, e *encoded, args []gen.Value) ([]byte, *protocol.Error) {
	if e.fixed != nil {
		c.whole = append(c.whole, e.whole)
		return append(dst, e.fixed...), nil
	}
	from := len(dst)
	dst, _ = r.body.Append(dst, args, nil)
	whole, err := bundleOf(dst[from:])
	if err != nil {
		return dst[:from], protocol.Bad("%v", err)
	}
	c.whole = append(c.whole, whole)
	return dst, nil
}

// more prepares for the answer to the next of several requests that were sent as one. It reports whether there is one.
func (c *codec) more(r *request, id int, reply *protocol.Reply) bool {
	if r.lists > 0 {
		c.list(r, reply)
	}
	b := &c.whole[0]
	b.answers--
	if len(b.heads) > 0 {
		b.heads = b.heads[1:]
	}
	if left := b.answers; left <= 0 || reply.Fatal {
		c.whole = slices.Delete(c.whole, 0, 1)
		if left > 0 && reply.Class == protocol.OK {
			reply.Failure = protocol.Failure{Class: protocol.Connect, Fatal: true,
				Text: "the server closed the connection before it had answered all requests that were sent together"}
		}
		return false
	}
	c.begin(r, id)
	return true
}

// list adds a line to the list of answers.
func (c *codec) list(r *request, reply *protocol.Reply) {
	head, body := 0, 0
	if r.keepsHead > 0 {
		head = len(reply.Captured[r.keepsHead-1].B)
	}
	if r.keepsBody > 0 {
		body = len(reply.Captured[r.keepsBody-1].B)
	}
	keepText(&reply.Captured[r.lists-1], fmt.Appendf(nil, "%d %d %d\n", reply.Status, head, body))
}

// RequestLength returns the length in bytes of the first of the requests in text, in HTTP/1 (RFC 9112, 3).
func RequestLength(text []byte) (int, error) {
	head, _, ok := bytes.Cut(text, []byte("\r\n\r\n"))
	if !ok {
		return 0, errors.New("incomplete request")
	}
	line, fields, _ := bytes.Cut(head, []byte("\r\n"))
	method, rest, _ := bytes.Cut(line, []byte(" "))
	path, version, _ := bytes.Cut(rest, []byte(" "))
	if !isToken(string(method)) || len(path) == 0 || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return 0, fmt.Errorf("%q isn't the first line of a request", protocol.Line(string(line), ""))
	}
	length := 0
	for field := range bytes.SplitSeq(fields, []byte("\r\n")) {
		name, value, _ := bytes.Cut(field, []byte(":"))
		switch {
		case foldEqual(name, "content-length"):
			n, err := strconv.ParseUint(string(trim(value)), 10, 31)
			if err != nil {
				return 0, fmt.Errorf("the request's Content-Length %q isn't a number", protocol.Line(string(value), ""))
			}
			length = int(n)
		case foldEqual(name, "transfer-encoding"):
			return 0, errors.New("a request with a Transfer-Encoding can't be sent as it is; give its Content-Length")
		}
	}
	all := len(head) + len("\r\n\r\n") + length
	if all > len(text) {
		return 0, errors.New("incomplete request")
	}
	return all, nil
}

// stopwatch measures the parts of the time of a request.
type stopwatch struct {
	running       bool
	sentAt, dueAt time.Time // when it was encoded, and when its answer began
}

func (s *stopwatch) begin() { *s = stopwatch{running: true, sentAt: time.Now()} }

func (s *stopwatch) first() {
	if s.dueAt.IsZero() {
		s.dueAt = time.Now()
	}
}

func (s *stopwatch) end(p *protocol.Parts) {
	if !s.dueAt.IsZero() {
		p.WaitNs, p.ReadNs = int64(s.dueAt.Sub(s.sentAt)), int64(time.Since(s.dueAt))
	}
}

// oneshot is a session that opens a connection for each request that is sent as it is.
type oneshot struct {
	driver *Driver
	target protocol.Target
	plan   *prepared
	next   net.Conn // the connection for the first request
	took   protocol.Parts
}

// openOneshot opens such a session, and the connection of its first request.
func (d *Driver) openOneshot(ctx context.Context, t protocol.Target, p *prepared) (protocol.Conn, error) {
	f := &oneshot{driver: d, target: t, plan: p}
	if refused := f.connect(ctx); refused != nil {
		return nil, refused
	}
	return f, nil
}

func (f *oneshot) connect(ctx context.Context) *protocol.Error {
	began := time.Now()
	c, refused := f.driver.connect(ctx, f.target, []string{"http/1.1"})
	f.next, f.took.ConnectNs = c, int64(time.Since(began))
	return refused
}

// Do implements protocol.Conn.
func (f *oneshot) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	if f.next == nil {
		if refused := f.connect(ctx); refused != nil {
			reply.Reset(len(req.Capture))
			refused.Fatal = false
			reply.Fail(refused)
			return
		}
	}
	c := blocking.New(protocol.CodecConn{Net: f.next, Codec: newCodec(f.plan)})
	f.next = nil
	c.Do(ctx, req, args, reply)
	c.Close()
	reply.Fatal = false
	reply.Parts.ConnectNs = f.took.ConnectNs
}

// Close implements protocol.Conn.
func (f *oneshot) Close() error {
	if f.next == nil {
		return nil
	}
	err := f.next.Close()
	f.next = nil
	return err
}

// Stateless implements protocol.Stateless.
func (*oneshot) Stateless() bool { return true }
