package tank

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// Language is the language of plans that are made from a configuration of Yandex Tank. An operation's text is the
// requests with one tag, a JSON object on each line, or a scenario. The options:
//
//	first     how many requests of the list are sent once, before the rest is repeated; 0
//	sequence  of several streams: the position in the list of each request of the load
//	limit     how many operations the load has; 0 (default): no limit
//	order     the operations of scenarios, by number, separated by spaces
//	host      scenarios: the usual Host
//	sources   scenarios: the sources of variables, as JSON
//	secret.…  secrets, for which requests, scenarios and sources have marks
type Language struct{}

var _ script.Language = Language{}

// Name implements script.Language.
func (Language) Name() string { return "tank" }

// Unlimited implements script.Limited: the list is passed through again and again.
func (Language) Unlimited(options map[string]string) { delete(options, "limit") }

// Program is the compiled requests of a plan.
type Program struct {
	ammo       ammo
	operations []int // of each request of the list
	requests   [][]protocol.Request
	webs       []int // of each request of the list: its index in requests of its operation
	limit      uint64

	scenarios []*scenario
	order     []int
	host      string
	seed      uint64
	sources   map[string]any
	next      *counters

	// OnAnswer, if not nil, receives the answer of each request of a scenario: the number of the operation, and that
	// of the step. It is set before the load.
	OnAnswer func(index uint64, step, status int, bytesIn int64, bytesOut int, parts protocol.Parts)
	// OnStep, if not nil, is told before each request of a scenario, even if it can't be made.
	OnStep func(index uint64, step int)
}

var _ script.Program = (*Program)(nil)

// Compile implements script.Language.
func (Language) Compile(s *script.Source) (script.Program, error) {
	p := &Program{host: s.Options["host"], seed: s.Seed, next: &counters{of: map[string]int{}}}
	for name, to := range map[string]*uint64{"limit": &p.limit} {
		if text := s.Options[name]; text != "" {
			n, err := strconv.ParseUint(text, 10, 63)
			if err != nil {
				return nil, fmt.Errorf("option %s: %q is no number", name, text)
			}
			*to = n
		}
	}
	if s.Options["order"] != "" {
		return p, p.compileScenarios(s)
	}
	return p, p.compileList(s)
}

func (p *Program) compileList(s *script.Source) error {
	if text := s.Options["first"]; text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return fmt.Errorf("option first: %q is no number", text)
		}
		p.ammo.first = int(n)
	}
	for word := range strings.FieldsSeq(s.Options["sequence"]) {
		n, err := strconv.ParseUint(word, 10, 31)
		if err != nil {
			return fmt.Errorf("option sequence: %q is no number", word)
		}
		p.ammo.sequence = append(p.ammo.sequence, int32(n))
	}
	type placed struct {
		at, op, web int
		shot        shot
	}
	var all []placed
	unveil := s.Unveil()
	p.requests = make([][]protocol.Request, len(s.Operations))
	for op := range s.Operations {
		line := 0
		p.requests[op] = []protocol.Request{rawRequest(s.Operations[op].Name, false)}
		raws := 0
		for text := range strings.SplitSeq(s.Operations[op].Text, "\n") {
			if line++; strings.TrimSpace(text) == "" {
				continue
			}
			var e jsonEntry
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				return &script.Error{Operation: op, Line: line, Text: "isn't a request in JSON: " + err.Error()}
			}
			sh := shot{tag: e.Tag, tagged: e.Tagged, raw: []byte(unveil(e.Raw)), web: e.Web, call: e.Call,
				stream: e.Stream, origin: e.Origin}
			if e.Origin != "" && p.requests[op][0].Web.Origin == "" {
				p.requests[op][0] = rawElsewhere(s.Operations[op].Name)
			}
			if e.Raw64 != nil {
				sh.raw = []byte(unveil(string(e.Raw64)))
			}
			one := placed{at: e.N, op: op, shot: sh}
			switch {
			case e.Web != nil:
				e.Web.unveiled(unveil)
				one.web = len(p.requests[op])
				p.requests[op] = append(p.requests[op], e.Web.request())
				p.requests[op][one.web].Web.Origin = e.Origin
			case e.Call != nil:
				e.Call.unveiled(unveil)
				one.web = len(p.requests[op])
				p.requests[op] = append(p.requests[op], e.Call.request())
			case len(sh.raw) == 0:
				return &script.Error{Operation: op, Line: line, Text: "has none of raw, web and call"}
			default:
				raws++
				p.requests[op][0].Web.Method = methodFor(methodOf(sh.raw), p.requests[op][0].Web.Method)
			}
			all = append(all, one)
		}
		if raws == 0 && len(p.requests[op]) > 1 {
			p.requests[op] = p.requests[op][1:]
			for i := range all {
				if all[i].op == op {
					all[i].web--
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return a.at - b.at })
	for i, one := range all {
		if one.at != i {
			return fmt.Errorf("the list has no request number %d", i)
		}
		p.ammo.shots = append(p.ammo.shots, one.shot)
		p.operations, p.webs = append(p.operations, one.op), append(p.webs, one.web)
	}
	if p.ammo.pass() <= 0 {
		return fmt.Errorf("the list has no request that is repeated")
	}
	for _, at := range p.ammo.sequence {
		if int(at) >= len(all) {
			return fmt.Errorf("option sequence: the list has no request number %d", at)
		}
	}
	return nil
}

// rawRequest is a request that is sent as it is. If keep is set, its answer is kept.
func rawRequest(name string, keep bool) protocol.Request {
	r := protocol.Request{Name: name, Verb: protocol.HTTP, Params: []gen.Kind{gen.String},
		Web: &protocol.Web{Method: "GET", Path: "/", Body: []byte("$1"), Raw: true}}
	if keep {
		r.Capture = []protocol.Capture{{Name: "head", Kind: gen.String}, {Name: "body", Kind: gen.String}}
	}
	return r
}

// methodFor returns the method that stands for those of two requests that are sent as they are: POST if one of them may
// change something.
func methodFor(a, b string) string {
	if protocol.SafeMethod(a) && protocol.SafeMethod(b) {
		return http.MethodGet
	}
	return http.MethodPost
}

// methodOf returns the method of a request as it is sent.
func methodOf(raw []byte) string {
	method, _, _ := bytes.Cut(raw, []byte{' '})
	return string(method)
}

// rawElsewhere is rawRequest for one of several addresses, which is the first argument.
func rawElsewhere(name string) protocol.Request {
	r := rawRequest(name, false)
	r.Params = []gen.Kind{gen.String, gen.String}
	r.Web.Origin, r.Web.Body = "$1", []byte("$2")
	return r
}

// request returns the request in the form that drivers use.
func (w *webEntry) request() protocol.Request {
	plain := func(s string) string { return strings.ReplaceAll(s, "$", "$$") }
	web := &protocol.Web{Method: w.Method, Path: plain(w.Path), Body: []byte(plain(string(w.Body)))}
	for _, h := range w.Header {
		web.Header = append(web.Header, [2]string{h[0], plain(h[1])})
	}
	return protocol.Request{Verb: protocol.HTTP, Web: web}
}

func (p *Program) compileScenarios(s *script.Source) error {
	unveil := s.Unveil()
	for word := range strings.FieldsSeq(s.Options["order"]) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n >= len(s.Operations) {
			return fmt.Errorf("option order: %q is no number of an operation", word)
		}
		p.order = append(p.order, n)
	}
	if text := s.Options["sources"]; text != "" {
		var err error
		if p.sources, err = decodeSources(unveil(text)); err != nil {
			return fmt.Errorf("option sources: %w", err)
		}
	}
	for op := range s.Operations {
		sc := &scenario{}
		if err := json.Unmarshal([]byte(unveil(s.Operations[op].Text)), sc); err != nil {
			return &script.Error{Operation: op, Line: 1, Text: "isn't a scenario in JSON: " + err.Error()}
		}
		if len(sc.Steps) == 0 {
			return &script.Error{Operation: op, Line: 1, Text: "the scenario has no request"}
		}
		var requests []protocol.Request
		for i := range sc.Steps {
			step := &sc.Steps[i]
			if err := step.compile(); err != nil {
				return &script.Error{Operation: op, Line: 1, Text: err.Error()}
			}
			requests = append(requests, step.request(sc.Name))
		}
		p.scenarios, p.requests = append(p.scenarios, sc), append(p.requests, requests)
	}
	return nil
}

// Requests implements script.Program.
func (p *Program) Requests(operation int) []protocol.Request {
	return slices.Clone(p.requests[operation])
}

// Session implements script.Program.
func (p *Program) Session(int) script.Session {
	s := &session{program: p}
	if p.scenarios != nil {
		s.player = &player{program: p, own: map[*compiled]executor{}}
	}
	return s
}

// cycle is how many requests or scenarios there are before they repeat.
func (p *Program) cycle() uint64 {
	if p.scenarios != nil {
		return uint64(len(p.order))
	}
	return uint64(p.ammo.pass())
}

// Tag returns the tag of request number i of the load.
func (p *Program) Tag(i uint64) string { return p.ammo.shots[p.ammo.at(i)].tag }

// Size returns the size of request number i of the load, in bytes.
func (p *Program) Size(i uint64) int { return len(p.ammo.shots[p.ammo.at(i)].raw) }

// StepTag returns the tag of a step of the scenario that operation number i plays.
func (p *Program) StepTag(i uint64, step int) string {
	sc := p.scenarios[p.order[i%uint64(len(p.order))]]
	of := &sc.Steps[min(step, len(sc.Steps)-1)]
	if of.Call != nil {
		return sc.Name + "." + of.Call.Tag
	}
	return sc.Name + "." + of.Name
}

// Scenarios reports whether the operations are scenarios.
func (p *Program) Scenarios() bool { return p.scenarios != nil }

// session is an instance.
type session struct {
	program *Program
	player  *player // nil unless scenarios are played
	op      int
	index   uint64
	args    [2]gen.Value // the address, if there are several, and the request
	pausing bool
}

var (
	_ script.Chooser = (*session)(nil)
	_ script.Rester  = (*session)(nil)
)

// Choose implements script.Chooser.
func (s *session) Choose(index uint64) int {
	p := s.program
	if p.scenarios != nil {
		return p.order[index%uint64(len(p.order))]
	}
	return p.operations[p.ammo.at(index)]
}

// Begin implements script.Session.
func (s *session) Begin(op int, index uint64) script.Step {
	s.op, s.index = op, index
	if s.player != nil {
		s.player.begin(s.program.scenarios[op], index)
	}
	return s.Again()
}

// Again implements script.Session.
func (s *session) Again() script.Step {
	p := s.program
	if p.limit > 0 && s.index >= p.limit {
		return script.Step{Failure: protocol.Failure{Class: protocol.Client, Code: "limit", Text: "the list is over"},
			Quit: true}
	}
	if s.player != nil {
		return s.send()
	}
	at := p.ammo.at(s.index)
	sh := &p.ammo.shots[at]
	step := script.Step{Move: script.Send, Request: p.webs[at], Last: true}
	if len(sh.raw) > 0 {
		step.Args = s.text(sh.raw)
	}
	if len(sh.raw) > 0 && sh.origin != "" {
		v := &s.args[0]
		v.Kind, v.B = gen.String, append(v.B[:0], sh.origin...)
		step.Args = s.args[:]
	}
	return step
}

// send sends the request of the scenario's step.
func (s *session) send() script.Step {
	last := s.player.at == len(s.player.scenario.Steps)-1
	if on := s.program.OnStep; on != nil {
		on(s.index, s.player.at)
	}
	if s.player.step().Call != nil {
		args, err := s.player.nextCall()
		if err != nil {
			return failed("request", err)
		}
		return script.Step{Move: script.Send, Request: s.player.at, Args: args, Last: last}
	}
	text, err := s.player.next()
	if err != nil {
		return failed("request", err)
	}
	return script.Step{Move: script.Send, Request: s.player.at, Args: s.text(text),
		Last: last}
}

// text returns a request as the only argument.
func (s *session) text(request []byte) []gen.Value {
	v := &s.args[1]
	v.Kind, v.B = gen.String, append(v.B[:0], request...)
	return s.args[1:]
}

func failed(code string, err error) script.Step {
	return script.Step{Failure: protocol.Failure{Class: protocol.Server, Code: code, Text: err.Error()}}
}

// Answered implements script.Session.
func (s *session) Answered(r *protocol.Reply) script.Step {
	if s.player == nil {
		return script.Step{Failure: r.Failure}
	}
	if s.pausing { // the operation's timeout ended a pause
		s.pausing = false
		return script.Step{Failure: r.Failure}
	}
	call, status := s.player.step().Call != nil, r.Status
	if call {
		status = callStatus(r.Class, r.Code, r.Text)
	}
	if on := s.program.OnAnswer; on != nil {
		on(s.index, s.player.at, status, r.BytesIn, len(s.args[1].B), r.Parts)
	}
	if r.Status == 0 && !call || r.Fatal || call && r.Class == protocol.Client {
		return script.Step{Failure: r.Failure}
	}
	a := answer{status: status}
	if call && r.Failure.Class == protocol.OK && len(r.Captured) > 0 { // a call that fails doesn't end the scenario
		a.body = bytes.Clone(r.Captured[0].B)
		if len(r.Captured) == 2 {
			a.text = bytes.Clone(r.Captured[1].B)
		}
	}
	if !call && len(r.Captured) == 2 {
		a.head, a.body = bytes.Clone(r.Captured[0].B), bytes.Clone(r.Captured[1].B)
	}
	if err := s.player.answered(&a); err != nil {
		return failed("assert", err)
	}
	if s.player.at == len(s.player.scenario.Steps)-1 {
		return script.Step{}
	}
	pause := time.Duration(s.player.scenario.Steps[s.player.at].PauseNs)
	s.player.at++
	if pause > 0 {
		s.pausing = true
		return script.Step{Move: script.Pause, Pause: pause}
	}
	return s.send()
}

// Resume implements script.Session.
func (s *session) Resume() script.Step {
	s.pausing = false
	return s.send()
}

// Rest implements script.Rester.
func (s *session) Rest() time.Duration {
	if s.player == nil {
		return 0
	}
	return s.player.rest()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
