package jmeter

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/andybalholm/brotli"
	"golang.org/x/net/html/charset"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// exchange is the sample of HTTP that is under way.
type exchange struct {
	out   *outgoing
	total *result // the sample
	part  *result // of the request in flight
	hops  int     // redirects so far
	page  *embedded
	args  [2]gen.Value
}

// mostHops is how many redirects a request follows: JMeter's httpsampler.max_redirects.
const mostHops = 20

// prepareHTTP makes the request of the sampler. It returns false if there is none to send: the cache has the answer.
func (t *thread) prepareHTTP() bool {
	s := t.leaf.s
	t.exchange = exchange{}
	out, err := s.http.build(t)
	if err == nil && s.http.cachedNow(t, out) {
		return false
	}
	t.out = out
	t.total = &result{label: t.label, url: "null"}
	if err != nil {
		t.total.code = "Non HTTP response code: java.net.URISyntaxException"
		t.total.message = "Non HTTP response message: " + err.Error()
		t.total.kind = "text"
		if _, u, ok := strings.Cut(err.Error(), ": "); ok {
			t.total.url = u
		}
	}
	return true
}

// beginHTTP sends the sampler's request.
func (t *thread) beginHTTP() script.Step {
	t.total.start = t.program.now()
	if t.out == nil {
		t.total.end = t.total.start
		t.finish(t.total)
		return t.ends(t.total)
	}
	t.part = t.total
	return t.send()
}

// ends is the step at the end of a sample.
func (t *thread) ends(r *result) script.Step {
	if r.success {
		return script.Step{}
	}
	f := protocol.Failure{Class: protocol.Server, Code: r.code, Text: r.message}
	failed := slices.IndexFunc(r.asserts, func(v assertResult) bool { return v.failed })
	switch {
	case r.lost != protocol.OK:
		f.Class, f.Code = r.lost, ""
	case failed >= 0:
		f.Code, f.Text = "assertion", r.asserts[failed].message
	case strings.HasPrefix(r.code, "Non HTTP"):
		f.Class, f.Code = protocol.Connect, ""
	}
	return script.Step{Failure: f}
}

// send sends the request that is prepared.
func (t *thread) send() script.Step {
	o, h := t.out, t.leaf.s.http
	t.part.asks(o)
	if !t.program.roams && o.origin != t.program.origin {
		o.refused = &sourced{kind: "java.net.UnknownHostException", text: "the request goes to " + o.origin +
			", and the load's sessions are for " + t.program.origin + ": give -Jbrunt.hosts=any"}
	}
	if o.refused != nil {
		t.part.refused(o.refused)
		return t.answered(nil)
	}
	return script.Step{Move: script.Send, Args: o.arguments(t.program.roams, &t.args), Silence: h.silence(t),
		Last: !h.follow && !h.embedded}
}

// asks notes the request of which a result is.
func (r *result) asks(o *outgoing) {
	r.url = o.url.String()
	r.requestHead, r.requestBody = o.head, o.body
	r.sent = int64(len(o.head) + len(o.body))
}

// refused says that a request couldn't be sent.
func (r *result) refused(why *sourced) {
	r.code, r.message = notHTTP(why.kind, why.text)
	r.success, r.kind = false, "text"
}

// notHTTP returns the code and the message of a request without an answer, in the words of JMeter.
func notHTTP(exception, text string) (code, message string) {
	return "Non HTTP response code: " + exception, "Non HTTP response message: " + text
}

// arguments returns the values for the parameters of the program's only request.
func (o *outgoing) arguments(roams bool, args *[2]gen.Value) []gen.Value {
	i := 0
	if roams {
		set(&args[0], o.origin)
		i = 1
	}
	v := &args[i]
	v.Kind = gen.String
	v.B = append(append(v.B[:0], o.head...), o.body...)
	return args[:i+1]
}

func set(v *gen.Value, s string) {
	v.Kind = gen.String
	v.B = append(v.B[:0], s...)
}

// hear takes an answer. again says that the request is to be sent once more, with the user of the proxy.
func (t *thread) hear(r *result, o *outgoing, reply *protocol.Reply) (head headerLines, again bool) {
	r.bytes = reply.BytesIn
	r.connect = time.Duration(reply.Parts.ConnectNs)
	r.latency = r.connect + time.Duration(reply.Parts.WaitNs)
	if reply.Status == 0 {
		lostRequest(r, o, &reply.Failure)
		return "", false
	}
	r.code, r.message = strconv.Itoa(reply.Status), http.StatusText(reply.Status)
	r.success = reply.Status >= 200 && reply.Status <= 399
	if len(reply.Captured) == 2 {
		r.head = "HTTP/1.1 " + r.code + " " + r.message + "\n" + string(bytes.TrimRight(reply.Captured[0].B, "\r\n")) + "\n"
		r.body = append([]byte(nil), reply.Captured[1].B...)
	}
	head = headerLines(r.head)
	if o.identify(reply.Status, head) {
		return head, true
	}
	r.contentType, r.encoding = head.get("Content-Type"), head.get("Content-Encoding")
	r.kind = dataType(r.contentType)
	t.leaf.s.http.remember(t, o, head, reply.Status)
	return head, false
}

// answeredHTTP continues with an answer.
func (t *thread) answeredHTTP(reply *protocol.Reply) script.Step {
	head, again := t.hear(t.part, t.out, reply)
	switch {
	case again:
		return t.send()
	case reply.Status == 0:
		return t.answered(&reply.Failure)
	case reply.Fatal:
		return t.follow(head, &protocol.Failure{Fatal: true})
	}
	return t.follow(head, nil)
}

// lostRequest says what happened to a request without an answer, in the words of JMeter's client.
func lostRequest(r *result, o *outgoing, f *protocol.Failure) {
	kind, text := "org.apache.http.NoHttpResponseException", f.Text
	switch {
	case protocol.Overdue(f.Class, f.Text):
		kind, text = "java.net.SocketTimeoutException", "Read timed out"
	case f.Class == protocol.Connect:
		kind, text = unconnected(o.url, f)
	case f.Class == protocol.UnknownOutcome:
		kind = "java.net.SocketException"
	case f.Class == protocol.Protocol:
		kind = "org.apache.http.client.ClientProtocolException"
	}
	r.code, r.message = notHTTP(kind, text)
	r.success, r.kind, r.lost = false, "text", f.Class
}

// unconnected returns the exception of JMeter's client for a connection that couldn't be opened, and its text: JMeter's
// if the host is an address, otherwise brunt's, because JMeter names all addresses of the host.
func unconnected(u *url.URL, f *protocol.Failure) (kind, text string) {
	kind, text = "org.apache.http.conn.HttpHostConnectException", ""
	switch {
	case strings.Contains(f.Text, socket.NoAnswer):
		kind, text = "org.apache.http.conn.ConnectTimeoutException", "Connect timed out"
	case f.Code == protocol.RefusedCode:
		text = "Connection refused"
	case strings.Contains(f.Text, syscall.EADDRNOTAVAIL.Error()):
		return "java.net.BindException", "Cannot assign requested address"
	}
	if text == "" || net.ParseIP(u.Hostname()) == nil {
		return kind, f.Text
	}
	port := cmp.Or(u.Port(), usualPort(u))
	return kind, fmt.Sprintf("Connect to %s:%s [/%s] failed: %s", u.Hostname(), port, u.Hostname(), text)
}

// headerLines are the status line and the header lines of an answer.
type headerLines string

// each calls f with the values of a header, until f returns false.
func (h headerLines) each(name string, f func(value string) bool) {
	for rest, line := string(h), ""; rest != ""; {
		line, rest, _ = strings.Cut(rest, "\n")
		if len(line) > len(name) && line[len(name)] == ':' && strings.EqualFold(line[:len(name)], name) &&
			!f(strings.TrimSpace(line[len(name)+1:])) {
			return
		}
	}
}

// get returns the first value of a header; "" if there is none.
func (h headerLines) get(name string) (value string) {
	h.each(name, func(v string) bool {
		value = v
		return false
	})
	return value
}

// cookies returns the cookies that an answer sets.
func (h headerLines) cookies() []*http.Cookie {
	var lines []string
	h.each("Set-Cookie", func(v string) bool {
		lines = append(lines, v)
		return true
	})
	return (&http.Response{Header: http.Header{"Set-Cookie": lines}}).Cookies()
}

// dataType is JMeter's: bin for images and the like, text otherwise.
func dataType(contentType string) string {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	switch {
	case kind == "":
		return ""
	case strings.HasPrefix(kind, "image/"), strings.HasPrefix(kind, "audio/"), strings.HasPrefix(kind, "video/"),
		slices.Contains([]string{"application/mspowerpoint", "application/octet-stream", "application/pdf",
			"application/vnd.ms-excel",
			"application/vnd.ms-powerpoint", "application/msword", "application/zip"}, kind):
		return "bin"
	}
	return "text"
}

// next returns the request to which an answer redirects; nil if it doesn't, or more redirects aren't followed: then the
// result says so.
func (h *httpRequest) next(t *thread, o *outgoing, r *result, head headerLines, hops int) *outgoing {
	if !h.follow && !h.auto || !redirects(r.code, o.method) || head.get("Location") == "" {
		return nil
	}
	to, err := o.url.Parse(strings.ReplaceAll(head.get("Location"), " ", "%20"))
	if err != nil || hops >= mostHops {
		return nil
	}
	method := "GET"
	if o.method == "HEAD" {
		method = "HEAD"
	}
	to.Fragment = ""
	return h.request(t, method, to, "", "", false)
}

// tooFar makes the result of a request that was redirected too often a failure, and returns what it was before; nil:
// it wasn't redirected too often.
func (h *httpRequest) tooFar(o *outgoing, r *result, head headerLines, hops int) (last *result) {
	if !h.follow && !h.auto || hops < mostHops || !redirects(r.code, o.method) || head.get("Location") == "" {
		return nil
	}
	before := *r
	before.success = true
	r.code, r.message = notHTTP("java.io.IOException", "Exceeded maximum number of redirects: "+strconv.Itoa(mostHops))
	r.success = false
	return &before
}

// follow sends what follows an answer: a redirect, or the resources of the page. Otherwise the sample is over.
func (t *thread) follow(head headerLines, lost *protocol.Failure) script.Step {
	h := t.leaf.s.http
	if lost == nil {
		if next := h.next(t, t.out, t.part, head, t.hops); next != nil {
			t.hops++
			t.record(true)
			t.out = next
			t.part = &result{start: t.program.now(), label: t.label}
			return t.send()
		}
	}
	if last := h.tooFar(t.out, t.part, head, t.hops); last != nil {
		last.end = t.program.now()
		t.total.add(last, t.label)
	}
	return t.answered(lost)
}

func redirects(code, method string) bool {
	switch code {
	case "301", "302", "303":
		return true
	case "307", "308":
		return method == "GET" || method == "HEAD"
	}
	return false
}

// quietly reports whether redirects are followed by JMeter's client, without samples of their own.
func (h *httpRequest) quietly() bool { return h.auto && !h.follow }

// record adds the part that has been answered to the sample. If there are several, the first is a part itself.
func (t *thread) record(more bool) {
	r := t.part
	r.end = t.program.now()
	switch {
	case r == t.total && more && !t.leaf.s.http.quietly():
		t.total.split(t.label)
	case r == t.total:
	case t.leaf.s.http.quietly():
		t.total.bytes, t.total.sent = r.bytes, r.sent
	default:
		t.total.add(r, t.label)
	}
}

// split makes a copy of a sample its first part.
func (r *result) split(label string) {
	first := *r
	r.parts, r.bytes, r.sent = nil, 0, 0
	r.add(&first, label)
}

// add adds a part to a sample.
func (r *result) add(part *result, label string) {
	part.label = label + "-" + strconv.Itoa(len(r.parts))
	r.parts = append(r.parts, part)
	r.bytes += part.bytes
	r.sent += part.sent
}

// becomes says that the last of several requests decides what a sample's result is.
func (r *result) becomes(last *result) {
	r.code, r.message, r.success, r.kind = last.code, last.message, last.success, last.kind
	r.head, r.body, r.contentType, r.encoding, r.url = last.head, last.body, last.contentType, last.encoding, last.url
	r.unpacked, r.lost = last.unpacked, last.lost
}

// answered ends a request that leads to no redirect.
func (t *thread) answered(lost *protocol.Failure) script.Step {
	h, r := t.leaf.s.http, t.part
	var urls []*url.URL
	if h.embedded && r.success && r.kind == "text" && lost == nil {
		urls = t.resourcesOf(h, r, t.out.url)
	}
	t.record(len(urls) > 0)
	if r != t.total {
		t.total.becomes(r)
	}
	if len(urls) > 0 {
		if len(t.total.parts) == 0 { // of redirects without parts
			t.total.split(t.label)
		}
		t.page = newEmbedded(t, h, urls)
		return script.Step{Move: script.Fork, Lanes: t.page, Silence: h.silence(t)}
	}
	return t.complete(lost)
}

// complete ends the sample.
func (t *thread) complete(lost *protocol.Failure) script.Step {
	t.total.end = t.program.now()
	t.finish(t.total)
	step := t.ends(t.total)
	if lost != nil && lost.Fatal {
		step.Failure.Fatal = true
		if step.Failure.Class == protocol.OK && lost.Class != protocol.OK {
			step.Failure = *lost
		}
	}
	return step
}

// text returns the body as text.
func (r *result) text() string {
	if !r.unpacked {
		r.unpacked = true
		if b, err := unpack(r.body, r.encoding); err == nil {
			r.body = b
		}
		_, params, _ := strings.Cut(strings.ToLower(r.contentType), "charset=")
		if params = strings.Trim(strings.TrimSpace(params), `"`); params != "" && params != "utf-8" {
			if e, _ := charset.Lookup(params); e != nil {
				if b, err := e.NewDecoder().Bytes(r.body); err == nil {
					r.body = b
				}
			}
		}
	}
	return string(r.body)
}

// mostUnpacked limits what a packed body becomes.
const mostUnpacked = 64 << 20

// unpack undoes a Content-Encoding.
func unpack(body []byte, encoding string) ([]byte, error) {
	var in io.Reader
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		in = z
	case "deflate":
		in = flate.NewReader(bytes.NewReader(body))
	case "br":
		in = brotli.NewReader(bytes.NewReader(body))
	case "":
		return body, nil
	default:
		return nil, fmt.Errorf("the encoding %q is unknown", encoding)
	}
	return io.ReadAll(io.LimitReader(in, mostUnpacked))
}
