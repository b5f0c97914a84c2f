package tank

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/secret"
)

// shot is a request of a list.
type shot struct {
	tag    string
	tagged bool       // the list gives the tag
	raw    []byte     // as it is sent, in HTTP/1
	web    *webEntry  // instead of raw
	call   *callEntry // likewise
	stream int        // that sends it
	origin string     // scheme://host:port if streams have different addresses
}

// webEntry is a request of which brunt writes the head.
type webEntry struct {
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Header [][2]string `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// ammo is a list of requests, which is repeated.
type ammo struct {
	shots []shot
	// first is how many of them are sent once: header fields that stand at the end of a list are those of its first
	// requests when it is repeated.
	first   int
	skipped int // lines that are no request
	// sequence has, of several streams, the position in shots of each request of the load.
	sequence []int32
}

// pass is how many requests one pass has.
func (a *ammo) pass() int {
	if a.sequence != nil {
		return len(a.sequence)
	}
	return len(a.shots) - a.first
}

// at returns the position in shots of request number i of the load.
func (a *ammo) at(i uint64) int {
	if n := uint64(len(a.sequence)); n > 0 {
		return int(a.sequence[i%n])
	}
	if i < uint64(a.first) {
		return int(i)
	}
	return a.first + int((i-uint64(a.first))%uint64(a.pass()))
}

// maxAmmo is the greatest size of a list that is read, in bytes.
const maxAmmo = 256 << 20

// readFile reads a list, which may be packed by gzip.
func readFile(path string) ([]byte, error) {
	if strings.Contains(path, "://") {
		return nil, fmt.Errorf("%s isn't downloaded; fetch it first, and name the file", secret.Address(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("can't open %s: %w", path, errors.Unwrap(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("can't read %s: it is a folder", path)
	}
	var in io.Reader
	head := make([]byte, 2)
	if n, _ := io.ReadFull(f, head); n == 2 && head[0] == 0x1f && head[1] == 0x8b {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("can't read %s: %w", path, err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("can't read %s: %w", path, err)
		}
		in = z
	} else {
		in = io.MultiReader(bytes.NewReader(head[:n]), f)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxAmmo+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("can't read %s: %w", path, err)
	case len(text) > maxAmmo:
		return nil, fmt.Errorf("%s has more than %d MiB; split it", path, maxAmmo>>20)
	}
	return text, nil
}

// headers are header fields by name, as the stepper keeps them: later ones replace earlier ones of the same spelling.
type headers [][2]string

func (h *headers) set(name, value string) {
	for i := range *h {
		if (*h)[i][0] == name {
			(*h)[i][1] = value
			return
		}
	}
	*h = append(*h, [2]string{name, value})
}

// lines returns the fields as lines.
func (h headers) lines() (all []string) {
	for _, f := range h {
		all = append(all, f[0]+": "+f[1])
	}
	return all
}

// header parses "[Name: value]"; brackets may be missing.
func header(line string) (name, value string, err error) {
	name, value, ok := strings.Cut(strings.Trim(line, "\r\n[]\t "), ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsAny(value, "\r\n") {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ") // what follows may be secret
		return "", "", fmt.Errorf("%.60q is no header field; write [Name: value]", word)
	}
	return name, value, nil
}

// request writes a request as the stepper does: header lines as a set, sorted.
func request(method, uri, version string, lines []string, body []byte) []byte {
	lines = slices.Clone(lines)
	if len(body) > 0 {
		lines = append(lines, "Content-Length: "+strconv.Itoa(len(body)))
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/%s\r\n", method, uri, version)
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// source says how the lists of the stepper become requests.
type source struct {
	name    string // of the file, for errors
	kind    string // one of ammoKinds
	version string // "1.0"
	headers []string
}

// ammoKinds are the formats of lists that the stepper reads and brunt sends.
var ammoKinds = []string{"phantom", "uri", "uripost", "access"}

// unmarked returns the text of a list without a byte order mark, which editors of Windows write.
func unmarked(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// read reads a list.
func (s *source) read(text []byte) (*ammo, error) {
	text = unmarked(text)
	kind := s.kind
	if kind == "phantom" && len(text) > 0 && (text[0] < '0' || text[0] > '9') {
		kind = "uri" // as the stepper, which then says so
	}
	var fields headers
	for _, h := range s.headers {
		name, value, err := header(h)
		if err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		fields.set(name, value)
	}
	a := &ammo{}
	pass := func() error {
		p := scanner{name: s.name, rest: text}
		switch kind {
		case "uri":
			return s.uris(&p, &fields, a)
		case "uripost":
			return s.posts(&p, &fields, a)
		case "phantom":
			return s.chunks(&p, a)
		case "access":
			return s.accesses(&p, a)
		}
		return fmt.Errorf("unknown ammo_type %q; use %s", kind, strings.Join(ammoKinds, ", "))
	}
	if err := pass(); err != nil {
		return nil, err
	}
	if len(a.shots) == 0 {
		return nil, fmt.Errorf("%s: no request in this list (ammo_type: %s)", s.name, kind)
	}
	if kind == "uri" || kind == "uripost" {
		n := len(a.shots)
		if err := pass(); err != nil {
			return nil, err
		}
		same := slices.EqualFunc(a.shots[:n], a.shots[n:], func(x, y shot) bool { return bytes.Equal(x.raw, y.raw) })
		if same {
			a.shots = a.shots[:n]
		} else {
			a.first = n
		}
	}
	return a, nil
}

// scanner reads lines and blocks of a text.
type scanner struct {
	name string
	rest []byte
	line int // of what was read last, from 1
}

// next returns the next line without its end.
func (p *scanner) next() (line string, ok bool) {
	if len(p.rest) == 0 {
		return "", false
	}
	text, rest, _ := bytes.Cut(p.rest, []byte("\n"))
	p.rest = rest
	p.line++
	return strings.TrimRight(string(text), "\r"), true
}

// block returns the next n bytes.
func (p *scanner) block(n int) ([]byte, error) {
	if n > len(p.rest) {
		return nil, p.fault("the list ends in the middle: %d bytes follow instead of %d", len(p.rest), n)
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	p.line += bytes.Count(b, []byte("\n"))
	return b, nil
}

func (p *scanner) fault(format string, args ...any) error {
	return fmt.Errorf("%s:%d:1: %s", p.name, p.line, fmt.Sprintf(format, args...))
}

func (s *source) uris(p *scanner, fields *headers, a *ammo) error {
	for {
		line, ok := p.next()
		if !ok {
			return nil
		}
		if strings.HasPrefix(line, "[") {
			name, value, err := header(line)
			if err != nil {
				return p.fault("%v", err)
			}
			fields.set(name, value)
			continue
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if !printable(words[0]) {
			return p.fault("%.60q is no URI", secret.Address(words[0]))
		}
		sh := shot{raw: request("GET", words[0], s.version, fields.lines(), nil)}
		if len(words) > 1 {
			sh.tag, sh.tagged = words[1], true
		}
		a.shots = append(a.shots, sh)
	}
}

// printable reports whether a URI has no control characters, as binary files have.
func printable(uri string) bool {
	return !strings.ContainsFunc(uri, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// size parses the first word of a block's header.
func size(word string) (int, bool) {
	n, err := strconv.Atoi(word)
	return n, err == nil && n >= 0 && n <= maxAmmo
}

func (s *source) posts(p *scanner, fields *headers, a *ammo) error {
	for {
		line, ok := p.next()
		switch {
		case !ok:
			return nil
		case line == "":
			continue
		case strings.HasPrefix(line, "["):
			name, value, err := header(line)
			if err != nil {
				return p.fault("%v", err)
			}
			fields.set(name, value)
			continue
		}
		words := strings.Fields(line)
		if len(words) < 2 {
			return p.fault("%.60q isn't size, URI and tag", line)
		}
		n, ok := size(words[0])
		if !ok {
			return p.fault("%.60q isn't the size of a body in bytes", words[0])
		}
		if !printable(words[1]) {
			return p.fault("%.60q is no URI", secret.Address(words[1]))
		}
		body, err := p.block(n)
		if err != nil {
			return err
		}
		sh := shot{raw: request("POST", words[1], s.version, fields.lines(), body)}
		if len(words) > 2 {
			sh.tag, sh.tagged = words[2], true
		}
		a.shots = append(a.shots, sh)
	}
}

// chunks reads requests as they are sent, each after a line with its size. A size of 0 ends the list.
func (s *source) chunks(p *scanner, a *ammo) error {
	for {
		line, ok := p.next()
		switch {
		case !ok:
			return nil
		case line == "":
			continue
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			return p.fault("%.60q isn't size and tag", line)
		}
		n, ok := size(words[0])
		if !ok {
			return p.fault("%.60q isn't the size of a request in bytes", words[0])
		}
		if n == 0 {
			return nil
		}
		raw, err := p.block(n)
		if err != nil {
			return err
		}
		sh := shot{raw: raw}
		if len(words) > 1 {
			sh.tag, sh.tagged = words[1], true
		}
		a.shots = append(a.shots, sh)
	}
}

// accesses reads the log of a web server. Lines without a GET are skipped.
func (s *source) accesses(p *scanner, a *ammo) error {
	lines := make([]string, len(s.headers))
	for i, h := range s.headers {
		lines[i] = strings.Trim(h, "[]")
	}
	for {
		line, ok := p.next()
		if !ok {
			return nil
		}
		parts := strings.Split(line, `"`)
		if len(parts) < 2 {
			a.skipped++
			continue
		}
		words := strings.Fields(parts[1])
		if len(words) != 3 || words[0] != "GET" || !strings.Contains(words[2], "/") {
			a.skipped++
			continue
		}
		version := strings.Split(words[2], "/")[1]
		a.shots = append(a.shots, shot{raw: request("GET", words[1], version, lines, nil)})
	}
}

// list makes the requests of the option uris.
func (s *source) list(uris []string) (*ammo, error) {
	lines := make([]string, len(s.headers))
	for i, h := range s.headers {
		if _, _, err := header(h); err != nil {
			return nil, err
		}
		lines[i] = strings.Trim(h, "[]")
	}
	a := &ammo{}
	for _, uri := range uris {
		if uri != "" {
			a.shots = append(a.shots, shot{raw: request("GET", uri, s.version, lines, nil)})
		}
	}
	return a, nil
}

// tagging says how requests without a tag get one.
type tagging struct {
	auto string // "0", a number of parts of the path, "uri" or "uniq"
	enum bool   // a number is added
}

// check reports an unknown rule.
func (t *tagging) check() error {
	if t.auto == "uri" || t.auto == "uniq" {
		return nil
	}
	if n, err := strconv.Atoi(t.auto); err != nil || n < 0 {
		return fmt.Errorf("autocases %q is no number of parts of the path, uri or uniq", t.auto)
	}
	return nil
}

// of returns the tag of a request without one.
func (t *tagging) of(raw []byte) string {
	parts := -1
	switch t.auto {
	case "uniq":
		return "uniq" // the number of the request is added
	case "uri":
	default:
		if parts, _ = strconv.Atoi(t.auto); parts == 0 {
			return ""
		}
	}
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	words := strings.SplitN(string(line), " ", 3)
	if len(words) < 2 {
		return ""
	}
	path, _, _ := strings.Cut(words[1], "?")
	elements := strings.Split(path, "/")
	if parts > 0 && len(elements) > parts+1 {
		elements = elements[:parts+1]
	}
	return strings.Join(elements, "_")
}

// apply gives tags to requests without one, and keeps only those with one of the chosen tags, if there are any.
func (t *tagging) apply(a *ammo, chosen []string) error {
	if err := t.check(); err != nil {
		return err
	}
	kept := &ammo{skipped: a.skipped}
	for i := range a.shots {
		sh := a.shots[i]
		if !sh.tagged {
			sh.tag = t.of(sh.raw)
		}
		if len(chosen) > 0 && !slices.Contains(chosen, sh.tag) {
			continue
		}
		if i < a.first {
			kept.first++
		}
		kept.shots = append(kept.shots, sh)
	}
	if kept.pass() == 0 {
		return fmt.Errorf("no request has one of the chosen tags %s", strings.Join(chosen, ", "))
	}
	*a = *kept
	return nil
}

// missiles reads lists of one path a line (line), with a tag before it if there is a tab (caseline).
func missiles(name, kind, base string, text []byte) (*ammo, error) {
	p := scanner{name: name, rest: unmarked(text)}
	a := &ammo{}
	for {
		line, ok := p.next()
		if !ok {
			break
		}
		var sh shot
		if tag, path, ok := strings.Cut(line, "\t"); ok && kind == "caseline" {
			sh.tag, sh.tagged, line = tag, true, path
		}
		if line == "" {
			return nil, p.fault("the line is empty; write a path")
		}
		if !printable(line) {
			return nil, p.fault("%.60q is no path", secret.Address(line))
		}
		sh.web = &webEntry{Method: "GET", Path: base + line}
		a.shots = append(a.shots, sh)
	}
	if len(a.shots) == 0 {
		return nil, fmt.Errorf("%s: no request in this list (ammo_type: %s)", name, kind)
	}
	return a, nil
}

// stpd reads a list of requests with times in ms, which the stepper has made.
func stpd(name string, text []byte) (a *ammo, timesMs []int64, err error) {
	p := scanner{name: name, rest: unmarked(text)}
	a = &ammo{}
	for {
		line, ok := p.next()
		if !ok {
			break
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		n, ok := size(words[0])
		if !ok || len(words) < 2 {
			return nil, nil, p.fault("%.60q isn't size, time in ms and tag", line)
		}
		at, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil || at < 0 || at > mostMs {
			return nil, nil, p.fault("%.60q is no time in ms", words[1])
		}
		raw, err := p.block(n)
		if err != nil {
			return nil, nil, err
		}
		sh := shot{raw: raw, tagged: true}
		if len(words) > 2 {
			sh.tag = strings.TrimSuffix(strings.TrimPrefix(words[2], "b'"), "'")
		}
		a.shots, timesMs = append(a.shots, sh), append(timesMs, at)
	}
	if len(a.shots) == 0 {
		return nil, nil, fmt.Errorf("%s: no request in this file", name)
	}
	return a, timesMs, nil
}

// jsonEntry is a line of a list in JSON.
type jsonEntry struct {
	N      int        `json:"n"` // position in the list
	Tag    string     `json:"tag,omitempty"`
	Tagged bool       `json:"tagged,omitempty"`
	Raw    string     `json:"raw,omitempty"`
	Raw64  []byte     `json:"raw64,omitempty"`
	Web    *webEntry  `json:"web,omitempty"`
	Call   *callEntry `json:"call,omitempty"`
	Stream int        `json:"stream,omitempty"`
	Origin string     `json:"origin,omitempty"`
}

// encode returns a line of an operation's text, without secrets.
func (sh *shot) encode(n int, v *veil) string {
	e := jsonEntry{N: n, Tag: sh.tag, Tagged: sh.tagged, Web: v.web(sh.web), Call: v.call(sh.call),
		Stream: sh.stream, Origin: sh.origin}
	raw := v.raw(sh.raw)
	if text := string(raw); strings.ToValidUTF8(text, "") == text {
		e.Raw = text
	} else {
		e.Raw64 = raw
	}
	return asJSON(&e)
}

// asJSON returns a value as a line of JSON.
func asJSON(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // a buffer takes everything
	return b.String()
}
