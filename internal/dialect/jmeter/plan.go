package jmeter

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"brunt/internal/plan"
	"brunt/internal/plan/script"
)

// LanguageName is the name of the language in plans.
const LanguageName = "jmeter"

// Language is the language of JMeter's test plans in plans. Its options are jmx (the text of the test plan), file, dir
// (where the files that it names are), and property.NAME.
type Language struct{}

var _ script.Language = Language{}

// Name implements script.Language.
func (Language) Name() string { return LanguageName }

// propertyOption begins the options that are JMeter's properties.
const propertyOption = "property."

// Compile implements script.Language.
func (Language) Compile(s *script.Source) (script.Program, error) {
	in := &input{file: cmp.Or(s.Options["file"], "test plan"), text: []byte(s.Options["jmx"]), seed: s.Seed,
		files: newFiles(s.Options["dir"]), props: map[string]string{}}
	if len(in.text) == 0 {
		return nil, fmt.Errorf("the option jmx, which has the test plan, is missing")
	}
	for name, value := range s.Options {
		if p, ok := strings.CutPrefix(name, propertyOption); ok {
			in.props[p] = value
		}
	}
	p, faults, _ := compile(in)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	if err := p.match(s.Operations); err != nil {
		return nil, err
	}
	return p, nil
}

// match numbers the operations as the plan does.
func (p *Program) match(all []script.Operation) error {
	sorted := make([]operation, len(all))
	for i, op := range all {
		at := slices.IndexFunc(p.operations, func(o operation) bool { return o.name == op.Text })
		if at < 0 {
			return &script.Error{Operation: i, Text: fmt.Sprintf("the test plan has no sampler %q", op.Text)}
		}
		sorted[i] = p.operations[at]
		for _, s := range sorted[i].samplers {
			s.operation = i
		}
	}
	for _, o := range p.operations {
		if !slices.ContainsFunc(all, func(op script.Operation) bool { return op.Text == o.name }) {
			return fmt.Errorf("the plan has no operation for the sampler %q", o.name)
		}
	}
	p.operations = sorted
	return nil
}

// stable reports whether a text has the same value whenever it is evaluated: it has no variable that the plan sets, and
// no function but those of properties.
func (c *compiler) stable(x *text) bool {
	for i := range x.parts {
		p := &x.parts[i]
		if p.variable != "" {
			if _, known := c.program.starting[p.variable]; !known || c.written[p.variable] {
				return false
			}
		}
		if p.call == nil {
			continue
		}
		if p.call.name != "__P" && p.call.name != "__property" {
			return false
		}
		for k := range p.call.args {
			if !c.stable(&p.call.args[k]) {
				return false
			}
		}
	}
	return true
}

// hostsProperty makes the sessions of a load free to send to any host, if it is "any".
const hostsProperty = "brunt.hosts"

// targets finds out where the plan's requests go.
func (c *compiler) targets() {
	p := c.program
	if !p.web() {
		if p.protocol == "" {
			c.faults = append(c.faults, c.plan.fault("nothing is sent: no enabled sampler is of HTTP or a database"))
		}
		return
	}
	p.proxy = c.overallProxy()
	c.connecting()
	var first string
	for _, s := range p.samplers {
		if s.kind != httpSampler {
			continue
		}
		h := s.http
		to, known := c.place(h)
		switch {
		case !known:
			p.roams = true
		case first == "":
			first = to
		case first != to:
			p.roams = true
		}
		p.roams = p.roams || h.embedded || strings.Contains(to, " ")
	}
	if v, ok := p.property(hostsProperty); ok && v == "any" {
		p.roams = true
	}
	first, _, _ = strings.Cut(first, " ")
	p.origin = cmp.Or(first, "http://127.0.0.1:80")
}

// place returns where the connection of a request leads, if that is known before the load.
func (c *compiler) place(h *httpRequest) (to string, known bool) {
	at := *h
	switch {
	case strings.HasPrefix(h.path.raw, "http"):
		known = c.stable(&h.path)
	case strings.HasPrefix(h.path.raw, "${"):
		known = c.stable(&h.path) && c.stable(&h.domain) && c.stable(&h.port) && c.stable(&h.protocol)
	default:
		at.path = text{raw: "/"}
		known = c.stable(&h.domain) && c.stable(&h.port) && c.stable(&h.protocol)
	}
	if !known || !c.fixedRoute(h) {
		return "", false
	}
	u, err := at.address(c.dry(), "POST")
	if err != nil {
		return "", false
	}
	return route(u, h.proxyOf(c.dry(), u)), true
}

// forever is the planned duration of a load: its threads say when it ends.
const forever = 10 * 365 * 24 * time.Hour

// patient is the operations' timeout. Requests have their own.
const patient = time.Hour

// toPlan returns the plan of a compiled test plan.
func (p *Program) toPlan(name string, options map[string]string, seed uint64) (*plan.Plan, error) {
	out := &plan.Plan{Name: name, Seed: seed}
	p.target(&out.Target)
	out.Scripts = plan.Scripts{Language: LanguageName, Options: options}
	for _, op := range p.operations {
		out.Operations = append(out.Operations, plan.Operation{Name: op.name, Weight: 1, Script: op.name})
	}
	out.Load = []plan.Phase{{Name: "jmeter", Kind: plan.Closed, Duration: forever}}
	out.Settings = plan.Settings{Sessions: p.Threads(), OperationTimeout: patient, Retries: -1,
		ConnectTimeout: p.connectTime}
	return out, nil
}

// overHTTP is the protocol of plans of HTTP samplers.
const overHTTP = "http"

// web reports whether the plan's samplers are those of HTTP.
func (p *Program) web() bool { return p.protocol == overHTTP }

// target sets where the load goes.
func (p *Program) target(t *plan.Target) {
	if !p.web() {
		d := p.operations[0].samplers[0].jdbc.source
		t.Protocol, t.Addresses, t.User, t.Password, t.Database = d.protocol, []string{d.address}, d.user, d.password,
			d.database
		t.Options = d.options()
		return
	}
	origin := url.URL{Host: p.origin}
	if scheme, address, ok := strings.Cut(p.origin, "://"); ok {
		origin.Scheme, origin.Host = scheme, address
	}
	t.Protocol, t.Addresses = overHTTP, []string{origin.Host}
	t.Options = map[string]string{"parts": "on", "http2": "off"}
	switch {
	case p.roams:
		t.TLS.Enabled, t.TLS.InsecureSkipVerify = true, true
		t.Options["plain"] = origin.Host
	case origin.Scheme == "https":
		t.Protocol, t.TLS.Enabled, t.TLS.InsecureSkipVerify = "https", true, true
	}
}
