package http

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// prepared is a program prepared for a target. It is immutable and shared by sessions.
type prepared struct {
	options  *options
	requests []request
	encoded  func() []encoded // requests of the codec tier, encoded once
	heads    func() []head    // likewise, for HTTP/2
	whole    bool             // some requests are sent as they are: protocol.Web.Raw
	entire   bool             // all are
	roams    bool             // some requests say where they go
	unbound  bool             // sessions have no address of their own
	origins  []origin         // origins of the requests, without duplicates
	heard    *heard           // what servers have revealed about themselves; the driver's
}

// request is one prepared request.
type request struct {
	web       *protocol.Web
	params    int
	path      template.Template
	fields    []field // in the order sent, Host included
	body      template.Template
	sendsBody bool // a Content-Length is required, or chunks
	chunked   bool // the body is sent in one chunk, without a Content-Length
	captures  []capture
	needsBody bool // a capture reads the body
	head      bool // the answer has no body
	closes    bool // it asks the server to close the connection
	raw       bool // see protocol.Web
	keepsHead int  // number of the capture of an answer's head, from 1; 0 if there is none
	keepsBody int  // likewise, of its body
	lists     int  // likewise, of the list of answers
	origin    origin
	roams     bool // the first parameter is its origin
}

// field is a header field to send.
type field struct {
	name  string
	value template.Template
}

// prepare prepares a program. It fails if the protocol can't run the program.
func (d *Driver) prepare(t protocol.Target, p *protocol.Program) (*prepared, *protocol.Error) {
	o, refused := parseOptions(t)
	if refused != nil {
		return nil, refused
	}
	out := &prepared{options: o, requests: make([]request, len(p.Requests)), heard: &d.heard, entire: len(p.Requests) > 0}
	for i := range p.Requests {
		r, err := d.prepareOne(t, o, &p.Requests[i])
		if err != nil {
			return nil, protocol.Bad("request %q: %v", p.Requests[i].Name, err)
		}
		out.requests[i] = r
		out.whole, out.entire = out.whole || r.raw, out.entire && r.raw
		out.roams = out.roams || r.roams
	}
	out.unbound = o.lazy || allAway(p)
	out.origins = originsOf(out.requests)
	out.encoded = sync.OnceValue(func() []encoded {
		all := make([]encoded, len(out.requests))
		for i := range all {
			all[i] = encodeOnce(out, &out.requests[i])
		}
		return all
	})
	out.heads = sync.OnceValue(func() []head {
		all := make([]head, len(out.requests))
		for i := range all {
			all[i] = headOf(out, &out.requests[i])
		}
		return all
	})
	return out, nil
}

func (d *Driver) prepareOne(t protocol.Target, o *options, req *protocol.Request) (r request, err error) {
	if req.Verb != protocol.HTTP || req.Web == nil {
		return r, fmt.Errorf("http takes only HTTP requests")
	}
	w := req.Web
	if !isToken(w.Method) || w.Method == http.MethodConnect {
		return r, fmt.Errorf("%q isn't a method that can be sent", w.Method)
	}
	if !strings.HasPrefix(w.Path, "/") && w.Path != "*" {
		return r, fmt.Errorf("the path %q doesn't begin with /", w.Path)
	}
	if i := strings.IndexFunc(w.Path, func(c rune) bool { return c <= ' ' || c == 0x7f }); i >= 0 {
		return r, fmt.Errorf("the path %q holds a space or a control character; write %%%02X", w.Path, w.Path[i])
	}
	r = request{web: w, params: len(req.Params), head: w.Method == http.MethodHead, raw: w.Raw}
	if r.raw && o.prior {
		return r, fmt.Errorf("a request that is sent as it is isn't possible with http2=prior")
	}
	if r.raw {
		if err := r.checkRaw(o); err != nil {
			return r, err
		}
	}
	r.roams = r.raw && w.Origin == "$1" && r.params > 0
	if r.roams {
		w = withoutOrigin(w)
	}
	if r.origin, err = parseOrigin(w.Origin, origin{d.scheme(t), t.Address}); err != nil {
		return r, err
	}
	if r.path, err = template.Parse(w.Path, r.params); err != nil {
		return r, fmt.Errorf("path: %w", err)
	}
	if r.body, err = template.Parse(string(w.Body), r.params); err != nil {
		return r, fmt.Errorf("body: %w", err)
	}
	if text, ok := r.body.Fixed(); r.raw && ok {
		if _, err := bundleOf([]byte(text)); err != nil {
			return r, fmt.Errorf("body: %w", err)
		}
	}
	r.sendsBody = len(w.Body) > 0 || slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, w.Method)
	w, r.chunked = chunkedOf(w)
	r.sendsBody = r.sendsBody || r.chunked
	if r.fields, err = fieldsOf(w, r.params, defaults(t, o, r.origin)); err != nil {
		return r, err
	}
	r.closes = r.asksToClose()
	for _, c := range req.Capture {
		k, err := parseCapture(c)
		if err != nil {
			return r, err
		}
		if r.raw {
			if err := r.keep(k, c.Name); err != nil {
				return r, err
			}
			continue
		}
		if k.from == fromHead || k.from == fromAnswers {
			return r, fmt.Errorf("capture %q: for whole requests only", c.Name)
		}
		r.captures = append(r.captures, k)
		r.needsBody = r.needsBody || k.from != fromHeader
	}
	return r, nil
}

// chunkedOf returns a request without the field "Transfer-Encoding: chunked", and whether it has it.
func chunkedOf(w *protocol.Web) (without *protocol.Web, chunked bool) {
	is := func(h [2]string) bool {
		return strings.EqualFold(h[0], "Transfer-Encoding") && strings.EqualFold(h[1], "chunked")
	}
	if !slices.ContainsFunc(w.Header, is) {
		return w, false
	}
	own := *w
	own.Header = slices.DeleteFunc(slices.Clone(w.Header), is)
	return &own, true
}

// appendBody appends what ends a request's head, and its body.
func (r *request) appendBody(dst, body []byte) []byte {
	if !r.chunked {
		dst = strconv.AppendInt(append(dst, "Content-Length: "...), int64(len(body)), 10)
		return append(append(dst, "\r\n\r\n"...), body...)
	}
	dst = append(dst, "Transfer-Encoding: chunked\r\n\r\n"...)
	if len(body) > 0 {
		dst = append(strconv.AppendInt(dst, int64(len(body)), 16), "\r\n"...)
		dst = append(append(dst, body...), "\r\n"...)
	}
	return append(dst, "0\r\n\r\n"...)
}

// defaults returns the header fields that are sent unless the request sets them.
func defaults(t protocol.Target, o *options, to origin) [][2]string {
	escape := strings.NewReplacer("$", "$$").Replace
	fields := [][2]string{{"Host", escape(hostOf(to.address, to.scheme))}, {"User-Agent", userAgent}}
	if t.User != "" || t.Password != "" {
		secret := base64.StdEncoding.EncodeToString([]byte(t.User + ":" + t.Password))
		fields = append(fields, [2]string{"Authorization", "Basic " + secret})
	}
	if o.noReuse {
		fields = append(fields, [2]string{"Connection", "close"})
	}
	return fields
}

// fieldsOf merges a request's header with the defaults. Host comes first unless the request sets it.
func fieldsOf(w *protocol.Web, params int, defaults [][2]string) (out []field, err error) {
	given := make(map[string]bool)
	for _, h := range w.Header {
		given[strings.ToLower(h[0])] = true
	}
	var all [][2]string
	for _, h := range defaults {
		if !given[strings.ToLower(h[0])] {
			all = append(all, h)
		}
	}
	hosts := 0
	for _, h := range append(all, w.Header...) {
		switch strings.ToLower(h[0]) {
		case "content-length", "transfer-encoding":
			return nil, fmt.Errorf("the header %s is set by brunt; leave it out", h[0])
		}
		if strings.EqualFold(h[0], "Host") {
			if hosts++; hosts > 1 {
				return nil, fmt.Errorf("the header Host is given twice")
			}
		}
		if h[1] == "" && strings.EqualFold(h[0], "User-Agent") {
			continue // as in net/http: none is sent
		}
		if !isToken(h[0]) {
			return nil, fmt.Errorf("%q isn't the name of a header", h[0])
		}
		if strings.ContainsAny(h[1], "\r\n\x00") {
			return nil, fmt.Errorf("the header %s holds a line break or a zero byte", h[0])
		}
		value, err := template.Parse(h[1], params)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", h[0], err)
		}
		out = append(out, field{h[0], value})
	}
	return out, nil
}

// asksToClose reports whether the request has "Connection: close".
func (r *request) asksToClose() bool {
	for i := range r.fields {
		value, ok := r.fields[i].value.Fixed()
		if ok && strings.EqualFold(r.fields[i].name, "Connection") && hasToken(value, "close") {
			return true
		}
	}
	return false
}

// isToken reports whether s is a token (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isTokenByte(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// escapePath percent-encodes dst[from:] for a path or query, except for unreserved characters (RFC 3986, 2.3).
func escapePath(dst []byte, from int) ([]byte, bool) {
	const digits = "0123456789ABCDEF"
	grow := 0
	for _, c := range dst[from:] {
		if !unreserved(c) {
			grow += 2
		}
	}
	if grow == 0 {
		return dst, true
	}
	read := len(dst) - 1
	for range grow {
		dst = append(dst, 0)
	}
	for write := len(dst) - 1; read >= from; read-- {
		c := dst[read]
		if unreserved(c) {
			dst[write] = c
			write--
			continue
		}
		dst[write], dst[write-1], dst[write-2] = digits[c&15], digits[c>>4], '%'
		write -= 3
	}
	return dst, true
}

func unreserved(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '-' || c == '.' || c == '_' ||
		c == '~'
}

// checkField returns false for values that would end a header line.
func checkField(dst []byte, from int) ([]byte, bool) {
	for _, c := range dst[from:] {
		if c == '\r' || c == '\n' || c == 0 {
			return dst, false
		}
	}
	return dst, true
}

func badField(name string) *protocol.Error {
	return protocol.Bad("%s", "a value for the header "+name+" holds a line break or a zero byte")
}

// statusFailure returns the failure for a status that isn't good.
func statusFailure(status int, fatal bool) protocol.Failure {
	text := http.StatusText(status)
	if text == "" {
		text = "a status without a name"
	}
	return protocol.Failure{Class: protocol.Server, Code: fmt.Sprint(status), Text: text, Fatal: fatal}
}

// readyKey is what a prepared program depends on.
type readyKey struct{ address, user, password, scheme, options string }

// ready is prepare for a program that won't change any more. It prepares the program once for all sessions,
// because a list of URLs may have many thousand requests.
func (d *Driver) ready(t protocol.Target, p *protocol.Program) (*prepared, *protocol.Error) {
	key := readyKey{t.Address, t.User, t.Password, d.scheme(t), fmt.Sprint(t.Options)}
	if allAway(p) {
		key.address, key.scheme = "", ""
	}
	type outcome struct {
		made    *prepared
		refused *protocol.Error
	}
	o := p.Share(key, func() any {
		made, refused := d.prepare(t, p)
		return outcome{made, refused}
	}).(outcome)
	return o.made, o.refused
}
