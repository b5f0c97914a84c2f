package tank

import (
	"bytes"
	"cmp"
	"fmt"
	htmltemplate "html/template"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"brunt/internal/base/markup"
	"brunt/internal/base/secret"
	"brunt/internal/dialect/calls"
	"brunt/internal/load/gen"
)

// scenarioStep is a request of a scenario in plans.
type scenarioStep struct {
	Name     string            `json:"name"`
	Method   string            `json:"method"`
	URI      string            `json:"uri"`
	Headers  map[string]string `json:"headers,omitempty"`
	Body     string            `json:"body,omitempty"`
	HTML     bool              `json:"html,omitempty"` // templates escape for HTML
	Before   map[string]string `json:"before,omitempty"`
	After    []postprocessor   `json:"after,omitempty"`
	PauseNs  int64             `json:"pause_ns,omitempty"` // after the request
	Call     *callStep         `json:"call,omitempty"`     // not nil: gRPC
	template *stepTemplates
}

// postprocessor is what is done with an answer.
type postprocessor struct {
	Type    string            `json:"type"` // one of postprocessors
	Mapping map[string]string `json:"mapping,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // assert/response: parts of fields
	Body    []string          `json:"body,omitempty"`    // … of the body
	Status  int               `json:"status,omitempty"`
	Size    int               `json:"size,omitempty"`
	SizeOp  string            `json:"size_op,omitempty"` // "": the size isn't checked

	json  map[string]jsonPath
	heads map[string]headerValue
}

var postprocessors = []string{"var/jsonpath", "var/xpath", "var/header", "assert/response"}

// scenario is an operation's text in plans.
type scenario struct {
	Name   string         `json:"name"`
	LeastS float64        `json:"least_s,omitempty"` // seconds that it takes at least
	Steps  []scenarioStep `json:"steps"`
}

// stepTemplates are the compiled templates of a step.
type stepTemplates struct {
	uri, body *compiled
	headers   []namedTemplate
	call      *callTemplates
}

type namedTemplate struct {
	name string
	text *compiled
}

// compiled is a template of Go's text/template or html/template.
type compiled struct {
	text *template.Template
	html *htmltemplate.Template
}

// executor fills in a template.
type executor interface {
	Execute(w io.Writer, data any) error
}

func parseTemplate(name, text string, html bool) (c *compiled, err error) {
	c = &compiled{}
	if html {
		c.html, err = htmltemplate.New(name).Funcs(htmltemplate.FuncMap(functions(noRandom))).Parse(text)
	} else {
		c.text, err = template.New(name).Funcs(functions(noRandom)).Parse(text)
	}
	return c, err
}

// with returns a copy with other functions.
func (c *compiled) with(f template.FuncMap) (executor, error) {
	if c.html != nil {
		own, err := c.html.Clone()
		if err != nil {
			return nil, err
		}
		return own.Funcs(htmltemplate.FuncMap(f)), nil
	}
	own, err := c.text.Clone()
	if err != nil {
		return nil, err
	}
	return own.Funcs(f), nil
}

// noRandom is used while templates are parsed.
func noRandom() *rand.Rand { return nil }

// compile compiles a step's templates and postprocessors.
func (s *scenarioStep) compile() error {
	parse := func(what, text string) (*compiled, error) {
		t, err := parseTemplate(what, text, s.HTML)
		if err != nil {
			return nil, fmt.Errorf("request %s: %s", s.Name, strings.TrimPrefix(err.Error(), "template: "))
		}
		return t, nil
	}
	s.template = &stepTemplates{}
	var err error
	if s.Call != nil {
		if s.template.call, err = s.Call.compile(); err != nil {
			return fmt.Errorf("call %s: %s", s.Name, strings.TrimPrefix(err.Error(), "template: "))
		}
	}
	if s.template.uri, err = parse("uri", s.URI); err != nil {
		return err
	}
	if s.template.body, err = parse("body", s.Body); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		t, err := parse("header "+name, s.Headers[name])
		if err != nil {
			return err
		}
		s.template.headers = append(s.template.headers, namedTemplate{name, t})
	}
	for i := range s.After {
		if err := s.After[i].compile(); err != nil {
			return fmt.Errorf("request %s: %s: %w", s.Name, s.After[i].Type, err)
		}
	}
	return nil
}

func (p *postprocessor) compile() (err error) {
	switch p.Type {
	case "var/jsonpath":
		p.json = map[string]jsonPath{}
		for name, text := range p.Mapping {
			if p.json[name], err = parseJSONPath(text); err != nil {
				return err
			}
		}
	case "var/xpath":
		for _, name := range sortedKeys(p.Mapping) {
			if err := markup.CheckXPath(p.Mapping[name]); err != nil {
				return err
			}
		}
	case "var/header":
		p.heads = map[string]headerValue{}
		for name, text := range p.Mapping {
			if p.heads[name], err = parseHeaderValue(text); err != nil {
				return err
			}
		}
	case "assert/response":
		if !slices.Contains([]string{"", "eq", "=", "lt", "<", "gt", ">"}, p.SizeOp) {
			return fmt.Errorf("unknown op %q of size; use =, < or >", p.SizeOp)
		}
	default:
		return fmt.Errorf("unknown type; use %s", strings.Join(postprocessors, ", "))
	}
	return nil
}

// headerValue is a header field with what is done to its value, such as Authorization|lower|substr(6).
type headerValue struct {
	name string
	then []func(string) string
}

func parseHeaderValue(text string) (h headerValue, err error) {
	words := strings.Split(text, "|")
	h.name = words[0]
	for _, word := range words[1:] {
		name, rest, _ := strings.Cut(word, "(")
		var args []string
		if rest = strings.TrimSuffix(rest, ")"); rest != "" {
			args = strings.Split(rest, ",")
			for i := range args {
				args[i] = strings.TrimSpace(args[i])
			}
		}
		switch {
		case name == "lower":
			h.then = append(h.then, strings.ToLower)
		case name == "upper":
			h.then = append(h.then, strings.ToUpper)
		case name == "replace" && len(args) == 2:
			h.then = append(h.then, func(s string) string { return strings.ReplaceAll(s, args[0], args[1]) })
		case name == "substr" && (len(args) == 1 || len(args) == 2):
			cut, err := substr(args)
			if err != nil {
				return h, err
			}
			h.then = append(h.then, cut)
		default:
			return h, fmt.Errorf("%q isn't lower, upper, substr(from, length) or replace(search, replacement)", word)
		}
	}
	return h, nil
}

func substr(args []string) (func(string) string, error) {
	var at [2]int
	for i, arg := range args {
		var err error
		if at[i], err = strconv.Atoi(arg); err != nil {
			return nil, fmt.Errorf("substr: %q is no whole number", arg)
		}
	}
	return func(s string) string {
		from, to := at[0], at[1]
		if from < 0 {
			from += len(s)
		}
		if to <= 0 {
			to += len(s)
		}
		from, to = max(min(from, len(s)), 0), max(min(to, len(s)), 0)
		return s[min(from, to):max(from, to)]
	}, nil
}

// answer is what postprocessors see of an answer.
type answer struct {
	status int
	head   []byte // lines
	body   []byte
	text   []byte // of a call: the message in protobuf's text format
}

// field returns a header field; "" if there is none.
func (a *answer) field(name string) string {
	for line := range bytes.SplitSeq(a.head, []byte("\n")) {
		if n, value, ok := bytes.Cut(line, []byte(":")); ok && strings.EqualFold(string(bytes.TrimSpace(n)), name) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// do adds what the postprocessor takes from an answer to vars. An error ends the scenario.
func (p *postprocessor) do(a *answer, vars map[string]any) error {
	switch p.Type {
	case "var/jsonpath":
		v, err := decodeJSON(a.body)
		if err != nil {
			return fmt.Errorf("the answer isn't JSON: %w", err)
		}
		for name, path := range p.json {
			if vars[name], err = path.get(v); err != nil {
				return fmt.Errorf("%s: %w", p.Mapping[name], err)
			}
		}
	case "var/xpath":
		doc, err := markup.Parse(string(a.body), true)
		if err != nil {
			return err
		}
		for name, query := range p.Mapping {
			if vars[name], err = findXPath(doc, query); err != nil {
				return err
			}
		}
	case "var/header":
		for name, h := range p.heads {
			v := a.field(h.name)
			if v == "" {
				continue
			}
			for _, then := range h.then {
				v = then(v)
			}
			vars[name] = v
		}
	case "assert/response":
		return p.assert(a)
	}
	return nil
}

func (p *postprocessor) assert(a *answer) error {
	body := a.body
	if a.text != nil {
		body = a.text
	}
	for _, part := range p.Body {
		if !bytes.Contains(body, []byte(part)) {
			return fmt.Errorf("assert failed: body does not contain %s", part)
		}
	}
	for name, part := range p.Headers {
		if !strings.Contains(a.field(name), part) {
			return fmt.Errorf("assert failed: header %s does not contain %s", name, part)
		}
	}
	if p.Status != 0 && p.Status != a.status {
		return fmt.Errorf("assert failed: expect code %d, receive code %d", p.Status, a.status)
	}
	n := len(a.body)
	good := true
	switch p.SizeOp {
	case "eq", "=":
		good = n == p.Size
	case "lt", "<":
		good = n <= p.Size
	case "gt", ">":
		good = n >= p.Size
	}
	if !good {
		return fmt.Errorf("assert failed: expect size %s %d, receive size %d", p.SizeOp, p.Size, n)
	}
	return nil
}

// player plays scenarios for a session.
type player struct {
	program *Program
	random  *rand.Rand
	own     map[*compiled]executor // with the session's functions

	scenario *scenario
	at       int // index of the step under way
	began    time.Time
	vars     map[string]any // source and request
	requests map[string]any
	text     []byte
	args     []gen.Value // of a call
}

// begin begins a scenario for operation number index.
func (p *player) begin(s *scenario, index uint64) {
	p.random = rand.New(rand.NewPCG(p.program.seed, index))
	p.scenario, p.at, p.began = s, 0, time.Now()
	p.requests = map[string]any{}
	p.vars = map[string]any{"source": p.program.sources, "request": p.requests}
}

// prepare sets the variables of the step under way before its request.
func (p *player) prepare() error {
	s := &p.scenario.Steps[p.at]
	vars := map[string]any{}
	p.requests[s.Name] = vars
	if s.Before != nil {
		before := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Before)) {
			text := s.Before[name]
			v, ok, err := call(text, p.vars, p.program.next, p.random)
			if ok && err == nil {
				before[name] = v
				continue
			}
			if err == nil {
				before[name], err = lookup(p.vars, text, p.program.next, p.random)
			}
			if err != nil {
				return fmt.Errorf("request %s: preprocessor: %w", s.Name, err)
			}
		}
		vars["preprocessor"] = before
	}
	return nil
}

// next makes the request of the step under way.
func (p *player) next() ([]byte, error) {
	s := &p.scenario.Steps[p.at]
	if err := p.prepare(); err != nil {
		return nil, err
	}
	uri, err := p.execute(s.template.uri)
	if err != nil {
		return nil, err
	}
	body, err := p.execute(s.template.body)
	if err != nil {
		return nil, err
	}
	h := pandoraHeader{}
	for _, t := range s.template.headers {
		v, err := p.execute(t.text)
		if err != nil {
			return nil, err
		}
		h.set(t.name, v)
	}
	path, host, err := requestLine(uri, p.program.host)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", s.Name, err)
	}
	p.text = h.request(p.text[:0], s.Method, path, host, []byte(body))
	return p.text, nil
}

// requestLine returns what net/http sends for a URI: its path and query, and Host.
func requestLine(uri, host string) (path, sentHost string, err error) {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/-_.~?=&+,", c)
	}
	if strings.HasPrefix(uri, "/") && !strings.HasPrefix(uri, "//") &&
		!strings.ContainsFunc(uri, func(c rune) bool { return !plain(c) }) {
		return uri, host, nil
	}
	req, err := http.NewRequest(http.MethodGet, uri, nil)
	if err != nil {
		return "", "", fmt.Errorf("%.80q is no URI", secret.Address(uri))
	}
	if path = req.URL.RequestURI(); !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "\r\n") {
		return "", "", fmt.Errorf("%.80q is no path", secret.Address(uri))
	}
	return path, cmp.Or(req.Host, host), nil
}

func (p *player) execute(t *compiled) (string, error) {
	own := p.own[t]
	if own == nil {
		var err error
		if own, err = t.with(functions(func() *rand.Rand { return p.random })); err != nil {
			return "", err
		}
		p.own[t] = own
	}
	var b strings.Builder
	if err := own.Execute(&calls.Bounded{To: &b}, p.vars); err != nil {
		return "", fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return b.String(), nil
}

// answered takes the answer to the step under way.
func (p *player) answered(a *answer) error {
	s := &p.scenario.Steps[p.at]
	after := map[string]any{}
	for i := range s.After {
		if err := s.After[i].do(a, after); err != nil {
			return err
		}
	}
	vars, _ := p.requests[s.Name].(map[string]any)
	if s.Call == nil {
		vars["postprocessor"] = after
	} else if v, err := decodeJSON(a.body); err == nil {
		vars["postprocessor"] = v // the answer's fields; none if the call failed
	}
	return nil
}

// rest is how long the session pauses when the scenario is over.
func (p *player) rest() time.Duration {
	if p.scenario == nil {
		return 0
	}
	last := time.Duration(p.scenario.Steps[len(p.scenario.Steps)-1].PauseNs)
	least := time.Duration(p.scenario.LeastS*1e9) - time.Since(p.began)
	return max(last, least, 0)
}
