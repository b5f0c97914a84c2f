package http

import (
	"context"
	"crypto/tls"
	"strings"
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

// roamer sends requests as they are to the origins that they name. It has a connection to each origin that a request
// has needed. Connecting is part of the request that needs it, and the loss of a connection fails only that request.
type roamer struct {
	driver *Driver
	target protocol.Target
	plan   *prepared
	open   map[leg]*blocking.Conn
}

// leg is where a connection of a roamer leads: an origin, and the URL of the proxy through which it goes by CONNECT;
// "": the session's own way.
type leg struct {
	origin
	via string
}

// throughProxy separates an origin from the URL of its proxy, in the argument that says where a request goes.
const throughProxy = " via "

var _ protocol.Conn = (*roamer)(nil)

func newRoamer(d *Driver, t protocol.Target, p *prepared) *roamer {
	return &roamer{driver: d, target: t, plan: p, open: map[leg]*blocking.Conn{}}
}

// Do implements protocol.Conn.
func (c *roamer) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	to, refused := c.origin(&c.plan.requests[req.ID], args)
	if refused != nil {
		reply.Fail(refused)
		return
	}
	conn, took, refused := c.reach(ctx, to)
	if refused != nil {
		refused.Fatal = false
		reply.Fail(refused)
		return
	}
	conn.Do(ctx, req, args, reply)
	for again := 0; reply.Again && reply.Fatal && again < protocol.AgainAtMost; again++ {
		c.drop(to)
		if conn, took, refused = c.reach(ctx, to); refused != nil {
			refused.Fatal = false
			reply.Fail(refused)
			return
		}
		conn.Do(ctx, req, args, reply)
	}
	reply.Parts.ConnectNs = took
	if reply.Fatal || c.plan.options.noReuse {
		c.drop(to)
		reply.Fatal = false
	}
}

// origin returns where a request goes.
func (c *roamer) origin(r *request, args []gen.Value) (leg, *protocol.Error) {
	switch {
	case !r.roams:
		return leg{origin: r.origin}, nil
	case len(args) == 0:
		return leg{}, protocol.Bad("the request doesn't say where it goes")
	}
	text, via, _ := strings.Cut(string(args[0].B), throughProxy)
	to, err := parseOrigin(text, origin{c.driver.scheme(c.target), c.target.Address})
	if err != nil {
		return leg{}, protocol.Bad("%v", err)
	}
	return leg{to, via}, nil
}

// way returns the session's way, but through another proxy.
func (c *roamer) way(via string) (*socket.Way, error) {
	way, err := socket.ParseWay(nil, via, "", "")
	if err == nil && c.target.Way != nil {
		own := *c.target.Way
		own.Via = way.Via
		way = &own
	}
	return way, err
}

// reach returns the connection to an origin, and how long it took to open, ns.
func (c *roamer) reach(ctx context.Context, to leg) (*blocking.Conn, int64, *protocol.Error) {
	if conn := c.open[to]; conn != nil {
		if !conn.Ended() {
			return conn, 0, nil
		}
		c.drop(to)
	}
	began := time.Now()
	t := c.target
	t.Address = to.address
	if to.via != "" {
		var err error
		if t.Way, err = c.way(to.via); err != nil {
			return nil, 0, protocol.Bad("%v", err)
		}
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
	nc, refused := driver.connect(ctx, t, []string{"http/1.1"})
	if refused != nil {
		return nil, 0, refused
	}
	conn := blocking.New(protocol.CodecConn{Net: nc, Codec: newCodec(c.plan)})
	c.open[to] = conn
	return conn, int64(time.Since(began)), nil
}

func (c *roamer) drop(to leg) {
	if conn := c.open[to]; conn != nil {
		conn.Close()
		delete(c.open, to)
	}
}

// Stateless implements protocol.Stateless.
func (*roamer) Stateless() bool { return true }

// Close implements protocol.Conn.
func (c *roamer) Close() error {
	for to := range c.open {
		c.drop(to)
	}
	return nil
}
