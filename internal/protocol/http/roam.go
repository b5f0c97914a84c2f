package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/socket"
)

// withoutOrigin returns a request as one for the session's own address.
func withoutOrigin(w *protocol.Web) *protocol.Web {
	at := *w
	at.Origin = ""
	return &at
}

// roamer sends requests as they are to the origins that they name, over connections that it opens when a request needs
// one. Connecting is part of that request, and the loss of a connection fails only the request that used it. Requests
// may be sent concurrently.
type roamer struct {
	driver  *Driver
	target  protocol.Target
	plan    *prepared
	silence time.Duration // see LimitSilence

	mu     sync.Mutex
	idle   map[leg][]*blocking.Conn
	closed bool
}

// leg is where a connection of a roamer leads.
type leg struct {
	origin
	at   string // addresses that are used instead of the host's, with commas between them; "": its own
	from string // the local address; "": any
	via  string // the URL of the proxy through which it goes by CONNECT; "": the session's own way
}

var (
	_ protocol.Conn     = (*roamer)(nil)
	_ protocol.Parallel = (*roamer)(nil)
	_ protocol.Patient  = (*roamer)(nil)
)

func newRoamer(d *Driver, t protocol.Target, p *prepared) *roamer {
	return &roamer{driver: d, target: t, plan: p, idle: map[leg][]*blocking.Conn{}}
}

// Parallel implements protocol.Parallel.
func (*roamer) Parallel() bool { return true }

// LimitSilence implements protocol.Patient.
func (c *roamer) LimitSilence(d time.Duration) { c.silence = d }

// Do implements protocol.Conn.
func (c *roamer) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	to, within, refused := c.origin(&c.plan.requests[req.ID], args)
	if refused != nil {
		reply.Fail(refused)
		return
	}
	for again := 0; ; again++ {
		conn, took, refused := c.reach(ctx, to, within)
		if refused != nil {
			refused.Fatal = false
			reply.Fail(refused)
			return
		}
		conn.LimitSilence(c.silence)
		conn.Do(ctx, req, args, reply)
		lost := reply.Fatal
		if lost || c.plan.options.noReuse {
			conn.Close()
		} else {
			c.put(to, conn)
		}
		if !reply.Again || !lost || again == protocol.AgainAtMost {
			reply.Parts.ConnectNs, reply.Fatal = took, false
			return
		}
	}
}

// origin returns where a request goes, and the time that connecting may take; 0: the target's.
func (c *roamer) origin(r *request, args []gen.Value) (to leg, within time.Duration, refused *protocol.Error) {
	switch {
	case !r.roams:
		return leg{origin: r.origin}, 0, nil
	case len(args) == 0:
		return to, 0, protocol.Bad("the request doesn't say where it goes")
	}
	text, rest, _ := strings.Cut(string(args[0].B), " ")
	var err error
	if to.origin, err = parseOrigin(text, origin{c.driver.scheme(c.target), c.target.Address}); err != nil {
		return to, 0, protocol.Bad("%v", err)
	}
	for rest != "" && err == nil {
		var word, value string
		word, rest, _ = strings.Cut(rest, " ")
		if word == "via" {
			to.via = rest
			break
		}
		switch value, rest, _ = strings.Cut(rest, " "); word {
		case "at":
			to.at = value
		case "from":
			to.from = value
		case "within":
			within, err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("the request says %q of where it goes", word)
		}
	}
	if err != nil {
		return to, 0, protocol.Bad("%v", err)
	}
	return to, within, nil
}

// ways returns the session's ways to an origin, of which the first that leads there is taken.
func (c *roamer) ways(to leg) ([]*socket.Way, error) {
	if to.at == "" && to.from == "" && to.via == "" {
		return []*socket.Way{c.target.Way}, nil
	}
	var own socket.Way
	if c.target.Way != nil {
		own = *c.target.Way
	}
	said, err := socket.ParseWay(nil, to.via, "", to.from)
	if err != nil {
		return nil, err
	}
	if said != nil {
		own.Via, own.From = cmp.Or(said.Via, own.Via), cmp.Or(said.From, own.From)
	}
	if to.at == "" {
		return []*socket.Way{&own}, nil
	}
	var all []*socket.Way
	_, port, _ := net.SplitHostPort(to.address)
	for address := range strings.SplitSeq(to.at, ",") {
		way := own
		way.Resolve = map[string]string{to.address: net.JoinHostPort(address, port)}
		all = append(all, &way)
	}
	return all, nil
}

// reach returns a connection to an origin, and how long it took to open, ns.
func (c *roamer) reach(ctx context.Context, to leg, within time.Duration) (*blocking.Conn, int64, *protocol.Error) {
	for conn := c.take(to); conn != nil; conn = c.take(to) {
		if !conn.Ended() {
			return conn, 0, nil
		}
		conn.Close()
	}
	began := time.Now()
	ways, err := c.ways(to)
	if err != nil {
		return nil, 0, protocol.Bad("%v", err)
	}
	t := c.target
	t.Address = to.address
	if within > 0 {
		t.ConnectTimeout = within
	}
	var driver *Driver
	if to.scheme == "https" {
		driver = NewSecure()
		t.Options = nil // plain
		if t.TLS == nil {
			t.TLS = &tls.Config{}
		}
	} else {
		driver, t.TLS = New(), nil
	}
	var refused *protocol.Error
	for _, t.Way = range ways {
		var nc net.Conn
		if nc, refused = driver.connect(ctx, t, []string{"http/1.1"}); refused == nil {
			conn := blocking.New(protocol.CodecConn{Net: nc, Codec: newCodec(c.plan)})
			return conn, int64(time.Since(began)), nil
		}
	}
	return nil, 0, refused
}

// take returns the connection to an origin that was used last; nil: none is idle.
func (c *roamer) take(to leg) *blocking.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.idle[to]
	if len(all) == 0 {
		return nil
	}
	conn := all[len(all)-1]
	c.idle[to] = all[:len(all)-1]
	return conn
}

// put keeps a connection for the next request.
func (c *roamer) put(to leg, conn *blocking.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return
	}
	c.idle[to] = append(c.idle[to], conn)
}

// Stateless implements protocol.Stateless.
func (*roamer) Stateless() bool { return true }

// Close implements protocol.Conn.
func (c *roamer) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, all := range c.idle {
		for _, conn := range all {
			conn.Close()
		}
	}
	clear(c.idle)
	return nil
}
