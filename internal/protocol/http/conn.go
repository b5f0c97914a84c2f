package http

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"

	"golang.org/x/net/http2"
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
	http      *link // nil: the next request opens it
	others    map[origin]*link
	lost      map[origin]bool // origins other than home whose connection was lost and hasn't been reopened
	whole     *roamer         // sends the requests that are sent as they are
	heard     bool            // the only server's description of itself is known

	seen    []uint32 // number of answers so far, by request
	text    []byte
	body    payload
	scratch []byte
}

func newConn(d *Driver, t protocol.Target, p *prepared) *conn {
	c := &conn{driver: d, target: t, scheme: d.scheme(t), plan: p, seen: make([]uint32, len(p.requests)),
		scratch: make([]byte, 32<<10), whole: newRoamer(d, t, p)}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!p.options.prior)
	protocols.SetHTTP2(!p.options.http1)
	protocols.SetUnencryptedHTTP2(p.options.prior)
	config := &tls.Config{}
	if t.TLS != nil {
		config = t.TLS.Clone()
	}
	c.transport = &http.Transport{
		Protocols: protocols, TLSClientConfig: config, TLSHandshakeTimeout: t.ConnectTime(),
		DisableCompression: !p.options.compress, MaxResponseHeaderBytes: maxHead, DialContext: dialSocket(t.Way),
	}
	if p.options.proxy {
		c.transport.Proxy, c.transport.OnProxyConnectResponse = http.ProxyFromEnvironment, takeAnswer
		c.transport.ProxyConnectHeader = p.options.proxyHeader
	}
	if p.options.proxy && p.options.via {
		direct := *t.Way
		direct.Via = nil
		c.transport.Proxy, c.transport.DialContext = http.ProxyURL(t.Way.Via), dialSocket(&direct)
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

// link is a connection of net/http.
type link struct {
	*http.ClientConn
	socket net.Conn  // under it
	usedAt time.Time // when the last request ended
}

// idleCheck is how long a connection must have been idle to be looked at before it is used.
const idleCheck = time.Millisecond

// ended reports whether the server has closed the connection, or said that it will. net/http notices what has arrived
// a moment later.
func (l *link) ended() bool {
	if l.Err() != nil {
		return true
	}
	if time.Since(l.usedAt) < idleCheck {
		return false
	}
	for range 100 {
		waiting, err := socket.Peek(l.socket)
		if err != nil {
			return true
		}
		if !waiting {
			break
		}
		time.Sleep(20 * time.Microsecond)
	}
	return l.Err() != nil
}

// socketKey is the key of the context's value to which a dial assigns its socket: a *net.Conn.
type socketKey struct{}

// pathKey is the key of the context's value that has the path of a Unix socket, for which net/http has no addresses.
type pathKey struct{}

// dialSocket opens a connection for net/http.
func dialSocket(way *socket.Way) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (c net.Conn, err error) {
		path, unix := ctx.Value(pathKey{}).(string)
		if unix {
			address = path
		}
		if way != nil || unix {
			c, err = socket.Dial(socket.With(ctx, way), address)
		} else {
			var d net.Dialer
			c, err = d.DialContext(ctx, network, address)
		}
		if to, ok := ctx.Value(socketKey{}).(*net.Conn); ok && err == nil {
			*to = c
		}
		return c, err
	}
}

// reach opens a connection without storing it. It is safe for concurrent use.
func (c *conn) reach(ctx context.Context, to origin) (*link, *protocol.Error) {
	ctx, cancel := context.WithTimeout(ctx, c.target.ConnectTime())
	defer cancel()
	l := &link{usedAt: time.Now()}
	dialing, address := context.WithValue(ctx, socketKey{}, &l.socket), to.address
	if socket.Network(address) == "unix" {
		dialing = context.WithValue(dialing, pathKey{}, address)
		address = net.JoinHostPort("localhost", usualPort(to.scheme))
	}
	var err error
	l.ClientConn, err = c.transport.NewClientConn(dialing, to.scheme, address)
	if err == nil {
		return l, nil
	}
	if proxy := c.proxyOf(to); proxy != "" {
		return nil, c.unproxied(ctx, to, proxy, err)
	}
	return nil, unconnected(ctx, to.address, err)
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
	if r.raw {
		c.whole.Do(ctx, req, args, reply)
		return
	}
	out, refused := c.request(ctx, r, args)
	if refused != nil {
		reply.Fail(refused)
		return
	}
	to := r.origin
	for hop := 0; ; hop++ {
		response := c.send(ctx, to, r, req, out, reply)
		if response == nil || c.plan.options.follow == 0 {
			return
		}
		if out, to = redirect(ctx, out, response, &c.body); out == nil || hop == c.plan.options.follow {
			if broken := undelivered(response, out, c.plan.options.follow); broken != "" && reply.Class == protocol.OK {
				reply.Failure = statusFailure(response.StatusCode, reply.Fatal)
				reply.Text = broken
			}
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

// undelivered says why a redirect isn't followed further although redirects are to be followed; "" if the answer isn't
// a redirect. next is the request that it leads to, if any.
func undelivered(answer *http.Response, next *http.Request, most int) string {
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return ""
	}
	if next == nil {
		return "the redirect names no place that can be requested: " +
			protocol.Line(strconv.Quote(answer.Header.Get("Location")), "")
	}
	return fmt.Sprintf("more than %d redirects in a row", most)
}

// send sends one request and reads its answer. It returns nil if that failed.
func (c *conn) send(ctx context.Context, to origin, r *request, req *protocol.Request, out *http.Request,
	reply *protocol.Reply) *http.Response {
	var response *http.Response
	watch := &tracing{}
	if c.plan.options.parts {
		ctx = watch.follow(ctx)
		out = out.WithContext(ctx)
		defer watch.end(&reply.Parts)
	}
	for again := 0; ; again++ {
		watch.connecting(c.client(to) == nil)
		if refused := c.reopen(ctx, to, reply); refused != nil {
			c.lose(to, refused, reply)
			return nil
		}
		watch.connected()
		var err error
		if response, err = c.client(to).RoundTrip(out); err != nil && unsent(err) && again < protocol.AgainAtMost &&
			ctx.Err() == nil {
			c.shed(to)
			out = c.renewed(out)
			continue
		}
		if err == nil {
			err = c.read(r, req.ID, response, reply)
		}
		if err != nil {
			c.lose(to, c.failure(ctx, req, err), reply)
			return nil
		}
		break
	}
	h := c.client(to)
	h.usedAt = time.Now()
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
	proxy := c.answeredBy(to, response.StatusCode)
	if proxy != "" || !c.plan.options.isGood(response.StatusCode) {
		reply.Failure = statusFailure(response.StatusCode, reply.Fatal)
	}
	if proxy != "" {
		reply.Text = fmt.Sprintf("the proxy %s answers: %s%s", proxy, reply.Text, c.proxySource())
	}
	return response
}

// reopen connects to an origin if there is no connection, or none that accepts requests any more.
func (c *conn) reopen(ctx context.Context, to origin, reply *protocol.Reply) *protocol.Error {
	if h := c.client(to); h != nil && h.ended() {
		c.shed(to)
	}
	if c.client(to) != nil {
		return nil
	}
	refused := c.connect(ctx, to)
	if refused == nil && c.lost[to] {
		reply.Reopened = true
		delete(c.lost, to)
	}
	return refused
}

// renewed returns a request of which nothing was sent, for another attempt.
func (c *conn) renewed(out *http.Request) *http.Request {
	again := out.WithContext(out.Context())
	if again.ContentLength > 0 {
		again.Body = c.body.reader()
	}
	return again
}

// unsent reports whether a request failed before the server looked at it: the connection had been closed while it was
// idle, or the server said that it doesn't process this request (GOAWAY, REFUSED_STREAM). net/http has no exported
// errors for that.
func unsent(err error) bool {
	if stream, ok := errors.AsType[http2.StreamError](err); ok {
		return stream.Code == http2.ErrCodeRefusedStream
	}
	switch err.Error() {
	case "http: server closed idle connection", "http2: client conn is closed", "http2: client conn not usable",
		"http2: client conn could not be established",
		"http2: Transport received Server's graceful shutdown GOAWAY":
		return true
	}
	return fmt.Sprintf("%T", err) == "http.nothingWrittenError"
}

// Ended implements protocol.Perishable.
func (c *conn) Ended() bool { return c.http != nil && c.http.ended() }

// Stateless implements protocol.Stateless.
func (*conn) Stateless() bool { return true }

// spent reports whether a connection accepts no further request although the server didn't say so. net/http
// closes an HTTP/1 connection if it learns too late that the request was written, as on a busy machine. That is
// decided by the time that the answer has been read, but Err reports it only later; Available shows it at once.
// In HTTP/2, Available can't be used, because the answer's own stream may still be counted.
func spent(h *link, response *http.Response) bool {
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
		parsed, err := url.Parse(r.origin.scheme + "://h" + string(c.text))
		if err != nil {
			return nil, &protocol.Error{Class: protocol.Client, Text: "the path can't be sent through a proxy: " + err.Error(),
				Err: err}
		}
		parsed.Host = r.origin.address
		target = parsed
	}
	version1 := c.plan.options.http1 || r.origin.scheme == "http" && !c.plan.options.prior
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
			if out.Close = strings.EqualFold(value, "close"); !out.Close && version1 {
				out.Header.Add(f.name, value) // HTTP/2 has none
			}
		default:
			out.Header.Add(f.name, value)
		}
	}
	if !r.has("User-Agent") {
		out.Header["User-Agent"] = nil // or net/http would send its own
	}
	if r.sendsBody {
		c.body.begin()
		c.body.text, _ = r.body.Append(c.body.text, args, nil)
		out.ContentLength = int64(len(c.body.text))
		out.Body = http.NoBody
		if len(c.body.text) > 0 {
			out.Body = c.body.reader()
		}
		if r.chunked {
			out.TransferEncoding = []string{"chunked"}
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
		reply.Parts.BodyBytes += int64(n)
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
	return c.whole.Close()
}

var _ protocol.AdHoc = (*conn)(nil)

// Add prepares a request that isn't part of the session's program. It doesn't affect other sessions.
func (c *conn) Add(_ context.Context, req *protocol.Request) error {
	r, err := c.driver.prepareOne(c.target, c.plan.options, req)
	if err == nil && r.raw {
		err = errors.New("only a plan's requests can be sent as they are")
	}
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
