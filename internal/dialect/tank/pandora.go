package tank

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/protocol/socket"
)

// pandoraHeader are header fields as Go's net/http keeps them, by canonical name.
type pandoraHeader map[string]string

func (h pandoraHeader) set(name, value string) { h[textproto.CanonicalMIMEHeaderKey(name)] = value }

// pandoraAgent is what Go's net/http sends as User-Agent.
const pandoraAgent = "Go-http-client/1.1"

// fields returns the header fields of a request in the order in which net/http writes them.
func (h pandoraHeader) fields(host string, body []byte, method string) (all [][2]string) {
	if v, ok := h["Host"]; ok && v != "" {
		host = v
	}
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

// add adds a request.
func (s *pandoraSource) add(a *ammo, method, uri string, h pandoraHeader, body []byte, tag string) error {
	u, err := url.Parse(uri)
	if err != nil {
		return fmt.Errorf("%.60q is no URI", secret.Address(uri))
	}
	if u.Host != "" && h["Host"] == "" {
		h["Host"] = u.Host
	}
	path := u.RequestURI()
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%.60q is no path", uri)
	}
	if method == "" {
		method = "GET"
	}
	sh := shot{tag: tag, tagged: tag != ""}
	if s.web {
		w := &webEntry{Method: method, Path: path, Body: body}
		for _, f := range h.fields(s.host, body, method) {
			if f[0] != "Content-Length" {
				w.Header = append(w.Header, f)
			}
		}
		sh.web = w
	} else {
		sh.raw = h.request(nil, method, path, s.host, body)
	}
	a.shots = append(a.shots, sh)
	return nil
}

// read reads a list.
func (s *pandoraSource) read(text []byte) (*ammo, error) {
	common := pandoraHeader{}
	for _, h := range s.headers {
		name, value, err := header(h)
		if err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		common.set(name, value)
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
func (s *pandoraSource) uris(p *scanner, common pandoraHeader, a *ammo) error {
	own := pandoraHeader{}
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
			own.set(name, value)
			continue
		}
		h := maps.Clone(own)
		maps.Copy(h, common)
		if s.kind == "uri" {
			uri, tag, _ := strings.Cut(line, " ")
			if err := s.add(a, "GET", uri, h, nil, strings.TrimSpace(tag)); err != nil {
				return p.fault("%v", err)
			}
			continue
		}
		words := strings.SplitN(line, " ", 3)
		if len(words) < 2 {
			return p.fault("%.60q isn't size, URI and tag", line)
		}
		n, ok := size(words[0])
		if !ok {
			return p.fault("%.60q isn't the size of a body in bytes", words[0])
		}
		body, err := p.block(n)
		if err != nil {
			return err
		}
		tag := ""
		if len(words) == 3 {
			tag = strings.TrimSpace(words[2])
		}
		if err := s.add(a, "POST", words[1], h, body, tag); err != nil {
			return p.fault("%v", err)
		}
	}
}

// raws reads whole requests, each after a line with its size. Fields of the configuration don't replace theirs.
func (s *pandoraSource) raws(p *scanner, common pandoraHeader, a *ammo) error {
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
		text, err := p.block(n)
		if err != nil {
			return err
		}
		head, body, _ := bytes.Cut(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
		if _, rest, ok := bytes.Cut(text, []byte("\r\n\r\n")); ok {
			body = rest
		}
		lines := strings.Split(strings.TrimRight(string(head), "\n"), "\n")
		words := strings.Fields(lines[0])
		if len(words) != 3 {
			return p.fault("%.60q isn't the first line of a request", lines[0])
		}
		h := maps.Clone(common)
		for _, field := range lines[1:] {
			if strings.TrimSpace(field) == "" {
				continue
			}
			name, value, err := header(field)
			if err != nil {
				return p.fault("%v", err)
			}
			h.set(name, value)
		}
		if n, err := strconv.Atoi(h["Content-Length"]); err == nil && n >= 0 && n < len(body) {
			body = body[:n]
		} else if h["Content-Length"] == "" {
			body = nil
		}
		if err := s.add(a, words[0], words[1], h, body, strings.TrimSpace(tag)); err != nil {
			return p.fault("%v", err)
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
func (s *pandoraSource) entities(p *scanner, common pandoraHeader, a *ammo) error {
	d := json.NewDecoder(bytes.NewReader(p.rest))
	var all []entity
	text := bytes.TrimSpace(p.rest)
	line := func() int { return 1 + bytes.Count(p.rest[:d.InputOffset()], []byte("\n")) }
	if bytes.HasPrefix(text, []byte("[")) {
		if err := d.Decode(&all); err != nil {
			p.line = line()
			return p.fault("isn't a list of requests in JSON: %v", err)
		}
	}
	for len(all) == 0 || !bytes.HasPrefix(text, []byte("[")) {
		if !d.More() {
			break
		}
		var e entity
		if err := d.Decode(&e); err != nil {
			p.line = line()
			return p.fault("isn't a request in JSON: %v", err)
		}
		all = append(all, e)
	}
	for i, e := range all {
		h := maps.Clone(common)
		for _, name := range sortedKeys(e.Headers) {
			if !strings.EqualFold(name, "host") {
				h.set(name, e.Headers[name])
			}
		}
		if e.Host != "" {
			h["Host"] = e.Host
		}
		if err := s.add(a, e.Method, e.URI, h, []byte(e.Body), e.Tag); err != nil {
			return fmt.Errorf("%s: request %d: %w", s.name, i+1, err)
		}
	}
	return nil
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
