package wrk

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	httpproto "brunt/internal/protocol/http"
)

// Language is the language of wrk's scripts in plans: Lua (5.1, by gopher-lua). Its options are the command line: url,
// threads, file, header1 …, arg1 …, and secrets
type Language struct{}

var _ script.Language = Language{}

// Name implements script.Language.
func (Language) Name() string { return "wrk" }

// Compile implements script.Language. It runs nothing.
func (Language) Compile(s *script.Source) (script.Program, error) {
	if len(s.Operations) != 1 {
		return nil, fmt.Errorf("a plan has one script of wrk, not %d", len(s.Operations))
	}
	unveil := s.Unveil()
	text := strings.TrimPrefix(unveil(s.Operations[0].Text), "\ufeff") // as Lua does
	p := &Program{Out: os.Stderr, world: &world{file: "script", text: text, patience: patience, memory: mostMemory,
		seed: s.Seed}, threads: 1}
	w := p.world
	w.out = writerFunc(func(b []byte) (int, error) { return p.Out.Write(b) })
	var err error
	address := unveil(s.Options["url"])
	if w.url, err = endpoints.ParseURL(address); err != nil {
		return nil, fmt.Errorf("option url: %w", err)
	}
	if file := s.Options["file"]; file != "" {
		w.file = file
	}
	if n := s.Options["threads"]; n != "" {
		if p.threads, err = strconv.Atoi(n); err != nil || p.threads < 1 || p.threads > 10_000 {
			return nil, fmt.Errorf("option threads: %q isn't a number from 1 to 10000", n)
		}
	}
	for i := 1; s.Options[fmt.Sprint("header", i)] != ""; i++ {
		name, value, _ := strings.Cut(s.Options[fmt.Sprint("header", i)], ": ")
		w.headers = append(w.headers, [2]string{name, unveil(value)})
	}
	w.args = []string{address}
	for i := 1; ; i++ {
		arg, ok := s.Options[fmt.Sprint("arg", i)]
		if !ok {
			break
		}
		w.args = append(w.args, unveil(arg))
	}
	if _, err := parse.Parse(strings.NewReader(text), w.file); err != nil {
		return nil, syntax(err)
	}
	return p, nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// syntax is a syntax error with its place.
func syntax(err error) error {
	e, ok := err.(*parse.Error)
	if !ok {
		return &script.Error{Text: strings.Join(strings.Fields(err.Error()), " ")}
	}
	text := e.Message
	if e.Token != "" {
		text += fmt.Sprintf(" near %q", e.Token)
	}
	return &script.Error{Line: max(e.Pos.Line, 0), Column: max(e.Pos.Column, 0), Text: text}
}

// Program is a script of wrk.
type Program struct {
	Out io.Writer // what the script prints; set before the first session begins

	world   *world
	threads int
	once    sync.Once
	err     error

	answers, bad atomic.Uint64
}

var _ script.Program = (*Program)(nil)

// Requests implements script.Program. There is one: whatever request() returns.
func (p *Program) Requests(int) []protocol.Request {
	method := http.MethodGet
	if slices.ContainsFunc([]string{"POST", "PUT", "PATCH", "DELETE"}, p.world.names) {
		method = http.MethodPost // it stands for all that may change something
	}
	return []protocol.Request{{Name: "request", Verb: protocol.HTTP, Params: []gen.Kind{gen.String},
		Web:     &protocol.Web{Method: method, Path: "/", Body: []byte("$1"), Raw: true},
		Capture: p.captures()}}
}

// captures returns what is kept of answers, if the script looks at them.
func (p *Program) captures() []protocol.Capture {
	if !strings.Contains(p.world.text, "response") {
		return nil
	}
	return []protocol.Capture{{Name: "head", Kind: gen.String}, {Name: "body", Kind: gen.String},
		{Name: "answers", Kind: gen.String}}
}

// Begin runs the script up to the first request. It is called by the first session otherwise.
func (p *Program) Begin() error {
	p.once.Do(func() {
		if p.err = p.world.begin(p.threads); p.err == nil {
			p.err = p.verify()
		}
	})
	return p.err
}

// verify takes the first request apart, as wrk does: how many requests it holds.
func (p *Program) verify() error {
	first := p.world.threads[0]
	text, err := first.next()
	if err != nil {
		return err
	}
	n := 0
	for rest := text; len(rest) > 0; n++ {
		length, err := httpproto.RequestLength(rest)
		if err != nil {
			return fmt.Errorf("%s: the request: %w", p.world.file, err)
		}
		rest = rest[length:]
	}
	if n == 0 {
		return fmt.Errorf("%s: the request is empty", p.world.file)
	}
	for _, t := range p.world.threads {
		t.batch = n
	}
	return nil
}

// Answers returns how many answers there were so far, and how many of them had a status above 399.
func (p *Program) Answers() (all, bad uint64) { return p.answers.Load(), p.bad.Load() }

// Done calls the script's done.
func (p *Program) Done(o *Outcome) error { return p.world.done(o) }

// Session implements script.Program.
func (p *Program) Session(number int) script.Session { return &session{program: p, number: number} }

// session is a connection of a thread.
type session struct {
	program *Program
	number  int
	thread  *thread // nil: the session hasn't begun
	broken  bool    // by a fault of the script
	args    [1]gen.Value
}

var (
	_ script.Rester  = (*session)(nil)
	_ script.Aborter = (*session)(nil)
)

// Aborted implements script.Aborter.
func (s *session) Aborted() bool { return s.broken }

func (s *session) fail(err error) script.Step {
	s.broken = true
	return script.Step{Failure: protocol.Failure{Class: protocol.Client, Code: "script", Text: err.Error()}, Quit: true}
}

// Begin implements script.Session.
func (s *session) Begin(int, uint64) script.Step {
	if s.thread == nil {
		if err := s.program.Begin(); err != nil {
			return s.fail(err)
		}
		s.thread = s.program.world.threads[s.number%s.program.threads]
	}
	return s.Again()
}

// Again implements script.Session.
func (s *session) Again() script.Step {
	if s.thread.stopped.Load() {
		return script.Step{Quit: true}
	}
	s.thread.mu.Lock()
	defer s.thread.mu.Unlock()
	text, err := s.thread.next()
	if err != nil {
		return s.fail(err)
	}
	v := &s.args[0]
	v.Kind = gen.String
	v.B = append(v.B[:0], text...)
	return script.Step{Move: script.Send, Args: s.args[:], Last: true}
}

// next returns the next request of a thread, which is locked. It is valid until the next call.
func (t *thread) next() ([]byte, error) {
	if t.fixed != nil {
		return t.fixed, nil
	}
	v, err := t.call(t.request, 1)
	if err != nil {
		return nil, err
	}
	text, ok := v.(lua.LString)
	if !ok {
		return nil, fmt.Errorf("%s: request() returned a %s instead of a string", t.world.file, v.Type())
	}
	return []byte(text), nil
}

// Resume implements script.Session.
func (s *session) Resume() script.Step { return s.Again() }

// Answered implements script.Session.
func (s *session) Answered(r *protocol.Reply) script.Step {
	p, t := s.program, s.thread
	if r.Status != 0 && !t.stopped.Load() {
		var err error
		if len(r.Captured) > 0 && t.response != nil {
			err = t.answers(r, p)
		} else {
			p.answers.Add(uint64(t.batch))
			if r.Status > 399 {
				p.bad.Add(1)
			}
		}
		if err != nil {
			return s.fail(err)
		}
	}
	return script.Step{Failure: r.Failure, Quit: t.stopped.Load()}
}

// answers calls response for each answer in a reply.
func (t *thread) answers(r *protocol.Reply, p *Program) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, body := 0, 0
	for line := range bytes.SplitSeq(bytes.TrimSpace(r.Captured[2].B), []byte{'\n'}) {
		var status, headEnd, bodyEnd int
		if _, err := fmt.Sscan(string(line), &status, &headEnd, &bodyEnd); err != nil {
			return nil
		}
		p.answers.Add(1)
		if status > 399 {
			p.bad.Add(1)
		}
		fields := t.state.NewTable()
		for field := range bytes.SplitSeq(r.Captured[0].B[head:headEnd], []byte{'\n'}) {
			if name, value, ok := bytes.Cut(field, []byte{':'}); ok {
				fields.RawSetString(string(name), lua.LString(bytes.TrimSpace(value)))
			}
		}
		text := lua.LString(r.Captured[1].B[body:bodyEnd])
		if _, err := t.call(t.response, 0, lua.LNumber(status), fields, text); err != nil {
			return err
		}
		head, body = headEnd, bodyEnd
	}
	return nil
}

// Rest implements script.Rester: delay, in milliseconds.
func (s *session) Rest() time.Duration {
	if s.thread == nil || s.thread.delay == nil {
		return 0
	}
	s.thread.mu.Lock()
	defer s.thread.mu.Unlock()
	v, err := s.thread.call(s.thread.delay, 1)
	if err != nil {
		return 0
	}
	ms, _ := v.(lua.LNumber)
	return time.Duration(max(float64(ms), 0)) * time.Millisecond
}
