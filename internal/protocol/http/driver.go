// Package http speaks HTTP. Its codec does HTTP/1.1 (RFC 9110, RFC 9112), with or without TLS. It uses net/http
// for everything else: HTTP/2 where the server offers it over TLS, redirects, proxies, several hosts, captures
// from bodies, and the requests of scripts.
//
// A session is one connection. If all requests of a program name their origins, a session has no address of its
// own but a connection to each origin, and the loss of one connection affects only its own requests. Options of
// a target:
//
//	good      the statuses that are no failure, e.g. "200-299,304"; "200-399" by default. Any other
//	          status is a failure of class server with the status as its code.
//	proxy     "env": use the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name; "via": send requests without TLS to
//	          the proxy of the target's way as whole URLs, and ask it for a tunnel for those with TLS; "off" (default)
//	proxy.NAME  a header field of CONNECT to a proxy of option proxy
//	compress  "on": ask for gzip; hashes are then of the uncompressed body; "off" (default)
//	noreuse   "on": a new connection for every request, which counts as part of it; "off" (default)
//	http2     "off": HTTP/1.1 even over TLS; "prior": HTTP/2 without asking, with or without TLS, and with several
//	          requests in flight on a connection on event loops; "on" (default): where the server offers it over TLS
//	redirects how many redirects a request follows, as parts of it; "0" (default): a redirect is the
//	          answer
//	lazy      "on": a session connects when a request needs it, and if it can't connect, only that
//	          request fails; "off" (default)
//	parts     "on": measure the parts of the time of each request (protocol.Parts); "off" (default)
//	plain     comma-separated addresses that are used without TLS, whatever the others use
//
// Captures are named "header:Name", "body", or "json:path" where path is dot-separated names and numbers. User
// and Password of a target are sent as Basic authentication (RFC 7617).
package http

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/socket"
)

// Driver is the protocol "http" or "https". It is safe for concurrent use. A program must not change after it
// has been passed to Dial, Takes or Open.
type Driver struct {
	secure bool
	heard  heard
}

var (
	_ protocol.Driver      = (*Driver)(nil)
	_ protocol.CodecDriver = (*Driver)(nil)
	_ protocol.Routed      = (*Driver)(nil)
	_ protocol.Learner     = (*Driver)(nil)
)

// New returns the driver of "http": plain text unless the target has TLS.
func New() *Driver { return &Driver{} }

// NewSecure returns the driver of "https", which always uses TLS.
func NewSecure() *Driver { return &Driver{secure: true} }

// Name returns "http" or "https".
func (d *Driver) Name() string {
	if d.secure {
		return "https"
	}
	return "http"
}

const userAgent = "brunt"

// scheme returns "https" if connections to the target use TLS, otherwise "http".
func (d *Driver) scheme(t protocol.Target) string {
	if (d.secure || t.TLS != nil) && !slices.Contains(strings.Split(t.Options["plain"], ","), t.Address) {
		return "https"
	}
	return "http"
}

// Router implements protocol.Routed: requests whose origin is one of the targets go to that target.
func (d *Driver) Router(nodes *protocol.Nodes, p *protocol.Program) protocol.Router {
	places, placed := make(protocol.Places, len(p.Requests)), false
	for i := range p.Requests {
		places[i] = place(&p.Requests[i], nodes.All())
		placed = placed || places[i] >= 0
	}
	if !placed {
		return nil
	}
	return places
}

// place returns the number of the target that a request names, or −1.
func place(r *protocol.Request, targets []protocol.Target) int {
	if r.Web == nil || r.Web.Origin == "" {
		return -1
	}
	to, err := parseOrigin(r.Web.Origin, origin{})
	if err != nil {
		return -1
	}
	return slices.IndexFunc(targets, func(t protocol.Target) bool { return t.Address == to.address })
}

// Dial opens a session within Target.ConnectTimeout. An error is a *protocol.Error: of class Client if the
// protocol can't run the program, Connect if no session could be opened.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	plan, refused := d.ready(t, p)
	if refused != nil {
		return nil, refused
	}
	if plan.entire && (plan.roams || plan.away(origin{d.scheme(t), t.Address})) {
		return newRoamer(d, t, plan), nil
	}
	if plan.options.noReuse && plan.entire {
		return d.openOneshot(ctx, t, plan)
	}
	if _, ok := d.Takes(t, p); !ok || len(p.Requests) == 0 { // scripts may add requests that the codec lacks
		c := newConn(d, t, plan)
		if refused := c.open(ctx); refused != nil {
			return nil, refused
		}
		return c, nil
	}
	if plan.options.prior {
		opened, err := d.openStreams(ctx, t, plan)
		if err != nil {
			return nil, err
		}
		return blocking.New(opened), nil
	}
	secured := []string{"h2", "http/1.1"}
	if plan.options.http1 || plan.whole {
		secured = secured[1:]
	}
	nc, refused := d.connect(ctx, t, secured)
	if refused != nil {
		return nil, refused
	}
	if over, ok := nc.(*tls.Conn); ok && over.ConnectionState().NegotiatedProtocol == "h2" {
		return handOver(ctx, over, newConn(d, t, plan))
	}
	return blocking.New(protocol.CodecConn{Net: nc, Codec: newCodec(plan)}), nil
}

// handOver passes a connection on which HTTP/2 was negotiated to net/http.
func handOver(ctx context.Context, over net.Conn, c *conn) (protocol.Conn, error) {
	taken := false
	c.transport.DialTLSContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		taken = true
		if to, ok := ctx.Value(socketKey{}).(*net.Conn); ok {
			*to = over
		}
		return over, nil
	}
	refused := c.open(ctx)
	c.transport.DialTLSContext = nil // net/http opens further connections itself
	if !taken {
		over.Close()
	}
	if refused != nil {
		return nil, refused
	}
	return c, nil
}

// connect opens a connection within Target.ConnectTimeout. secured lists the application protocols to offer over
// TLS.
func (d *Driver) connect(ctx context.Context, t protocol.Target, secured []string) (net.Conn, *protocol.Error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	var config *tls.Config
	if d.Secures(t) {
		config = &tls.Config{}
		if t.TLS != nil {
			config = t.TLS.Clone()
		}
		config.NextProtos = secured
	}
	c, err := socket.Secure(ctx, t.Address, config)
	if err == nil {
		return c, nil
	}
	if fault := tlsFault(t.Address, err); fault != nil {
		return nil, fault
	}
	return nil, protocol.Unconnected(err)
}

// Secures reports whether connections to the target use TLS.
func (d *Driver) Secures(t protocol.Target) bool { return d.scheme(t) == "https" }

// Takes reports whether the codec can run the program over this target.
func (d *Driver) Takes(t protocol.Target, p *protocol.Program) (why string, ok bool) {
	plan, refused := d.ready(t, p)
	switch {
	case refused != nil:
		return refused.Text, false
	case plan.options.proxy:
		return "a proxy needs the library tier", false
	case plan.options.follow > 0:
		return "following redirects needs the library tier", false
	case plan.options.lazy:
		return "connecting when a request needs it is for the library tier", false
	case plan.options.noReuse:
		return "a connection for each request needs the library tier", false
	}
	if why, ok := plan.multiplexes(); plan.options.prior && !ok {
		return why, false
	}
	if plan.roams {
		return "requests whose hosts are known only when they are sent need the library tier", false
	}
	for i := range plan.requests {
		r := &plan.requests[i]
		if r.origin != (origin{d.scheme(t), t.Address}) {
			return "requests to several hosts need the library tier", false
		}
		if r.needsBody {
			return "capturing from a body needs the library tier", false
		}
		if plan.options.compress && r.web.HashEvery > 0 {
			return "the hash of a packed body needs the library tier", false
		}
	}
	return "", true
}

// Open opens a connection for the codec. Over TLS, it offers HTTP/1.1 only, or HTTP/2 only if that is known.
func (d *Driver) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	if why, ok := d.Takes(t, p); !ok {
		return protocol.CodecConn{}, protocol.Bad("%s", why)
	}
	plan, refused := d.ready(t, p)
	if refused != nil {
		return protocol.CodecConn{}, refused
	}
	if plan.options.prior {
		return d.openStreams(ctx, t, plan)
	}
	c, refused := d.connect(ctx, t, []string{"http/1.1"})
	if refused != nil {
		return protocol.CodecConn{}, refused
	}
	return protocol.CodecConn{Net: c, Codec: newCodec(plan)}, nil
}

// hostOf returns the Host header for an address, without the port if it is the scheme's default, and without the zone
// of an IPv6 address.
func hostOf(address, scheme string) string {
	if socket.Network(address) == "unix" {
		return "localhost"
	}
	host, port, err := net.SplitHostPort(socket.WithoutZone(address))
	if err != nil {
		return address
	}
	if port != usualPort(scheme) {
		return net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func usualPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// options holds a target's parsed options.
type options struct {
	good     [600]bool // by status
	proxy    bool      // requests may go through a proxy of net/http's
	via      bool      // that of the target's way
	compress bool
	noReuse  bool
	http1    bool // no HTTP/2
	prior    bool // HTTP/2 without asking
	follow   int  // maximum number of redirects per request
	lazy     bool // sessions connect when a request needs it
	parts    bool // the parts of a request's time are measured

	proxyHeader http.Header // of CONNECT to a proxy
}

const defaultGood = "200-399"

// mostRedirects is the maximum of option redirects.
const mostRedirects = 20

func parseOptions(t protocol.Target) (*options, *protocol.Error) {
	read := protocol.OptionsOf("http", t)
	o := &options{
		compress: read.Bool("compress", false),
		noReuse:  read.Bool("noreuse", false),
		follow:   int(read.Int("redirects", 0, 0, mostRedirects)),
		lazy:     read.Bool("lazy", false), parts: read.Bool("parts", false),
	}
	proxy := read.Choice("proxy", "off", "env", "via")
	o.proxy, o.via = proxy == "env" || proxy == "via" && t.Way != nil && t.Way.Via != nil, proxy == "via"
	version := read.Choice("http2", "on", "off", "prior", "true", "false", "1", "0")
	o.prior, o.http1 = version == "prior", slices.Contains([]string{"off", "false", "0"}, version)
	for name, value := range read.Prefixed("proxy.") {
		if !isToken(name) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, protocol.Bad("option proxy.%s isn't a header field", name)
		}
		if o.proxyHeader == nil {
			o.proxyHeader = http.Header{}
		}
		o.proxyHeader[name] = []string{value}
	}
	good := read.Text("good", defaultGood)
	read.Text("plain", "") // see Driver.scheme
	if refused := read.Done(); refused != nil {
		return nil, refused
	}
	if err := o.parseGood(good); err != nil {
		return nil, protocol.Bad("%v", err)
	}
	return o, nil
}

// parseGood parses statuses such as "200-299,304".
func (o *options) parseGood(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		lo, errLo := strconv.Atoi(first)
		hi, errHi := strconv.Atoi(last)
		if errLo != nil || errHi != nil || lo < 200 || hi >= len(o.good) || lo > hi {
			return fmt.Errorf("option good: %q isn't a status or a range of statuses from 200 to 599, as in \"200-299,304\"",
				part)
		}
		for s := lo; s <= hi; s++ {
			o.good[s] = true
		}
	}
	return nil
}

// isGood reports whether a status counts as success.
func (o *options) isGood(status int) bool {
	return status >= 0 && status < len(o.good) && o.good[status]
}
