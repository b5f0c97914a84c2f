package tank

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/dialect/calls"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// callStep is a gRPC call of a scenario in plans.
type callStep struct {
	Method   string            `json:"method"` // package.Service/Method
	Tag      string            `json:"tag,omitempty"`
	Payload  string            `json:"payload"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Deadline time.Duration     `json:"deadline"`
}

// callTemplates are a compiled callStep: a call with parameters, and the template of each.
type callTemplates struct {
	rpc     *protocol.RPC
	actions []*compiled
}

// compile compiles the templates. Each action becomes a parameter.
func (c *callStep) compile() (*callTemplates, error) {
	out := &callTemplates{rpc: &protocol.RPC{Method: c.Method, Unary: true, Deadline: c.Deadline}}
	message, err := out.split("payload", c.Payload)
	if err != nil {
		// Its fields depend on conditions or loops: the text as a whole is a parameter.
		one, unparsed := parseTemplate("payload", c.Payload, false)
		if unparsed != nil {
			return nil, err
		}
		message, out.actions = `"$1"`, []*compiled{one}
	}
	out.rpc.Messages = []string{message}
	for _, name := range sortedKeys(c.Metadata) {
		one, err := parseTemplate("metadata "+name, c.Metadata[name], false)
		if err != nil {
			return nil, err
		}
		value := calls.Escape(c.Metadata[name])
		if strings.Contains(value, "{{") {
			out.actions = append(out.actions, one)
			value = "$" + strconv.Itoa(len(out.actions))
		}
		out.rpc.Metadata = append(out.rpc.Metadata, [2]string{strings.ToLower(name), value})
	}
	return out, nil
}

// split adds the actions of a template, and returns its text with parameters.
func (t *callTemplates) split(name, text string) (string, error) {
	parsed, err := template.New(name).Funcs(functions(noRandom)).Parse(text)
	if err != nil {
		return "", err
	}
	pieces, err := calls.Split(parsed)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	before := len(t.actions)
	for _, action := range pieces.Actions {
		one, err := parseTemplate(name, "{{"+action+"}}", false)
		if err != nil {
			return "", err
		}
		t.actions = append(t.actions, one)
	}
	return calls.Renumber(pieces.Text, func(i int) int { return i + before }), nil
}

// request returns the request of a step. The answer to a call is kept.
func (s *scenarioStep) request(scenario string) protocol.Request {
	name := scenario + "." + s.Name
	if s.Call == nil {
		r := rawRequest(name, len(s.After) > 0)
		r.Web.Method = methodFor(s.Method, r.Web.Method)
		return r
	}
	r := protocol.Request{Name: name, Verb: protocol.GRPC, RPC: s.template.call.rpc,
		Capture: []protocol.Capture{{Name: ".", Kind: gen.String}}}
	if slices.ContainsFunc(s.After, func(p postprocessor) bool { return len(p.Body) > 0 }) {
		r.Capture = append(r.Capture, protocol.Capture{Name: ".text", Kind: gen.String})
	}
	for range s.template.call.actions {
		r.Params = append(r.Params, gen.String)
	}
	return r
}

// step returns the step under way.
func (p *player) step() *scenarioStep { return &p.scenario.Steps[p.at] }

// nextCall makes the arguments of the call under way.
func (p *player) nextCall() ([]gen.Value, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	p.args = p.args[:0]
	for _, action := range p.step().template.call.actions {
		text, err := p.execute(action)
		if err != nil {
			return nil, err
		}
		p.args = append(p.args, gen.Value{Kind: gen.String, B: []byte(text)})
	}
	return p.args, nil
}

// call reads a call of scenarios.
func (r *reader) call(n *yaml.Node, deadline time.Duration) *scenarioStep {
	o := r.object(n, "a call", "name", "tag", "call", "method", "metadata", "payload", "preprocessors", "postprocessors")
	if o == nil {
		return nil
	}
	s := &scenarioStep{Name: r.text(o.get("name"), "name")}
	method := r.text(o.get("call"), "call")
	s.Call = &callStep{Method: calls.FullName(method), Tag: r.text(o.get("tag"), "tag"), Deadline: deadline,
		Payload: cmp.Or(r.text(o.get("payload"), "payload"), "{}"), Metadata: r.strings(o.get("metadata"), "metadata")}
	switch {
	case s.Name == "":
		r.fault(n, "a call without a name")
	case !strings.Contains(s.Call.Method, "/"):
		r.fault(cmp.Or(o.get("call"), n), "call %s: %q is no method; write package.Service.Method", s.Name, method)
	}
	for _, p := range r.list(o.get("preprocessors"), "preprocessors") {
		b := r.object(p, "a preprocessor", "type", "mapping")
		if b == nil {
			continue
		}
		if kind := r.text(b.get("type"), "type"); kind != "prepare" {
			r.fault(p, "the preprocessor %q isn't available; use prepare", kind)
		}
		if s.Before == nil {
			s.Before = map[string]string{}
		}
		maps.Copy(s.Before, r.strings(b.get("mapping"), "mapping"))
	}
	for _, p := range r.list(o.get("postprocessors"), "postprocessors") {
		a := r.object(p, "a postprocessor", "type", "payload", "status_code")
		if a == nil {
			continue
		}
		after := postprocessor{Type: r.text(a.get("type"), "type"), Body: r.texts(a.get("payload"), "payload"),
			Status: r.whole(a.get("status_code"), "status_code", 0)}
		if after.Type != "assert/response" {
			r.fault(p, "the postprocessor %q isn't available for calls; use assert/response", after.Type)
			continue
		}
		s.After = append(s.After, after)
	}
	if err := s.compile(); err != nil {
		r.fault(n, "%v", err)
	}
	return s
}
