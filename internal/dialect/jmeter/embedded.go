package jmeter

import (
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// The limits of what a page embeds.
const (
	mostResources = 200
	mostFrames    = 5 // nesting of pages and style sheets: JMeter's httpsampler.max_frame_depth
	usualAtOnce   = 4 // if the number isn't one
	mostAtOnce    = 256
)

// embedded fetches the resources of a page, and those of pages and style sheets among them.
type embedded struct {
	thread *thread
	http   *httpRequest
	all    []*resource // of the page itself
	made   []*resource // by number
	queue  []*resource // to be asked for
	lanes  int         // for the names of threads
}

// resource is something that a page embeds.
type resource struct {
	number  int
	depth   int
	out     *outgoing
	result  *result // of the whole
	part    *result // of the request in flight
	hops    int
	embeds  []*resource
	args    [2]gen.Value
	tooDeep bool
	skipped bool // the cache has it
}

var _ script.Lanes = (*embedded)(nil)

func newEmbedded(t *thread, h *httpRequest, urls []*url.URL) *embedded {
	p := &embedded{thread: t, http: h}
	p.all = p.add(urls, 1)
	return p
}

// add puts resources before those that are to be asked for, as JMeter does.
func (p *embedded) add(urls []*url.URL, depth int) (all []*resource) {
	for _, u := range urls {
		r := &resource{number: len(p.made), depth: depth, out: p.http.request(p.thread, "GET", u, "", "", false)}
		p.made = append(p.made, r)
		all = append(all, r)
	}
	p.queue = slices.Insert(p.queue, 0, all...)
	return all
}

// AtOnce implements script.Lanes.
func (p *embedded) AtOnce() int {
	if !p.http.parallel {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimSpace(p.http.most.eval(p.thread)))
	if err != nil {
		n = usualAtOnce
	}
	return min(max(n, 1), mostAtOnce)
}

// Take implements script.Lanes.
func (p *embedded) Take() (number int, args []gen.Value, ok bool) {
	for len(p.queue) > 0 {
		r := p.queue[0]
		p.queue = p.queue[1:]
		if r.result == nil && p.http.cachedNow(p.thread, r.out) {
			r.skipped = true
			continue
		}
		p.begin(r)
		if r.out.refused == nil {
			return r.number, r.out.arguments(true, &r.args), true
		}
		r.part.refused(r.out.refused)
		p.end(r, "")
	}
	return 0, nil, false
}

// begin begins a request for a resource.
func (p *embedded) begin(r *resource) {
	r.part = &result{start: p.thread.program.now()}
	r.part.asks(r.out)
	if r.result == nil {
		r.result = r.part
	}
}

// Answered implements script.Lanes.
func (p *embedded) Answered(number int, reply *protocol.Reply) {
	r := p.made[number]
	head, again := p.thread.hear(r.part, r.out, reply)
	if again {
		p.queue = slices.Insert(p.queue, 0, r)
		return
	}
	p.end(r, head)
}

// end takes the result of a request for a resource, and what it leads to.
func (p *embedded) end(r *resource, head headerLines) {
	t, h := p.thread, p.http
	r.part.end = t.program.now()
	next := h.next(t, r.out, r.part, head, r.hops)
	p.keep(r, next != nil)
	if next != nil {
		r.hops++
		r.out = next
		p.queue = slices.Insert(p.queue, 0, r)
		return
	}
	if last := h.tooFar(r.out, r.part, head, r.hops); last != nil {
		r.result.add(last, t.label)
		r.result.becomes(r.part)
	}
	if !r.part.success || r.part.kind != "text" {
		return
	}
	if r.depth > mostFrames {
		r.tooDeep = true
		return
	}
	r.embeds = p.add(t.resourcesOf(h, r.part, r.out.url), r.depth+1)
}

// keep adds the result of a request to that of its resource.
func (p *embedded) keep(r *resource, more bool) {
	label := p.thread.label
	switch {
	case r.part == r.result && more && !p.http.quietly():
		r.result.split(label)
		r.result.parts[0].unnamed = true
		return
	case r.part == r.result:
		return
	case p.http.quietly():
		r.result.bytes, r.result.sent = r.part.bytes, r.part.sent
	default:
		p.name(r.part)
		r.result.add(r.part, label)
	}
	r.result.becomes(r.part)
	r.result.end = r.part.end
}

// name gives a part the name of a thread: JMeter has some for parallel requests.
func (p *embedded) name(part *result) {
	if p.AtOnce() > 1 {
		p.lanes = p.lanes%p.AtOnce() + 1
		part.thread = "ResDownload-Thread-" + strconv.Itoa(p.lanes)
	}
}

// finish makes the results of the resources parts of the sample.
func (p *embedded) finish() {
	for _, r := range p.all {
		p.join(p.thread.total, r)
	}
	p.blame(p.thread.total)
}

// join adds the result of a resource, with what it embeds, to that of the page.
func (p *embedded) join(page *result, r *resource) {
	if r.skipped || r.result == nil {
		return
	}
	label := p.thread.label
	switch {
	case r.tooDeep:
		deep := *r.result
		deep.parts = nil
		deep.code, deep.message = notHTTP("java.lang.Exception", "Maximum frame/iframe nesting depth exceeded.")
		deep.success = false
		r.result.add(&deep, label)
	case len(r.embeds) > 0 && len(r.result.parts) == 0:
		r.result.split(label)
		r.result.parts[0].unnamed = true
	}
	for _, inner := range r.embeds {
		if inner.result != nil {
			p.name(inner.result)
		}
		p.join(r.result, inner)
		if inner.result != nil && inner.result.end.After(r.result.end) {
			r.result.end = inner.result.end
		}
	}
	if len(r.embeds) > 0 {
		p.blame(r.result)
	}
	page.add(r.result, label)
}

// blame makes a page fail if one of its resources has.
func (p *embedded) blame(page *result) {
	if v, _ := p.thread.program.property("httpsampler.ignore_failed_embedded_resources"); v == "true" {
		return
	}
	text := ""
	for _, r := range page.parts {
		if !r.success {
			text += r.url + " code:" + r.code + " message:" + r.message + ", "
		}
	}
	if text != "" {
		page.success, page.message = false, "Embedded resource download error:"+text
	}
}

// resourcesOf returns the addresses of what a page or style sheet embeds, without duplicates.
func (t *thread) resourcesOf(h *httpRequest, page *result, base *url.URL) (all []*url.URL) {
	only, not := h.embedOnly.eval(t), h.embedNot.eval(t)
	seen := map[string]bool{}
	add := func(base *url.URL, ref string) {
		ref = strings.NewReplacer("\r", "", "\n", "").Replace(strings.TrimSpace(ref))
		if ref == "" {
			return
		}
		u, err := base.Parse(ref)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || seen[u.String()] ||
			len(all) >= mostResources {
			return
		}
		u.Fragment = ""
		seen[u.String()] = true
		if !t.wanted(u.String(), only, true) || t.wanted(u.String(), not, false) {
			return
		}
		all = append(all, u)
	}
	switch kind, _, _ := mime.ParseMediaType(page.contentType); kind {
	case "text/html", "application/xhtml+xml", "application/xml", "text/xml", "text/vnd.wap.wml":
		embeddedInHTML(page.text(), base, add)
	case "text/css":
		for _, ref := range imports(page.text()) {
			add(base, ref)
		}
	}
	return all
}

// embeddedInHTML calls add with what the tags of a page refer to, in their order.
func embeddedInHTML(text string, base *url.URL, add func(base *url.URL, ref string)) {
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if token.Data == "base" {
				if u, err := base.Parse(attribute(&token, "href")); err == nil {
					base = u
				}
			}
			for _, ref := range references(&token) {
				add(base, ref)
			}
		}
	}
}

// wanted reports whether a pattern matches all of a URL; without a pattern, fallback.
func (t *thread) wanted(u, pattern string, fallback bool) bool {
	if pattern == "" {
		return fallback
	}
	re, err := t.program.regex(pattern)
	if err != nil {
		return fallback
	}
	return re.matches(u, true)
}

func attribute(t *html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// styleURL finds what a style attribute refers to.
var styleURL = lazyregexp.New(`(?i)URL\(\s*['"](.*)['"]\s*\)`)

// references returns what JMeter's parser would fetch for a tag.
func references(t *html.Token) (all []string) {
	switch t.Data {
	case "img", "script", "embed", "frame", "iframe", "bgsound":
		all = append(all, attribute(t, "src"))
	case "input":
		if strings.EqualFold(attribute(t, "type"), "image") {
			all = append(all, attribute(t, "src"))
		}
	case "link":
		switch strings.ToLower(attribute(t, "rel")) {
		case "stylesheet", "icon", "shortcut icon", "preload":
			all = append(all, attribute(t, "href"))
		}
	case "applet":
		file := attribute(t, "code")
		if base := attribute(t, "codebase"); strings.TrimSpace(base) != "" {
			if archive := attribute(t, "archive"); strings.TrimSpace(archive) != "" {
				file = archive
			}
			file = base + "/" + file
		}
		all = append(all, file)
	case "object":
		all = append(all, attribute(t, "codebase"), attribute(t, "data"))
	case "base":
	default:
		all = append(all, attribute(t, "background"))
	}
	if m := styleURL().FindStringSubmatch(attribute(t, "style")); m != nil {
		all = append(all, m[1])
	}
	return all
}

var (
	cssComment = lazyregexp.New(`(?s)/\*.*?\*/`)
	cssImport  = lazyregexp.New(`(?i)@import\s+(?:url\(\s*)?(?:"([^"]*)"|'([^']*)'|([^\s;)"']+))`)
)

// imports returns the style sheets that a style sheet imports: of what it refers to, JMeter fetches only these, because
// browsers fetch the rest where a rule applies.
func imports(text string) (all []string) {
	for _, m := range cssImport().FindAllStringSubmatch(cssComment().ReplaceAllString(text, " "), -1) {
		all = append(all, m[1]+m[2]+m[3])
	}
	return all
}
