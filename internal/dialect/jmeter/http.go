package jmeter

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"

	"brunt/internal/base/secret"
	"brunt/internal/protocol/socket"
)

// httpRequest is a compiled HTTP Request, with the defaults and managers in whose scope it is.
type httpRequest struct {
	method, domain, port, protocol, path, encoding text
	args                                           []httpArg
	files                                          []httpFile
	raw, multipart                                 bool
	follow, auto, keepAlive, embedded              bool
	embedOnly, embedNot                            text
	connectTimeout, responseTimeout                text
	source                                         source
	names                                          hostTable
	parallel                                       bool // embedded resources are fetched at once
	most                                           text // how many of them
	proxy                                          proxied
	headers                                        [][2]text
	cookies                                        *cookieManager
	cache                                          *cacheManager
	auth                                           []authorization
}

type httpArg struct {
	name, value, equals text
	encode              bool
}

type httpFile struct{ path, param, mime text }

// userAgent is what JMeter's HTTP client says that it is.
const userAgent = "Apache-HttpClient/4.5.14 (Java/17)"

// http compiles an HTTP Request.
func (c *compiler) http(e *Element) *httpRequest {
	var defaults []*Element // the nearest first
	for _, level := range slices.Backward(c.scope) {
		for _, d := range level.Children {
			if d.Enabled && httpDefaults(d) {
				defaults = append(defaults, d)
			}
		}
	}
	from := func(name string) *Element {
		if strings.TrimSpace(number0(e, name)) != "" {
			return e
		}
		for _, d := range defaults {
			if strings.TrimSpace(number0(d, name)) != "" {
				return d
			}
		}
		return e
	}
	get := func(name string) text { return c.text(from(name), name) }
	flag := func(name string) bool { return from(name).flag(name) }
	r := &httpRequest{method: get("HTTPSampler.method"), domain: get("HTTPSampler.domain"), port: get("HTTPSampler.port"),
		protocol: get("HTTPSampler.protocol"), path: get("HTTPSampler.path"), encoding: get("HTTPSampler.contentEncoding"),
		raw: flag("HTTPSampler.postBodyRaw"), multipart: flag("HTTPSampler.DO_MULTIPART_POST"),
		follow: flag("HTTPSampler.follow_redirects"), auto: flag("HTTPSampler.auto_redirects"),
		keepAlive: flag("HTTPSampler.use_keepalive"), embedded: flag("HTTPSampler.image_parser"),
		embedOnly: get("HTTPSampler.embedded_url_re"), embedNot: get("HTTPSampler.embedded_url_exclude_re"),
		connectTimeout: get("HTTPSampler.connect_timeout"), responseTimeout: get("HTTPSampler.response_timeout"),
		parallel: flag("HTTPSampler.concurrentDwn"), most: get("HTTPSampler.concurrentPool")}
	if !from("HTTPSampler.use_keepalive").has("HTTPSampler.use_keepalive") {
		r.keepAlive = true
	}
	r.proxy, r.source = c.proxied(e, get), c.localAddress(e, get)
	if strings.EqualFold(from("HTTPSampler.protocol").text("HTTPSampler.protocol"), "file") {
		c.fault(e, "the protocol file isn't one of a load")
	}
	for _, owner := range append([]*Element{e}, defaults...) {
		c.httpArgs(r, owner)
		if p := owner.props["HTTPsampler.Files"]; p != nil {
			for _, list := range p.list {
				for _, f := range list.list {
					r.files = append(r.files, httpFile{c.textOf(e, "file", f.value("File.path")),
						c.textOf(e, "file", f.value("File.paramname")), c.textOf(e, "file", f.value("File.mimetype"))})
				}
			}
		}
	}
	c.managers(r)
	return r
}

func (c *compiler) httpArgs(r *httpRequest, owner *Element) {
	p := owner.props["HTTPsampler.Arguments"]
	if p == nil {
		return
	}
	for _, list := range p.list {
		if list.name != "Arguments.arguments" {
			continue
		}
		for _, a := range list.list {
			arg := httpArg{name: c.textOf(owner, "name", a.value("Argument.name")),
				value:  c.textOf(owner, "value", a.value("Argument.value")),
				encode: strings.EqualFold(a.value("HTTPArgument.always_encode"), "true"), equals: text{raw: "="}}
			if m := a.get("Argument.metadata"); m != nil {
				arg.equals = c.textOf(owner, "metadata", m.text)
			}
			if strings.EqualFold(a.value("HTTPArgument.use_equals"), "false") && a.value("Argument.value") == "" {
				arg.equals = text{}
			}
			r.args = append(r.args, arg)
		}
	}
}

// managers finds the managers of headers, cookies, the cache and authorizations.
func (c *compiler) managers(r *httpRequest) {
	for _, level := range slices.Backward(c.scope) {
		for _, e := range level.Children {
			if !e.Enabled {
				continue
			}
			switch e.Class {
			case "HeaderManager":
				for _, h := range e.list("HeaderManager.headers") {
					name := c.textOf(e, "name", h.value("Header.name"))
					known := func(x [2]text) bool { return strings.EqualFold(x[0].raw, name.raw) }
					if !slices.ContainsFunc(r.headers, known) {
						r.headers = append(r.headers, [2]text{name, c.textOf(e, "value", h.value("Header.value"))})
					}
				}
			case "CookieManager":
				r.cookies = c.cookies(e)
			case "CacheManager":
				m, ok := c.made[e].(*cacheManager)
				if !ok {
					m = &cacheManager{useExpires: e.flag("useExpires"), clear: e.flag("clearEachIteration")}
					c.made[e] = m
				}
				r.cache = m
			case "DNSCacheManager":
				if r.names == nil {
					r.names = c.names(e)
				}
			case "AuthManager":
				c.authorizations(r, e)
			}
		}
	}
}

// cookieManager is an HTTP Cookie Manager.
type cookieManager struct {
	clear  bool
	static []staticCookie
}

type staticCookie struct {
	name, value, domain, path text
	secure                    bool
}

func (c *compiler) cookies(e *Element) *cookieManager {
	if m, ok := c.made[e].(*cookieManager); ok {
		return m
	}
	m := &cookieManager{clear: e.flag("CookieManager.clearEachIteration")}
	for _, k := range e.list("CookieManager.cookies") {
		m.static = append(m.static, staticCookie{c.textOf(e, "name", k.name), c.textOf(e, "value", k.value("Cookie.value")),
			c.textOf(e, "domain", k.value("Cookie.domain")), c.textOf(e, "path", k.value("Cookie.path")),
			strings.EqualFold(k.value("Cookie.secure"), "true")})
	}
	c.made[e] = m
	return m
}

// jar is the cookies of a thread.
type jar struct{ http.CookieJar }

// jarOf returns the thread's cookies of a manager.
func (t *thread) jarOf(m *cookieManager) *jar {
	if j, ok := t.own[m].(*jar); ok {
		return j
	}
	inner, _ := cookiejar.New(nil)
	j := &jar{inner}
	for i := range m.static {
		k := &m.static[i]
		domain := strings.TrimPrefix(k.domain.eval(t), ".")
		scheme := "http"
		if k.secure {
			scheme = "https"
		}
		u := &url.URL{Scheme: scheme, Host: domain, Path: "/"}
		cookie := &http.Cookie{Name: k.name.eval(t), Value: k.value.eval(t), Path: k.path.eval(t), Secure: k.secure,
			Quoted: false}
		inner.SetCookies(u, []*http.Cookie{cookie})
	}
	t.own[m] = j
	return j
}

// cacheManager is an HTTP Cache Manager.
type cacheManager struct{ useExpires, clear bool }

// cached is what a cache knows of a URL.
type cached struct {
	modified, tag string
	expires       time.Time
}

// authorization is a line of an HTTP Authorization Manager.
type authorization struct {
	prefix, user, password text
}

func (c *compiler) authorizations(r *httpRequest, e *Element) {
	for _, a := range e.list("AuthManager.auth_list") {
		switch m := a.value("Authorization.mechanism"); m {
		case "", "BASIC", "BASIC_DIGEST":
		default:
			c.fault(e, "the mechanism %s isn't available; Basic is", m)
		}
		r.auth = append(r.auth, authorization{c.textOf(e, "url", a.value("Authorization.url")),
			c.textOf(e, "user", a.value("Authorization.username")), c.textOf(e, "password",
				a.value("Authorization.password"))})
	}
}

// outgoing is a request that is about to be sent.
type outgoing struct {
	method string
	url    *url.URL
	origin string
	head   string // request line and header lines
	body   string
	// refused says why there is no connection for it; nil: there may be one.
	refused *sourced
	// proxyUser is the header that tells the proxy its user when it asks for one; "": it has none, or it was told.
	proxyUser string
}

// build makes the request of a sampler.
func (r *httpRequest) build(t *thread) (*outgoing, error) {
	method := strings.ToUpper(cmp.Or(strings.TrimSpace(r.method.eval(t)), "GET"))
	u, err := r.address(t, method)
	if err != nil {
		return nil, err
	}
	body, contentType, err := r.body(t, method)
	if err != nil {
		return nil, err
	}
	return r.request(t, method, u, body, contentType, true), nil
}

// address returns the URL of the request.
func (r *httpRequest) address(t *thread, method string) (*url.URL, error) {
	path := r.path.eval(t)
	if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
		return parseURL(path)
	}
	protocol := strings.ToLower(cmp.Or(strings.TrimSpace(r.protocol.eval(t)), "http"))
	host, port := strings.TrimSpace(r.domain.eval(t)), strings.TrimSpace(r.port.eval(t))
	if host == "" {
		host = "localhost"
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if method == "GET" || method == "DELETE" || method == "OPTIONS" {
		if query := r.query(t); query != "" {
			separator := "?"
			if strings.Contains(path, separator) {
				separator = "&"
			}
			path += separator + query
		}
	}
	return t.place.join(protocol, host, port, path)
}

// place is where a thread's last request went. Most of its requests go there.
type place struct {
	protocol, host, port string
	url                  *url.URL
}

// join returns the URL of a path, which begins with a slash, and perhaps a query.
func (p *place) join(protocol, host, port, path string) (*url.URL, error) {
	plain := plainPath(path)
	if plain && p.url != nil && p.protocol == protocol && p.host == host && p.port == port {
		return p.at(path), nil
	}
	base := protocol + "://" + host
	if port != "" && port != "0" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, fmt.Errorf("the port %q isn't a number", port)
		}
		if port != usualPort(&url.URL{Scheme: protocol}) {
			base += ":" + port
		}
	}
	u, err := parseURL(base + path)
	if next := (place{protocol, host, port, u}); err == nil && plain && *next.at(path) == *u {
		*p = next
	}
	return u, err
}

// at returns the URL of a plain path at the place.
func (p *place) at(path string) *url.URL {
	u := *p.url
	u.Path, u.RawQuery, _ = strings.Cut(path, "?")
	return &u
}

// plainPath reports whether a path, perhaps with a query, means what it says: nothing in it is encoded, must be, or has
// a meaning of its own in URLs, but a first question mark that something follows.
func plainPath(s string) bool {
	query := false
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '/', c == '-', c == '_', c == '.', c == '~', c == '=', c == '&', c == '+':
		case c == '?' && !query && i < len(s)-1:
			query = true
		case c == '%' && query: // queries are kept as they are
		default:
			return false
		}
	}
	return true
}

// usualPort returns the port of a URL without one.
func usualPort(u *url.URL) string {
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// parseURL parses a URL as strictly as java.net.URI does. Its errors show no password.
func parseURL(s string) (*url.URL, error) {
	s = strings.ReplaceAll(s, " ", "%20")
	if i := strings.IndexAny(s, "\t\r\n\"<>\\^`{|}"); i >= 0 {
		part := "path"
		if strings.Contains(s[:i], "?") {
			part = "query"
		}
		//lint:ignore ST1005 Java's words
		return nil, fmt.Errorf("Illegal character in %s at index %d: %s", part, i, secret.Address(s))
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New(secret.Text(secret.Redact(err.Error(), secret.Of(s))))
	}
	if u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q isn't a URL of HTTP", cut(secret.Address(s)))
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// plainQuery encodes what a query has beyond ASCII.
func plainQuery(q string) string {
	for i := range len(q) {
		if q[i] >= utf8.RuneSelf {
			break
		}
		if i == len(q)-1 {
			return q
		}
	}
	var b strings.Builder
	for _, c := range []byte(q) {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// query returns the arguments as a query.
func (r *httpRequest) query(t *thread) string {
	charset := r.charset(t)
	var b strings.Builder
	for i := range r.args {
		a := &r.args[i]
		name, value := a.name.eval(t), a.value.eval(t)
		if name == "" {
			continue
		}
		if a.encode {
			name, value = formEncode(inCharset(name, charset)), formEncode(inCharset(value, charset))
		}
		equals := a.equals.eval(t)
		b.Grow(1 + len(name) + len(equals) + len(value))
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name)
		b.WriteString(equals)
		b.WriteString(value)
	}
	return b.String()
}

// body returns the body of the request and its type.
func (r *httpRequest) body(t *thread, method string) (body, contentType string, err error) {
	enclosing := method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE" && len(r.args) > 0
	if !enclosing && !r.raw {
		return "", "", nil
	}
	raw := r.raw || len(r.args) > 0
	for i := range r.args {
		raw = raw && (r.raw || r.args[i].name.eval(t) == "")
	}
	named := false
	for i := range r.files {
		named = named || r.files[i].param.eval(t) != ""
	}
	switch {
	case enclosing && method == "POST" && (r.multipart || named):
		return r.multipartBody(t)
	case len(r.files) > 0 && !named && len(r.args) == 0:
		b, err := t.program.files.read(r.files[0].path.eval(t))
		return string(b), r.files[0].mime.eval(t), err
	case raw:
		var b strings.Builder
		for i := range r.args {
			v := r.args[i].value.eval(t)
			if r.args[i].encode {
				v = formEncode(v)
			}
			b.WriteString(v)
		}
		name := r.charset(t)
		return inCharset(b.String(), name), "text/plain; charset=" + name, nil
	}
	name := r.charset(t)
	return r.form(t, name), "application/x-www-form-urlencoded; charset=" + name, nil
}

// charset returns the encoding of what the request sends.
func (r *httpRequest) charset(t *thread) string {
	return cmp.Or(strings.TrimSpace(r.encoding.eval(t)), "UTF-8")
}

// inCharset returns a text in another encoding, with "?" for what it lacks. Of an unknown encoding, the text stays.
func inCharset(s, name string) string {
	if strings.EqualFold(name, "UTF-8") {
		return s
	}
	e, err := ianaindex.IANA.Encoding(name)
	if e == nil || err != nil {
		return s
	}
	encoder := encoding.ReplaceUnsupported(e.NewEncoder())
	out, err := encoder.String(s)
	if err != nil {
		return s
	}
	return strings.ReplaceAll(out, "\x1a", "?")
}

// form returns the arguments as a form. Values that aren't to be encoded are taken to be encoded already.
func (r *httpRequest) form(t *thread, encoding string) string {
	var b strings.Builder
	for i := range r.args {
		a := &r.args[i]
		name, value := a.name.eval(t), a.value.eval(t)
		if name == "" {
			continue
		}
		if !a.encode {
			if plain, err := url.QueryUnescape(name); err == nil {
				name = plain
			}
			if plain, err := url.QueryUnescape(value); err == nil {
				value = plain
			}
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(formEncode(inCharset(name, encoding)) + "=" + formEncode(inCharset(value, encoding)))
	}
	return b.String()
}

// multipartBody returns the arguments and files as multipart/form-data (RFC 7578).
func (r *httpRequest) multipartBody(t *thread) (string, string, error) {
	boundary := "-----------------------------7d" + strconv.FormatUint(t.random.Uint64(), 36)
	var b strings.Builder
	part := func(disposition, kind, value string) {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; " + disposition + "\r\n")
		if kind != "" {
			b.WriteString("Content-Type: " + kind + "\r\nContent-Transfer-Encoding: binary\r\n")
		}
		b.WriteString("\r\n" + value + "\r\n")
	}
	for i := range r.args {
		if name := r.args[i].name.eval(t); name != "" {
			part(`name="`+name+`"`, "", r.args[i].value.eval(t))
		}
	}
	for i := range r.files {
		f := &r.files[i]
		name := f.path.eval(t)
		content, err := t.program.files.read(name)
		if err != nil {
			return "", "", err
		}
		part(`name="`+f.param.eval(t)+`"; filename="`+filepath.Base(name)+`"`,
			cmp.Or(f.mime.eval(t), "application/octet-stream"), string(content))
	}
	b.WriteString("--" + boundary + "--\r\n")
	return b.String(), "multipart/form-data; boundary=" + boundary, nil
}

// usualHead is the room for the header lines that most requests have, in bytes.
const usualHead = 256

// lineBreaks removes line breaks from values of header lines.
var lineBreaks = strings.NewReplacer("\r", "", "\n", "")

// request makes the lines of a request. own says that it is the sampler's own, and not a redirect or a resource.
func (r *httpRequest) request(t *thread, method string, u *url.URL, body, contentType string, own bool) *outgoing {
	via := r.proxyOf(t, u)
	out := &outgoing{method: method, url: u, origin: route(u, via), body: body}
	r.way(t, out, via)
	var b strings.Builder
	line := func(name, value string) {
		b.WriteString(name)
		b.WriteString(": ")
		if strings.ContainsAny(value, "\r\n") {
			value = lineBreaks.Replace(value)
		}
		b.WriteString(value)
		b.WriteString("\r\n")
	}
	target := u.EscapedPath()
	if target == "" {
		target = "/"
	}
	if u.RawQuery != "" || u.ForceQuery {
		target += "?" + plainQuery(u.RawQuery)
	}
	whole := via != nil && u.Scheme == "http"
	if whole {
		target = "http://" + socket.WithoutZone(u.Host) + target
	}
	b.Grow(len(method) + len(target) + usualHead)
	b.WriteString(method)
	b.WriteByte(' ')
	b.WriteString(target)
	b.WriteString(" HTTP/1.1\r\n")
	if r.keepAlive {
		line("Connection", "keep-alive")
	} else {
		line("Connection", "close")
	}
	var given map[string]bool
	if len(r.headers)+len(r.auth) > 0 {
		given = map[string]bool{}
	}
	for i := range r.headers {
		name := strings.TrimSpace(r.headers[i][0].eval(t))
		key := strings.ToLower(name)
		if key == "" || key == "content-length" || key == "connection" || key == "transfer-encoding" ||
			!own && strings.HasPrefix(key, "content-") {
			continue
		}
		given[key] = true
		line(name, r.headers[i][1].eval(t))
	}
	for i := range r.auth {
		a := &r.auth[i]
		if !given["authorization"] && strings.HasPrefix(u.String(), strings.TrimSpace(a.prefix.eval(t))) {
			given["authorization"] = true
			line("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(a.user.eval(t)+":"+a.password.eval(t))))
		}
	}
	r.fromMemory(t, method, u, line)
	if whole {
		line("Proxy-Connection", "Keep-Alive")
		if !given["proxy-authorization"] {
			out.proxyUser = proxyAuthorization(via)
		}
	}
	if !given["host"] {
		line("Host", socket.WithoutZone(u.Host))
	}
	if !given["user-agent"] {
		line("User-Agent", userAgent)
	}
	if body != "" || method == "POST" || method == "PUT" || method == "PATCH" {
		if contentType != "" && !given["content-type"] {
			line("Content-Type", contentType)
		}
		line("Content-Length", strconv.Itoa(len(body)))
	}
	b.WriteString("\r\n")
	out.head = b.String()
	return out
}

// fromMemory adds the lines that come from cookies and the cache.
func (r *httpRequest) fromMemory(t *thread, method string, u *url.URL, line func(name, value string)) {
	if r.cache != nil && method == "GET" {
		if k, ok := t.cache[u.String()]; ok {
			if k.modified != "" {
				line("If-Modified-Since", k.modified)
			}
			if k.tag != "" {
				line("If-None-Match", k.tag)
			}
		}
	}
	if r.cookies == nil {
		return
	}
	var all []string
	for _, k := range t.jarOf(r.cookies).Cookies(u) {
		all = append(all, k.Name+"="+k.Value)
	}
	if len(all) > 0 {
		line("Cookie", strings.Join(all, "; "))
	}
}

func originOf(u *url.URL) string {
	host := u.Host
	if u.Port() == "" {
		host += ":" + usualPort(u)
	}
	return u.Scheme + "://" + strings.ToLower(host)
}

// cachedNow reports whether the cache says that a URL needn't be asked for.
func (r *httpRequest) cachedNow(t *thread, o *outgoing) bool {
	if r.cache == nil || !r.cache.useExpires || o.method != "GET" {
		return false
	}
	k, ok := t.cache[o.url.String()]
	return ok && k.expires.After(t.program.now())
}

// remember keeps the cookies of an answer, and what the cache needs of it.
func (r *httpRequest) remember(t *thread, o *outgoing, head headerLines, status int) {
	if r.cookies != nil {
		if all := head.cookies(); len(all) > 0 {
			t.jarOf(r.cookies).SetCookies(o.url, all)
		}
	}
	if r.cache == nil || o.method != "GET" || status < 200 || status > 399 {
		return
	}
	k := cached{modified: head.get("Last-Modified"), tag: head.get("ETag")}
	if at, err := http.ParseTime(head.get("Expires")); err == nil {
		k.expires = at
	}
	for part := range strings.SplitSeq(head.get("Cache-Control"), ",") {
		if age, ok := strings.CutPrefix(strings.TrimSpace(part), "max-age="); ok {
			if n, err := strconv.Atoi(age); err == nil {
				k.expires = t.program.now().Add(time.Duration(n) * time.Second)
			}
		}
		if p := strings.TrimSpace(part); p == "no-cache" || p == "no-store" {
			return
		}
	}
	if k == (cached{}) {
		return
	}
	if k.expires.IsZero() && r.cache.useExpires { // as JMeter's CacheManager: a tenth of its age, or a year
		k.expires = t.program.now().AddDate(1, 0, 0)
		if at, err := http.ParseTime(k.modified); err == nil {
			k.expires = t.program.now().Add(t.program.now().Sub(at) / 10)
		}
	}
	if t.cache == nil {
		t.cache = map[string]cached{}
	}
	if len(t.cache) < 5000 {
		t.cache[o.url.String()] = k
	}
}
