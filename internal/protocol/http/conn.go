package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

// maxCaptured is the maximum size of a body that captures can read, in bytes.
const maxCaptured = 1 << 20

// conn is a session over net/http: one connection, or one for each origin. Requests are never retried
// automatically.
type conn struct {
	driver    *Driver
	target    protocol.Target
	scheme    string
	plan      *prepared
	transport *http.Transport
	http      *http.ClientConn // nil: the next request opens it
	others    map[origin]*http.ClientConn
	lost      map[origin]bool // origins other than home whose connection was lost and hasn't been reopened
	heard     bool            // the only server's description of itself is known

	seen    []uint32 // number of answers so far, by request
	text    []byte
	body    []byte
	scratch []byte
}

func newConn(d *Driver, t protocol.Target, p *prepared) *conn {
	c := &conn{driver: d, target: t, scheme: d.scheme(t), plan: p, seen: make([]uint32, len(p.requests)),
		scratch: make([]byte, 32<<10)}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!p.options.http1)
	config := &tls.Config{}
	if t.TLS != nil {
		config = t.TLS.Clone()
	}
	c.transport = &http.Transport{
		Protocols: protocols, TLSClientConfig: config, TLSHandshakeTimeout: t.ConnectTime(),
		DisableCompression: !p.options.compress, MaxResponseHeaderBytes: maxHead,
	}
	if p.options.proxy {
		c.transport.Proxy = http.ProxyFromEnvironment
	}
	return c
}

// connect opens the connection to an origin within the target's connect timeout.
func (c *conn) connect(ctx context.Context, to origin) *protocol.Error {
	h, refused := c.reach(ctx, to)
	if refused == nil {
		c.keep(to, h)
	}
	return refused
}

// reach opens a connection without storing it. It is safe for concurrent use.
func (c *conn) reach(ctx context.Context, to origin) (*http.ClientConn, *protocol.Error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.ConnectTime())
	defer cancel()
	h, err := c.transport.NewClientConn(ctx, to.scheme, to.address)
	if err != nil {
		return nil, unconnected(ctx, to.address, err)
	}
	return h, nil
}

// TLSFault is the error code for connections that failed because of TLS.
const TLSFault = "tls"

func unconnected(ctx context.Context, address string, err error) *protocol.Error {
	if fault := tlsFault(address, err); fault != nil {
		return fault
	}
	return protocol.Unconnected(socket.Explain(ctx, address, err))
}

// tlsFault returns the failure if a connection failed because of TLS, otherwise nil.
func tlsFault(address string, err error) *protocol.Error {
	var record tls.RecordHeaderError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &record):
		err = fmt.Errorf("can't connect to %s: the server doesn't speak TLS there", address)
	case errors.As(err, &verification):
		err = fmt.Errorf("can't connect to %s: %w; name its CA or turn verification off", address, verification.Err)
	default:
		return nil
	}
	return protocol.ConnectError(err.Error(), TLSFault, err)
}

// Do sends one request and reads the whole answer. It follows redirects if the options say so.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	r := &c.plan.requests[req.ID]
	out, refused := c.request(ctx, r, args)
	if refused != nil {
		reply.Fail(refused)
		return
	}
	to := r.origin
	for hop := 0; ; hop++ {
		response := c.send(ctx, to, r, req, out, reply)
		if response == nil || hop == c.plan.options.follow {
			return
		}
		if out, to = redirect(ctx, out, response, c.body); out == nil {
			return
		}
		if c.http == nil && to == c.home() || reply.Fatal && to == c.home() {
			// The answer closed the session's own connection, which the redirected request needs.
			c.drop(to)
		}
		in, reopened := reply.BytesIn, reply.Reopened
		reply.Reset(len(req.Capture))
		reply.BytesIn, reply.Reopened = in, reopened
	}
}

// send sends one request and reads its answer. It returns nil if that failed.
func (c *conn) send(ctx context.Context, to origin, r *request, req *protocol.Request, out *http.Request,
	reply *protocol.Reply) *http.Response {
	if h := c.client(to); h != nil && to != c.home() && h.Err() != nil {
		c.shed(to)
	}
	if c.client(to) == nil {
		if refused := c.connect(ctx, to); refused != nil {
			c.lose(to, refused, reply)
			return nil
		}
		if c.lost[to] {
			reply.Reopened = true
			delete(c.lost, to)
		}
	}
	h := c.client(to)
	response, err := h.RoundTrip(out)
	if err == nil {
		err = c.read(r, req.ID, response, reply)
	}
	if err != nil {
		c.lose(to, c.failure(ctx, req, err), reply)
		return nil
	}
	switch {
	case c.plan.options.noReuse:
		c.drop(to)
	case response.Close:
		if reply.Fatal = to == c.home(); !reply.Fatal {
			c.shed(to)
		}
	case spent(h, response):
		c.shed(to)
	}
	if !c.plan.options.isGood(response.StatusCode) {
		reply.Failure = statusFailure(response.StatusCode, reply.Fatal)
	}
	return response
}

// spent reports whether a connection accepts no further request although the server didn't say so. net/http
// closes an HTTP/1 connection if it learns too late that the request was written, as on a busy machine. That is
// decided by the time that the answer has been read, but Err reports it only later; Available shows it at once.
// In HTTP/2, Available can't be used, because the answer's own stream may still be counted.
func spent(h *http.ClientConn, response *http.Response) bool {
	return h.Err() != nil || response.ProtoMajor == 1 && h.Available() == 0
}

// request builds the request for net/http.
func (c *conn) request(ctx context.Context, r *request, args []gen.Value) (*http.Request, *protocol.Error) {
	if refused := protocol.Arguments(args, r.params); refused != nil {
		return nil, refused
	}
	c.text, _ = r.path.Append(c.text[:0], args, escapePath)
	target := &url.URL{Scheme: r.origin.scheme, Host: r.origin.address, Opaque: string(c.text)}
	if c.plan.options.proxy {
		parsed, err := url.Parse(r.origin.scheme + "://" + r.origin.address + string(c.text))
		if err != nil {
			return nil, &protocol.Error{Class: protocol.Client, Text: "the path can't be sent through a proxy: " + err.Error(),
				Err: err}
		}
		target = parsed
	}
	out := (&http.Request{Method: r.web.Method, URL: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header)}).WithContext(ctx)
	for i := range r.fields {
		f := &r.fields[i]
		var ok bool
		if c.text, ok = f.value.Append(c.text[:0], args, checkField); !ok {
			return nil, badField(f.name)
		}
		switch value := string(c.text); http.CanonicalHeaderKey(f.name) {
		case "Host":
			out.Host = value
		case "Connection":
			out.Close = strings.EqualFold(value, "close")
		default:
			out.Header.Add(f.name, value)
		}
	}
	if r.sendsBody {
		c.body, _ = r.body.Append(c.body[:0], args, nil)
		out.ContentLength = int64(len(c.body))
		out.Body = http.NoBody
		if len(c.body) > 0 {
			out.Body = io.NopCloser(bytes.NewReader(c.body))
		}
	}
	return out, nil
}

// read reads an answer's body, and hashes and captures as the request asks.
func (c *conn) read(r *request, id int, response *http.Response, reply *protocol.Reply) error {
	defer response.Body.Close()
	reply.Status = response.StatusCode
	if !c.heard {
		c.plan.heard.note(r.origin.address, response.Header.Get("Server"), response.Proto)
		c.heard = len(c.others) == 0
	}
	hashing := r.web.HashEvery > 0 && c.seen[id]%r.web.HashEvery == 0
	c.seen[id]++
	hash := uint64(fnvOffset)
	kept := c.text[:0]
	for {
		n, err := response.Body.Read(c.scratch)
		reply.BytesIn += int64(n)
		if hashing {
			hash = fnv1a(hash, c.scratch[:n])
		}
		if r.needsBody || reply.Each != nil {
			kept = append(kept, c.scratch[:min(n, maxCaptured-len(kept))]...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	c.text = kept
	reply.BadHash = hashing && hash != r.web.Hash
	if reply.Each != nil {
		c.give(response, kept, reply)
	}
	for i := range r.captures {
		k, v := &r.captures[i], &reply.Captured[i]
		switch k.from {
		case fromBody:
			template.SetText(v, k.kind, kept)
		case fromJSON:
			setJSON(v, k.kind, k.path, kept)
		default:
			if values := response.Header.Values(k.name); len(values) > 0 {
				template.SetText(v, k.kind, []byte(values[0]))
			}
		}
	}
	return nil
}

// failure classifies an error on an open connection. The connection can't be used any more.
func (c *conn) failure(ctx context.Context, req *protocol.Request, err error) *protocol.Error {
	e := protocol.Unanswered(ctx, req, err, c.target.Password)
	if text := err.Error(); !protocol.IsLate(ctx, err) &&
		(strings.Contains(text, "malformed") || strings.Contains(text, "http2: invalid") ||
			strings.Contains(text, "exceeded") && strings.Contains(text, "header")) {
		e.Class, e.Text = protocol.Protocol, "the answer isn't HTTP: "+protocol.Line(text, c.target.Password)
	}
	return e
}

// Close ends the session.
func (c *conn) Close() error {
	if c.http != nil {
		c.http.Close()
		c.http = nil
	}
	for to := range c.others {
		c.drop(to)
	}
	return nil
}

var _ protocol.AdHoc = (*conn)(nil)

// Add prepares a request that isn't part of the session's program. It doesn't affect other sessions.
func (c *conn) Add(_ context.Context, req *protocol.Request) error {
	r, err := c.driver.prepareOne(c.target, c.plan.options, req)
	if err != nil {
		return protocol.Refused(req, "%v", err)
	}
	own := *c.plan
	own.requests = protocol.Put(slices.Clone(own.requests), req.ID, r)
	for len(c.seen) < len(own.requests) {
		c.seen = append(c.seen, 0)
	}
	own.origins = originsOf(own.requests)
	c.plan = &own
	return nil
}

// give passes an answer to Reply.Each as one row of its status, headers and body.
func (c *conn) give(response *http.Response, body []byte, reply *protocol.Reply) {
	header := make(map[string]string, len(response.Header))
	for name := range response.Header {
		header[name] = response.Header.Get(name)
	}
	var row [3]gen.Value
	row[0].SetInt(int64(response.StatusCode))
	row[1].Kind = gen.JSON
	row[1].B, _ = json.Marshal(header) // can't fail: a map of strings
	row[2].SetString(string(body))
	reply.Each([]string{"status", "headers", "body"}, row[:])
}
