package jmeter

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"golang.org/x/net/html/charset"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// exchange is the sample of HTTP that is under way.
type exchange struct {
	out       *outgoing
	total     *result // the sample
	part      *result // of the request in flight
	hops      int     // redirects so far
	resources []*url.URL
	inPage    bool // the request in flight is for a resource of the page
	args      [2]gen.Value
}

// The limits of a sample.
const (
	mostHops      = 20
	mostResources = 200
)

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
	o := t.out
	t.part.url = o.url.String()
	t.part.requestHead, t.part.requestBody = o.head, o.body
	t.part.sent = int64(len(o.head) + len(o.body))
	i := 0
	if t.program.roams {
		set(&t.args[0], o.origin)
		i = 1
	} else if o.origin != t.program.origin {
		t.part.code = "Non HTTP response code: java.net.UnknownHostException"
		t.part.message = "Non HTTP response message: the request goes to " + o.origin +
			", and the load's sessions are for " +
			t.program.origin + ": give -Jbrunt.hosts=any"
		return t.answered(nil)
	}
	v := &t.args[i]
	v.Kind = gen.String
	v.B = append(append(v.B[:0], o.head...), o.body...)
	return script.Step{Move: script.Send, Args: t.args[:i+1], Last: !t.leaf.s.http.follow && !t.leaf.s.http.embedded}
}

func set(v *gen.Value, s string) {
	v.Kind = gen.String
	v.B = append(v.B[:0], s...)
}

// answeredHTTP continues with an answer.
func (t *thread) answeredHTTP(reply *protocol.Reply) script.Step {
	r := t.part
	r.bytes = reply.BytesIn
	r.connect = time.Duration(reply.Parts.ConnectNs)
	r.latency = r.connect + time.Duration(reply.Parts.WaitNs)
	if reply.Status == 0 {
		lostRequest(r, &reply.Failure)
		return t.answered(&reply.Failure)
	}
	r.code, r.message = strconv.Itoa(reply.Status), http.StatusText(reply.Status)
	r.success = reply.Status >= 200 && reply.Status <= 399
	if len(reply.Captured) == 2 {
		r.head = "HTTP/1.1 " + r.code + " " + r.message + "\n" + string(bytes.TrimRight(reply.Captured[0].B, "\r\n")) + "\n"
		r.body = append([]byte(nil), reply.Captured[1].B...)
	}
	head := headerLines(r.head)
	if step, again := t.identify(reply.Status, head); again {
		return step
	}
	r.contentType, r.encoding = head.get("Content-Type"), head.get("Content-Encoding")
	r.kind = dataType(r.contentType)
	t.leaf.s.http.remember(t, t.out, head, reply.Status)
	if limit := ms(t, &t.leaf.s.http.responseTimeout); limit > 0 &&
		t.program.now().Sub(t.total.start) > duration(limit) && r.success {
		r.success, r.code = false, "Non HTTP response code: java.net.SocketTimeoutException"
		r.message = "Non HTTP response message: Read timed out"
	}
	var lost *protocol.Failure
	if reply.Fatal {
		lost = &protocol.Failure{Fatal: true}
	}
	return t.follow(head, lost)
}

// lostRequest says what happened to a request without an answer, in the words of JMeter's client.
func lostRequest(r *result, f *protocol.Failure) {
	kind, text := "org.apache.http.NoHttpResponseException", f.Text
	switch {
	case protocol.Overdue(f.Class, f.Text):
		kind, text = "java.net.SocketTimeoutException", "Read timed out"
	case f.Class == protocol.Connect:
		kind = "org.apache.http.conn.HttpHostConnectException"
	case f.Class == protocol.UnknownOutcome:
		kind = "java.net.SocketException"
	case f.Class == protocol.Protocol:
		kind = "org.apache.http.client.ClientProtocolException"
	}
	r.code, r.message = "Non HTTP response code: "+kind, "Non HTTP response message: "+text
	r.success, r.kind, r.lost = false, "text", f.Class
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

// follow sends what follows an answer: a redirect, or a resource of the page. Otherwise the sample is over.
func (t *thread) follow(head headerLines, lost *protocol.Failure) script.Step {
	h, r := t.leaf.s.http, t.part
	if (h.follow || h.auto) && !t.inPage && redirects(r.code, t.out.method) && head.get("Location") != "" {
		next, err := t.out.url.Parse(strings.ReplaceAll(head.get("Location"), " ", "%20"))
		if err == nil && t.hops < mostHops && lost == nil {
			t.hops++
			method := "GET"
			if t.out.method == "HEAD" {
				method = "HEAD"
			}
			next.Fragment = ""
			t.record(true)
			t.out = h.request(t, method, next, "", "", false)
			t.part = &result{start: t.program.now(), label: t.label}
			return t.send()
		}
		if t.hops >= mostHops {
			code, message := r.code, r.message
			r.code, r.success = "Non HTTP response code: java.io.IOException", false
			r.message = "Non HTTP response message: Exceeded maximum number of redirects: " + strconv.Itoa(mostHops)
			last := *r
			last.code, last.message, last.success = code, message, true
			last.end = t.program.now()
			t.add(&last)
		}
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

// record adds the part that has been answered to the sample. If there are several, the first is a part itself.
func (t *thread) record(more bool) {
	r := t.part
	r.end = t.program.now()
	if t.leaf.s.http.auto && !t.leaf.s.http.follow && !t.inPage { // JMeter's client follows by itself
		if r != t.total {
			t.total.bytes, t.total.sent = r.bytes, r.sent
		}
		return
	}
	if r != t.total {
		t.add(r)
		return
	}
	if more {
		first := *r
		t.total.parts = nil
		t.add(&first)
		t.total.bytes, t.total.sent = first.bytes, first.sent
	}
}

// add adds a part to the sample.
func (t *thread) add(r *result) {
	r.label = t.label + "-" + strconv.Itoa(len(t.total.parts))
	t.total.parts = append(t.total.parts, r)
	t.total.bytes += r.bytes
	t.total.sent += r.sent
}

// answered ends a request that leads to no redirect.
func (t *thread) answered(lost *protocol.Failure) script.Step {
	r, h := t.part, t.leaf.s.http
	if h.embedded && !t.inPage && len(t.total.parts) == 0 && r == t.total && r.success && r.kind == "text" {
		t.resources = t.resourcesOf(h)
	}
	t.record(len(t.resources) > 0)
	if r != t.total && !t.inPage { // the last of several redirects says what the sample's result is
		total := t.total
		total.code, total.message, total.success, total.kind = r.code, r.message, r.success, r.kind
		total.head, total.body, total.contentType, total.encoding, total.url = r.head, r.body, r.contentType, r.encoding,
			r.url
		total.unpacked, total.lost = r.unpacked, r.lost
	}
	if t.inPage && !r.success && t.total.success {
		if v, _ := t.program.property("httpsampler.ignore_failed_embedded_resources"); v != "true" {
			t.total.success = false
			t.total.message = "Embedded resource download error:" + r.url + " code:" + r.code + " message:" + r.message
		}
	}
	if h.embedded && !t.inPage && t.total.success && t.total.kind == "text" {
		if r != t.total {
			t.resources = t.resourcesOf(h)
		}
		t.inPage = true
	}
	if t.inPage && len(t.resources) > 0 && lost == nil {
		u := t.resources[0]
		t.resources = t.resources[1:]
		if t.out = h.request(t, "GET", u, "", "", false); !h.cachedNow(t, t.out) {
			t.part = &result{start: t.program.now(), label: t.label}
			return t.send()
		}
	}
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
