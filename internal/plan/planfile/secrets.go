package planfile

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// addressSecret is the name of credentials before the @ of addresses.
const addressSecret = "address"

// bodySecret is the name of secret request bodies.
const bodySecret = "body"

// SecretVariable returns the environment variable for a secret of a written plan. name is that of a header, an option
// or a URL parameter, or "address" for credentials before the @ of addresses.
func SecretVariable(name string) string {
	return "BRUNT_SECRET_" + strings.Map(func(c rune) rune {
		if c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return unicode.ToUpper(c)
		}
		return '_'
	}, name)
}

// marked adds a comment to a hidden value that says how to provide it.
func marked(n *yaml.Node, names ...string) *yaml.Node {
	for i, name := range names {
		if names[i] = SecretVariable(name); i == len(names)-1 {
			n.LineComment = "# give it in " + strings.Join(names, " and ")
		}
	}
	return n
}

// editPath replaces the values of those query parameters of a path whose names sound secret by the results of edit.
func editPath(path string, edit func(name, value string) string) string {
	before, query, ok := strings.Cut(path, "?")
	if !ok {
		return path
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if name, value, ok := strings.Cut(part, "="); ok && secret.Name(name) {
			parts[i] = name + "=" + edit(name, value)
		}
	}
	return before + "?" + strings.Join(parts, "&")
}

func hidePath(path string) string {
	return editPath(path, func(string, string) string { return secret.Hidden })
}

func secretsOfPath(path string) (names []string) {
	editPath(path, func(name, value string) string {
		names = append(names, name)
		return value
	})
	return names
}

// Secrets restores the values that Write has hidden. lookup returns the value of an environment variable; see
// SecretVariable. The error is a plan.Problems that names each missing one.
func Secrets(p *plan.Plan, lookup func(variable string) (string, bool)) error {
	s := &unhider{lookup: lookup}
	if p.Target.Password == secret.Hidden {
		s.missing(p.Where.At("target.password", plan.Position{}), "password",
			"BRUNT_PASSWORD, with -p or with --password-file")
	}
	for i, a := range p.Target.Addresses {
		if at := strings.Index(a, secret.Hidden+"@"); at >= 0 {
			p.Target.Addresses[i] = a[:at] + s.value(secret.Hidden, addressSecret,
				p.Where.At("target.addresses", plan.Position{})) + a[at+len(secret.Hidden):]
		}
	}
	s.texts(p.Inspect, inspectSecret, p.Where.At("inspect", plan.Position{}))
	via := []string{p.Target.Way.Via}
	s.texts(via, viaSecret, p.Where.At("target.via", plan.Position{}))
	p.Target.Way.Via = via[0]
	s.options(p.Target.Options, p.Where.At("target.options", plan.Position{}))
	s.options(p.Scripts.Options, p.Scripts.At)
	for w, at := range p.HTTPRequests() {
		s.web(w, at)
	}
	for c, at := range p.Calls() {
		s.pairs(c.Metadata, at)
	}
	s.parts(p)
	return s.problems.Sort().Err()
}

// SecretValues returns the secrets that Write hides, keyed by the variable from which Secrets restores them, but
// without the password. It fails if two different secrets have the same name, or if one is not plain text, because
// Secrets couldn't restore them.
func SecretValues(p *plan.Plan) (map[string]string, error) {
	g := &gatherer{values: map[string]string{}}
	for _, a := range p.Target.Addresses {
		hidden := secret.Text(a)
		if at := strings.Index(hidden, secret.Hidden+"@"); at >= 0 {
			g.add(addressSecret, a[at:len(a)-len(hidden[at+len(secret.Hidden):])])
		}
	}
	g.texts(p.Inspect, inspectSecret)
	g.texts([]string{p.Target.Way.Via}, viaSecret)
	for _, options := range []map[string]string{p.Target.Options, p.Scripts.Options} {
		for k, v := range options {
			if secret.Name(k) {
				g.add(k, v)
			}
		}
	}
	for w := range p.HTTPRequests() {
		g.web(w)
	}
	for c := range p.Calls() {
		g.pairs(c.Metadata)
	}
	g.parts(p)
	return g.values, g.err
}

// gatherer collects secrets.
type gatherer struct {
	values map[string]string
	err    error // the first error
}

func (g *gatherer) add(name, value string) {
	variable := SecretVariable(name)
	if have, there := g.values[variable]; there && have != value && g.err == nil {
		g.err = fmt.Errorf("the plan has two different secrets of the name %s; give them different names", name)
	}
	g.values[variable] = value
}

// text adds a secret that is part of a template.
func (g *gatherer) text(name, template string) {
	value := strings.ReplaceAll(template, "$$", "$")
	if strings.ReplaceAll(value, "$", "$$") != template && g.err == nil {
		g.err = fmt.Errorf("the secret %s has parameters in it; give it as plain text", name)
	}
	g.add(name, value)
}

func (g *gatherer) web(w *protocol.Web) {
	editPath(w.Path, func(name, value string) string {
		g.text(name, value)
		return value
	})
	if w.SecretBody {
		g.text(bodySecret, string(w.Body))
	}
	g.pairs(w.Header)
}

// pairs adds the secrets among headers.
func (g *gatherer) pairs(headers [][2]string) {
	for _, h := range headers {
		if secret.Name(h[0]) {
			g.text(h[0], h[1])
		}
	}
}

// unhider restores secrets.
type unhider struct {
	lookup   func(string) (string, bool)
	problems plan.Problems
}

func (s *unhider) missing(at plan.Position, what, where string) {
	s.problems = append(s.problems, plan.Problem{At: at, Text: fmt.Sprintf("the secret %s isn't in the file", what),
		Fix: "give it in " + where})
}

// value returns the secret that a hidden value stands for. Other values are returned unchanged.
func (s *unhider) value(v, name string, at plan.Position) string {
	if v != secret.Hidden {
		return v
	}
	variable := SecretVariable(name)
	if found, ok := s.lookup(variable); ok {
		return found
	}
	s.missing(at, name, variable)
	return v
}

func (s *unhider) web(w *protocol.Web, at plan.Position) {
	w.Path = editPath(w.Path, func(name, value string) string { return escape(s.value(value, name, at), value) })
	if body := string(w.Body); w.SecretBody {
		w.Body = []byte(escape(s.value(body, bodySecret, at), body))
	}
	s.pairs(w.Header, at)
}

// options restores the secrets among options.
func (s *unhider) options(options map[string]string, at plan.Position) {
	for k, v := range options {
		if secret.Name(k) {
			options[k] = s.value(v, k, at)
		}
	}
}

// pairs restores the secrets among headers.
func (s *unhider) pairs(headers [][2]string, at plan.Position) {
	for i := range headers {
		if h := &headers[i]; secret.Name(h[0]) {
			h[1] = escape(s.value(h[1], h[0], at), h[1])
		}
	}
}

// escape escapes a secret for use in a template, unless it is the template's unchanged text.
func escape(value, before string) string {
	if value == before {
		return value
	}
	return strings.ReplaceAll(value, "$", "$$")
}
