package web

import (
	"fmt"
	"net"
	"net/http"
	"net/url"

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
	port := u.Port()
	if port == "" {
		port = usualPort(u.Scheme)
	}
	return origin{u.Scheme, net.JoinHostPort(u.Hostname(), port)}, nil
}

// home is the origin of the session's own address.
func (c *conn) home() origin { return origin{c.scheme, c.target.Address} }

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

// lose fails a request whose connection broke. Only the loss of the session's own one ends it.
func (c *conn) lose(to origin, e *driver.Error, reply *driver.Reply) {
	if to != c.home() {
		c.drop(to)
		e.Fatal = false
	}
	reply.Fail(e)
}
