package ghz

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/template"
	"time"

	"brunt/internal/dialect/calls"
	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// Language is the language of calls whose templates are executed for each: a script is a call in JSON (templated).
type Language struct {
	Now func() time.Time // the clock of timestamps
}

var _ script.Language = Language{}

const languageName = "ghz"

// Name returns the name of the language.
func (Language) Name() string { return languageName }

// templated is a call with templates, as it is a script.
type templated struct {
	Method    string        `json:"method"`
	Messages  [][]string    `json:"messages"`           // each call sends one of these lists, in turn
	Metadata  [][2]string   `json:"metadata,omitempty"` // of all messages
	Deadline  time.Duration `json:"deadline,omitempty"`
	Receive   int           `json:"receive,omitempty"`
	Interval  time.Duration `json:"interval,omitempty"`
	Duration  time.Duration `json:"duration,omitempty"`
	Actions   []string      `json:"actions"`        // of the parameters of messages and metadata
	Encoded   []int         `json:"encoded"`        // actions whose values are in base64
	Call      callNames     `json:"call"`           // what templates know of the method
	Test      string        `json:"test,omitempty"` // name of the test
	Conns     int           `json:"connections"`
	Functions bool          `json:"functions"`
}

// callNames are the parts of a method's description that templates have.
type callNames struct {
	FullyQualifiedName, MethodName, ServiceName, InputName, OutputName string
	IsClientStreaming, IsServerStreaming                               bool
}

// callData is what templates are executed with.
type callData struct {
	callNames
	WorkerID           string
	RequestNumber      int64
	Timestamp          string
	TimestampUnix      int64
	TimestampUnixMilli int64
	TimestampUnixNano  int64
	UUID               string
}

// Compile compiles the calls.
func (l Language) Compile(s *script.Source) (script.Program, error) {
	p := &program{now: l.Now, draws: gen.NewStream(s.Seed, languageName, "calls")}
	for i, op := range s.Operations {
		c := compiled{}
		if err := json.Unmarshal([]byte(op.Text), &c.templated); err != nil {
			return nil, &script.Error{Operation: i, Line: 1, Text: "the call isn't JSON: " + err.Error()}
		}
		if err := c.check(); err != nil {
			return nil, &script.Error{Operation: i, Line: 1, Text: err.Error()}
		}
		p.calls = append(p.calls, c)
	}
	return p, nil
}

// program is the compiled calls.
type program struct {
	calls []compiled
	now   func() time.Time
	draws gen.Stream
}

type compiled struct{ templated }

// separator is the function that notes the end of an action's value.
const separator = "endOfValue"

// marks are the ends of the values that a template has written.
type marks struct {
	text strings.Builder
	ends []int
}

// mark is the separator.
func (m *marks) mark() string {
	m.ends = append(m.ends, m.text.Len())
	return ""
}

// check executes the template once.
func (c *compiled) check() error {
	if len(c.Messages) == 0 {
		c.Messages = [][]string{nil}
	}
	r := gen.NewStream(0, languageName, "check").At(0)
	d := &draws{&r}
	t, err := c.parse(&marks{}, d)
	if err == nil {
		err = t.Execute(&calls.Bounded{To: io.Discard}, &callData{callNames: c.Call})
	}
	if err != nil {
		return fmt.Errorf("template of the call: %s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return nil
}

// parse returns the template of all actions, which may use variables that earlier ones set.
func (c *compiled) parse(m *marks, d *draws) (*template.Template, error) {
	t := template.New("data").Funcs(template.FuncMap{separator: m.mark})
	if c.Functions {
		t = t.Funcs(d.all())
	}
	var text strings.Builder
	for _, a := range c.Actions {
		text.WriteString("{{" + a + "}}{{" + separator + "}}")
	}
	return t.Parse(text.String())
}

// Requests returns the calls with each list of messages.
func (p *program) Requests(operation int) (all []protocol.Request) {
	c := &p.calls[operation]
	for _, list := range c.Messages {
		r := protocol.Request{Verb: protocol.GRPC, Params: make([]gen.Kind, len(c.Actions)), RPC: &protocol.RPC{
			Method: c.Method, Messages: list, Metadata: c.Metadata, Deadline: c.Deadline, Receive: c.Receive,
			Interval: c.Interval, Duration: c.Duration}}
		for i := range r.Params {
			r.Params[i] = gen.String
		}
		all = append(all, r)
	}
	return all
}

// Session returns a session.
func (p *program) Session(number int) script.Session {
	s := &session{p: p, number: number, draws: &draws{&gen.Rand{}}}
	for i := range p.calls {
		t, _ := p.calls[i].parse(&s.values, s.draws) // Compile has parsed it
		s.templates = append(s.templates, t)
	}
	return s
}

// session makes calls.
type session struct {
	p         *program
	number    int
	draws     *draws
	templates []*template.Template
	args      []gen.Value
	step      script.Step
	values    marks
}

// Begin makes a call, whose random values are a function of its number.
func (s *session) Begin(operation int, index uint64) script.Step {
	c := &s.p.calls[operation]
	*s.draws.r = s.p.draws.At(index)
	now := s.p.now()
	d := &callData{callNames: c.Call, WorkerID: s.worker(c), RequestNumber: int64(index), UUID: s.draws.uuid(),
		Timestamp: now.Format(time.RFC3339), TimestampUnix: now.Unix(), TimestampUnixMilli: now.UnixMilli(),
		TimestampUnixNano: now.UnixNano()}
	s.args, s.values.ends = s.args[:0], s.values.ends[:0]
	s.values.text.Reset()
	if err := s.templates[operation].Execute(&calls.Bounded{To: &s.values.text}, d); err != nil {
		return script.Step{Failure: protocol.Failure{Class: protocol.Client, Code: "template", Text: err.Error()}}
	}
	text, from := []byte(s.values.text.String()), 0
	for _, end := range s.values.ends {
		s.args = append(s.args, gen.Value{Kind: gen.String, B: text[from:end:end]})
		from = end
	}
	for _, i := range c.Encoded {
		b, err := base64.StdEncoding.DecodeString(string(s.args[i].B))
		if err != nil {
			return script.Step{Failure: protocol.Failure{Class: protocol.Client, Code: "template", Text: err.Error()}}
		}
		s.args[i].B = b
	}
	s.step = script.Step{Move: script.Send, Request: int(index % uint64(len(c.Messages))), Args: s.args, Last: true}
	return s.step
}

// worker returns the name that ghz gives a worker.
func (s *session) worker(c *compiled) string {
	id := "g" + strconv.Itoa(s.number) + "c" + strconv.Itoa(s.number%max(c.Conns, 1))
	if c.Test != "" {
		return c.Test + ":" + id
	}
	return id
}

// Again makes the call once more.
func (s *session) Again() script.Step { return s.step }

// Answered ends the operation.
func (s *session) Answered(r *protocol.Reply) script.Step { return script.Step{Failure: r.Failure} }

// Resume isn't called: calls don't pause.
func (s *session) Resume() script.Step { return script.Step{} }
