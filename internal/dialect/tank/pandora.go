package tank

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/protocol/socket"
)

// pandoraHeader are header fields of requests of scenarios as Go's net/http keeps them, by canonical name.
type pandoraHeader map[string]string

func (h pandoraHeader) set(name, value string) { h[textproto.CanonicalMIMEHeaderKey(name)] = value }

// pandoraAgent is what Go's net/http sends as User-Agent.
const pandoraAgent = "Go-http-client/1.1"

// fields returns the header fields of a request in the order in which net/http writes them. It takes Host from the URI,
// or from the target, and never from a field.
func (h pandoraHeader) fields(host string, body []byte, method string) (all [][2]string) {
	agent := pandoraAgent
	if v, ok := h["User-Agent"]; ok {
		agent = v
	}
	all = append(all, [2]string{"Host", host})
	if agent != "" {
		all = append(all, [2]string{"User-Agent", agent})
	}
	if len(body) > 0 || slices.Contains([]string{"POST", "PUT", "PATCH"}, method) {
		all = append(all, [2]string{"Content-Length", strconv.Itoa(len(body))})
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if !slices.Contains([]string{"Host", "User-Agent", "Content-Length", "Transfer-Encoding"}, name) {
			all = append(all, [2]string{name, h[name]})
		}
	}
	return all
}

// request appends a request in HTTP/1.1.
func (h pandoraHeader) request(b []byte, method, uri, host string, body []byte) []byte {
	if method == "" {
		method = "GET"
	}
	b = fmt.Appendf(b, "%s %s HTTP/1.1\r\n", method, uri)
	for _, f := range h.fields(host, body, method) {
		value := strings.NewReplacer("\r", " ", "\n", " ").Replace(f[1])
		b = append(append(append(append(b, f[0]...), ": "...), value...), "\r\n"...)
	}
	return append(append(b, "\r\n"...), body...)
}

// pandoraSource says how Pandora's lists become requests.
type pandoraSource struct {
	name    string // of the file, for errors
	kind    string // one of pandoraKinds
	headers []string
	host    string // usual Host: that of the target, without its port
	web     bool   // the head is written when a request is sent, in HTTP/2 if need be
}

// pandoraKinds are the providers whose lists are read, with the other names that they have.
var pandoraKinds = map[string]string{"uri": "uri", "uripost": "uripost", "raw": "raw", "http/json": "json",
	"jsonline": "json"}

// make returns a request with its own header fields.
func (s *pandoraSource) make(method, uri string, h http.Header, body []byte) (*http.Request, error) {
	req, err := http.NewRequest(method, uri, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%.60q is no URI", secret.Address(uri))
	}
	s.fill(req, h)
	return req, nil
}

// fill adds header fields that a request doesn't have.
func (s *pandoraSource) fill(req *http.Request, h http.Header) {
	for name, values := range h {
		if _, ok := req.Header[name]; ok {
			continue
		}
		if name == "Host" {
			req.Host = cmp.Or(req.Host, values[0])
		} else {
			req.Header[name] = values
		}
	}
}

// add adds a request, as Go's net/http writes it.
func (s *pandoraSource) add(a *ammo, req *http.Request, tag string) error {
	path := req.URL.RequestURI()
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%.60q is no path", secret.Address(req.URL.String()))
	}
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return fmt.Errorf("the body of the request isn't whole: %w", err)
		}
		if req.Body = http.NoBody; len(body) > 0 {
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
	}
	req.Host, req.URL.Host = cmp.Or(req.Host, s.host), cmp.Or(req.URL.Host, s.host)
	var b bytes.Buffer
	if err := req.Write(&b); err != nil {
		return err
	}
	sh := shot{tag: tag, tagged: tag != "", raw: b.Bytes()}
	if s.web {
		head, _, _ := strings.Cut(b.String(), "\r\n\r\n")
		w := &webEntry{Method: cmp.Or(req.Method, "GET"), Path: path, Body: body}
		for _, line := range strings.Split(head, "\r\n")[1:] {
			name, value, _ := strings.Cut(line, ": ")
			if name != "Content-Length" && name != "Transfer-Encoding" {
				w.Header = append(w.Header, [2]string{name, value})
			}
		}
		sh.raw, sh.web = nil, w
	}
	a.shots = append(a.shots, sh)
	return nil
}

// read reads a list.
func (s *pandoraSource) read(text []byte) (*ammo, error) {
	common := http.Header{}
	for _, h := range s.headers {
		name, value, err := header(h)
		if err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		common.Add(name, value)
	}
	a, p := &ammo{}, &scanner{name: s.name, rest: unmarked(text)}
	var err error
	switch s.kind {
	case "uri", "uripost":
		err = s.uris(p, common, a)
	case "raw":
		err = s.raws(p, common, a)
	case "json":
		err = s.entities(p, common, a)
	}
	if err == nil && len(a.shots) == 0 {
		err = fmt.Errorf("%s: no request in this list", s.name)
	}
	return a, err
}

// uris reads lists of URIs, with bodies for uripost. Fields of the configuration replace those of the list.
func (s *pandoraSource) uris(p *scanner, common http.Header, a *ammo) error {
	own := http.Header{}
	for {
		line, ok := p.next()
		if !ok {
			return nil
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if line[0] == '[' {
			name, value, err := header(line)
			if err != nil {
				return p.fault("%v", err)
			}
			own.Set(name, value)
			continue
		}
		h := own.Clone()
		for name, values := range common {
			h.Set(name, values[len(values)-1])
		}
		method, uri, tag, body := "GET", "", "", []byte(nil)
		if s.kind == "uri" {
			uri, tag, _ = strings.Cut(line, " ")
		} else {
			words := append(strings.SplitN(line, " ", 3), "")
			if len(words) < 3 {
				return p.fault("%.60q isn't size, URI and tag", line)
			}
			n, ok := size(words[0])
			if !ok {
				return p.fault("%.60q isn't the size of a body in bytes", words[0])
			}
			var err error
			if body, err = p.block(n); err != nil {
				return err
			}
			method, uri, tag = "POST", words[1], words[2]
		}
		req, err := s.make(method, uri, h, body)
		if err == nil {
			err = s.add(a, req, tag)
		}
		if err != nil {
			return p.fault("%v", err)
		}
	}
}

// raws reads whole requests, each after a line with its size. Fields of the configuration don't replace theirs.
func (s *pandoraSource) raws(p *scanner, common http.Header, a *ammo) error {
	for {
		line, ok := p.next()
		if !ok {
			return nil
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		word, tag, _ := strings.Cut(line, " ")
		n, ok := size(word)
		if !ok {
			return p.fault("%.60q isn't the size of a request in bytes", word)
		}
		if n == 0 {
			continue
		}
		at := p.line
		text, err := p.block(n)
		if err != nil {
			return err
		}
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err == nil {
			s.fill(req, common)
			err = s.add(a, req, tag)
		}
		if err != nil {
			return (&scanner{name: p.name, line: at}).fault("these %d bytes are no request: %v", n, err)
		}
	}
}

// entity is a request of a list in JSON.
type entity struct {
	Host    string            `json:"host"`
	Method  string            `json:"method"`
	URI     string            `json:"uri"`
	Headers map[string]string `json:"headers"`
	Tag     string            `json:"tag"`
	Body    string            `json:"body"`
}

// entities reads requests in JSON: a list, or one after the other.
func (s *pandoraSource) entities(p *scanner, common http.Header, a *ammo) error {
	d := json.NewDecoder(bytes.NewReader(p.rest))
	listed := bytes.HasPrefix(bytes.TrimSpace(p.rest), []byte("["))
	if listed {
		_, _ = d.Token()
	}
	wrong := func(what string, err error) error {
		p.line = 1 + bytes.Count(p.rest[:d.InputOffset()], []byte("\n"))
		if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
			err = errors.New("the list ends in the middle")
		}
		return p.fault("%s: %v", what, err)
	}
	for d.More() {
		var e entity
		if err := d.Decode(&e); err != nil {
			return wrong("isn't a request in JSON", err)
		}
		if err := s.entity(&e, common, a); err != nil {
			return wrong(fmt.Sprintf("request %d", len(a.shots)+1), err)
		}
	}
	if listed {
		if _, err := d.Token(); err != nil {
			return wrong("isn't a list of requests in JSON", err)
		}
	}
	return nil
}

// entity adds a request.
func (s *pandoraSource) entity(e *entity, common http.Header, a *ammo) error {
	h := common.Clone()
	for _, name := range sortedKeys(e.Headers) {
		h.Set(name, e.Headers[name])
	}
	if !strings.HasPrefix(e.URI, "/") {
		return fmt.Errorf("%.60q is no path", secret.Address(e.URI))
	}
	req, err := s.make(e.Method, "http://"+e.Host+e.URI, h, []byte(e.Body))
	if err != nil {
		return err
	}
	return s.add(a, req, e.Tag)
}

// autotag returns the beginning of a path, with so many elements.
func autotag(elements int, raw []byte, web *webEntry) string {
	path := ""
	if web != nil {
		path = web.Path
	} else if words := strings.SplitN(string(raw[:min(len(raw), 64<<10)]), " ", 3); len(words) == 3 {
		path = words[1]
	}
	path, _, _ = strings.Cut(path, "?")
	if text, err := url.PathUnescape(path); err == nil {
		path = text
	}
	for i := range len(path) {
		if path[i] == '/' {
			if elements == 0 {
				return path[:i]
			}
			elements--
		}
	}
	return path
}

// hostOnly returns an address without its port.
func hostOnly(address string) string {
	return socket.WithoutZone(socket.Host(address))
}
