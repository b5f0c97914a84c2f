package http

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

// origin is the scheme and host:port that a request goes to.
type origin struct{ scheme, address string }

// parseOrigin parses protocol.Web.Origin. For "" it returns home.
func parseOrigin(text string, home origin) (origin, error) {
	if text == "" {
		return home, nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.Path != "" ||
		u.RawQuery != "" {
		return origin{}, fmt.Errorf("%q isn't an origin; write http://host:port or https://host:port", text)
	}
	return originOf(u), nil
}

func originOf(u *url.URL) origin {
	return origin{u.Scheme, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usualPort(u.Scheme)))}
}

// allAway reports whether all requests of a program name their origins.
func allAway(p *protocol.Program) bool {
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
		if to := requests[i].origin; !seen[to] && !requests[i].raw { // those have connections of their own
			seen[to] = true
			all = append(all, to)
		}
	}
	return all
}

// away reports whether a request that is sent as it is goes to another origin than the session's own.
func (p *prepared) away(home origin) bool {
	return slices.ContainsFunc(p.requests, func(r request) bool { return r.raw && r.origin != home })
}

// home returns the origin of the session's own address, or the zero value if it has none.
func (c *conn) home() origin {
	if c.plan.unbound {
		return origin{}
	}
	return origin{c.scheme, c.target.Address}
}

// atOnce is the maximum number of connections that a session without an address of its own opens at first. It
// opens others when a request needs them.
const atOnce = 16

// open opens the session's connections: the one to its own address, or those to the origins. Origins that can't
// be reached are left out.
func (c *conn) open(ctx context.Context) *protocol.Error {
	switch {
	case c.plan.options.lazy:
		return nil
	case !c.plan.unbound:
		return c.connect(ctx, c.home())
	}
	first := c.plan.origins[:min(len(c.plan.origins), atOnce)]
	opened := make([]*link, len(first))
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

// client returns the open connection to an origin, or nil.
func (c *conn) client(to origin) *link {
	if to == c.home() {
		return c.http
	}
	return c.others[to]
}

// keep stores the connection to an origin; nil removes it.
func (c *conn) keep(to origin, h *link) {
	switch {
	case to == c.home():
		c.http = h
	case h == nil:
		delete(c.others, to)
	default:
		if c.others == nil {
			c.others = map[origin]*link{}
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

// shed drops a connection that can't be used any more, and marks its origin as lost.
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

// lose fails a request whose connection broke. Only the loss of its own connection ends the session.
func (c *conn) lose(to origin, e *protocol.Error, reply *protocol.Reply) {
	if to != c.home() {
		c.shed(to)
		e.Fatal = false
	}
	reply.Fail(e)
}

// redirect returns the request to which an answer redirects the client (RFC 9110, 15.4), and its origin. It
// returns nil if the answer isn't a redirect that can be followed. body is the body of the answered request.
func redirect(ctx context.Context, from *http.Request, answer *http.Response, body *payload) (*http.Request,
	origin) {
	location := answer.Header.Get("Location")
	method := from.Method
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound:
		if method == http.MethodPost {
			method = http.MethodGet
		}
	case http.StatusSeeOther:
		if method != http.MethodHead {
			method = http.MethodGet
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, origin{}
	}
	base, err := whole(from.URL)
	if err != nil || location == "" {
		return nil, origin{}
	}
	target, err := base.Parse(location)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" {
		return nil, origin{}
	}
	target.Fragment, target.RawFragment, target.User = "", "", nil
	out := (&http.Request{
		Method: method, URL: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: from.Header.Clone(), Close: from.Close,
	}).WithContext(ctx)
	if target.Host == base.Host || target.Host == socket.WithoutZone(base.Host) {
		target.Host = base.Host
		out.Host = from.Host
	} else {
		out.Header.Del("Authorization")
		out.Header.Del("Cookie")
	}
	if method == from.Method && len(body.text) > 0 && from.ContentLength > 0 {
		out.ContentLength, out.Body = int64(len(body.text)), body.reader()
	} else {
		out.Header.Del("Content-Type")
	}
	return out, originOf(target)
}

// whole returns a request's URL with the path included if it is in Opaque.
func whole(u *url.URL) (*url.URL, error) {
	if u.Opaque == "" {
		return u, nil
	}
	out, err := url.Parse(u.Scheme + "://h" + u.Opaque)
	if err == nil {
		out.Host = u.Host
	}
	return out, err
}

// source is the part of an answer that a capture reads.
type source uint8

const (
	fromHeader source = iota
	fromBody
	fromJSON
	fromHead
	fromAnswers
)

// capture is one value of an answer that a later request uses.
type capture struct {
	from source
	name string   // name of the header field, in lower case
	path []string // within JSON
	kind gen.Kind
}

func parseCapture(c protocol.Capture) (capture, error) {
	from, rest, _ := strings.Cut(c.Name, ":")
	switch {
	case from == "header" && isToken(rest):
		return capture{from: fromHeader, name: strings.ToLower(rest), kind: c.Kind}, nil
	case c.Name == "body":
		return capture{from: fromBody, kind: c.Kind}, nil
	case c.Name == "head":
		return capture{from: fromHead, kind: c.Kind}, nil
	case c.Name == "answers":
		return capture{from: fromAnswers, kind: c.Kind}, nil
	case from == "json" && rest != "":
		return capture{from: fromJSON, path: strings.Split(rest, "."), kind: c.Kind}, nil
	}
	return capture{}, fmt.Errorf("capture %q: write header:Name, body or json:path", c.Name)
}

// setJSON sets v to the value at path in a JSON text. It sets null if there is no such value or the text isn't
// JSON.
func setJSON(v *gen.Value, kind gen.Kind, path []string, text []byte) {
	v.SetNull()
	rest := json.RawMessage(text)
	for _, step := range path {
		if rest = descend(rest, step); rest == nil {
			return
		}
	}
	rest = bytes.TrimSpace(rest)
	var s string
	switch {
	case len(rest) == 0 || bytes.Equal(rest, []byte("null")) || !json.Valid(rest):
	case json.Unmarshal(rest, &s) == nil:
		template.SetText(v, kind, []byte(s))
	case (kind == gen.Bool || kind == gen.Null) && (rest[0] == 't' || rest[0] == 'f'):
		template.SetText(v, gen.Bool, rest)
	case kind == gen.Bool:
	default:
		template.SetText(v, kind, rest)
	}
}

func descend(text json.RawMessage, step string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) == nil {
		return object[step]
	}
	var array []json.RawMessage
	if i, err := strconv.Atoi(step); err == nil && json.Unmarshal(text, &array) == nil && i >= 0 && i < len(array) {
		return array[i]
	}
	return nil
}
