package web

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"

	"brunt/internal/driver"
)

// origin is where a request goes.
type origin struct{ scheme, address string }

// parseOrigin reads driver.Web.Origin; home is what none means.
func parseOrigin(text string, home origin) (origin, error) {
	if text == "" {
		return home, nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" {
		return origin{}, fmt.Errorf("%q isn't an origin; write http://host:port or https://host:port", text)
	}
	return originOf(u), nil
}

func originOf(u *url.URL) origin {
	return origin{u.Scheme, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usualPort(u.Scheme)))}
}

// allAway reports whether all requests of a program name their origins.
func allAway(p *driver.Program) bool {
	for i := range p.Requests {
		if w := p.Requests[i].Web; w == nil || w.Origin == "" {
			return false
		}
	}
	return len(p.Requests) > 0
}

func originsOf(requests []request) (all []origin) {
	seen := map[origin]bool{}
	for i := range requests {
		if to := requests[i].origin; !seen[to] {
			seen[to] = true
			all = append(all, to)
		}
	}
	return all
}

// home is the origin of the session's own address, the zero value if it has none.
func (c *conn) home() origin {
	if c.plan.unbound {
		return origin{}
	}
	return origin{c.scheme, c.target.Address}
}

// atOnce bounds how many connections a session without an address of its own makes when it is
// opened. Others are made when a request needs them.
const atOnce = 16

// open makes the session's connections: the one to its own address, or those to the origins that
// can be reached.
func (c *conn) open(ctx context.Context) *driver.Error {
	switch {
	case c.plan.options.lazy:
		return nil
	case !c.plan.unbound:
		return c.connect(ctx, c.home())
	}
	first := c.plan.origins[:min(len(c.plan.origins), atOnce)]
	opened := make([]*http.ClientConn, len(first))
	var all sync.WaitGroup
	for i, to := range first {
		all.Go(func() { opened[i], _ = c.reach(ctx, to) })
	}
	all.Wait()
	for i, to := range first {
		if opened[i] != nil {
			c.keep(to, opened[i])
		}
	}
	return nil
}

// client is the open connection to an origin; nil if there is none.
func (c *conn) client(to origin) *http.ClientConn {
	if to == c.home() {
		return c.http
	}
	return c.others[to]
}

// keep makes h the connection to an origin; nil forgets it.
func (c *conn) keep(to origin, h *http.ClientConn) {
	switch {
	case to == c.home():
		c.http = h
	case h == nil:
		delete(c.others, to)
	default:
		if c.others == nil {
			c.others = map[origin]*http.ClientConn{}
		}
		c.others[to] = h
	}
}

// drop closes the connection to an origin.
func (c *conn) drop(to origin) {
	if h := c.client(to); h != nil {
		h.Close()
		c.keep(to, nil)
	}
}

// shed drops a connection that is of no more use, and remembers it.
func (c *conn) shed(to origin) {
	if c.client(to) == nil {
		return
	}
	c.drop(to)
	if c.lost == nil {
		c.lost = map[origin]bool{}
	}
	c.lost[to] = true
}

// lose fails a request whose connection broke. Only the loss of the session's own one ends it.
func (c *conn) lose(to origin, e *driver.Error, reply *driver.Reply) {
	if to != c.home() {
		c.shed(to)
		e.Fatal = false
	}
	reply.Fail(e)
}
