package planfile

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// Secrets inside bodies of HTTP requests and messages of gRPC. Different ones of one variable are numbered: *** stands
// for the first, ***2 for the second.

// bodyPart and messagePart begin the names of these secrets.
const (
	bodyPart    = "body "
	messagePart = "message "
)

// numbering numbers the values of secrets whose environment variables would be the same, as those of password and
// Password.
type numbering struct {
	values   map[string]string    // by variable
	suffixes map[[2]string]string // by the variable without a number, and the value
	last     map[string]int       // by the variable without a number
}

func newNumbering() *numbering {
	return &numbering{map[string]string{}, map[[2]string]string{}, map[string]int{}}
}

// of returns the suffix of a value's number: "" for the first.
func (n *numbering) of(name, value string) string {
	variable := partVariable(name, "")
	suffix, known := n.suffixes[[2]string{variable, value}]
	for !known {
		if n.last[variable]++; n.last[variable] > 1 {
			suffix = strconv.Itoa(n.last[variable])
		}
		if numbered := partVariable(name, suffix); n.values[numbered] == "" { // else of a name with a number
			n.values[numbered], n.suffixes[[2]string{variable, value}], known = value, suffix, true
		}
	}
	return suffix
}

// partVariable returns the environment variable for a numbered secret.
func partVariable(name, suffix string) string {
	if suffix != "" {
		name += " " + suffix
	}
	return SecretVariable(name)
}

// editParts replaces the secrets in a template by the results of edit. Values with parameters aren't secrets.
func editParts(text string, edit func(name, value string) string) string {
	var b strings.Builder
	at := 0
	for _, f := range secret.Find(text) {
		value := text[f.From:f.To]
		if strings.Contains(strings.ReplaceAll(value, "$$", ""), "$") {
			continue
		}
		b.WriteString(text[at:f.From] + edit(f.Name, value))
		at = f.To
	}
	if at == 0 {
		return text
	}
	return b.String() + text[at:]
}

// eachPart calls edit with the texts of requests that have secrets inside, and replaces the texts by its results.
func eachPart(p *plan.Plan, edit func(prefix, text string, at plan.Position) string) {
	for w, at := range p.HTTPRequests() {
		if !w.SecretBody && len(w.Body) > 0 {
			text := string(w.Body)
			if edited := edit(bodyPart, text, at); edited != text {
				w.Body = []byte(edited)
			}
		}
	}
	for c, at := range p.Calls() {
		for i, m := range c.Messages {
			if edited := edit(messagePart, m, at); edited != m {
				c.Messages[i] = edited
			}
		}
	}
}

// withoutParts returns the plan without the secrets inside bodies and messages: p itself if there are none.
func withoutParts(p *plan.Plan) *plan.Plan {
	found := false
	eachPart(p, func(_, text string, _ plan.Position) string {
		found = found || len(secret.Find(text)) > 0
		return text
	})
	if !found {
		return p
	}
	p = ownRequests(p)
	n := newNumbering()
	eachPart(p, func(prefix, text string, _ plan.Position) string {
		return editParts(text, func(name, value string) string { return secret.Hidden + n.of(prefix+name, value) })
	})
	return p
}

// ownRequests returns a copy of a plan whose requests can be changed.
func ownRequests(p *plan.Plan) *plan.Plan {
	out := *p
	own := func(r *protocol.Request) {
		if r.Web != nil {
			w := *r.Web
			r.Web = &w
		}
		if r.RPC != nil {
			c := *r.RPC
			c.Messages = slices.Clone(c.Messages)
			r.RPC = &c
		}
	}
	out.Prepare, out.Operations, out.Faults = slices.Clone(p.Prepare), slices.Clone(p.Operations), slices.Clone(p.Faults)
	for i := range out.Prepare {
		own(&out.Prepare[i])
	}
	for i := range out.Operations {
		op := &out.Operations[i]
		op.Steps = slices.Clone(op.Steps)
		for k := range op.Steps {
			step := &op.Steps[k]
			own(&step.Request)
			own(&step.Wrong.Request)
			if step.Verify != nil {
				v := *step.Verify
				own(&v.Read)
				step.Verify = &v
			}
			step.Variants = slices.Clone(step.Variants)
			for v := range step.Variants {
				own(&step.Variants[v])
			}
		}
	}
	if p.Registers != nil {
		r := *p.Registers
		own(&r.Write)
		own(&r.Read)
		out.Registers = &r
	}
	return &out
}

// parts restores the secrets inside bodies and messages.
func (s *unhider) parts(p *plan.Plan) {
	eachPart(p, func(prefix, text string, at plan.Position) string {
		return editParts(text, func(name, value string) string {
			suffix, hidden := strings.CutPrefix(value, secret.Hidden)
			if !hidden || strings.Trim(suffix, "0123456789") != "" {
				return value
			}
			variable := partVariable(prefix+name, suffix)
			if v, ok := s.lookup(variable); ok {
				return strings.ReplaceAll(v, "$", "$$")
			}
			s.missing(at, prefix+name, variable)
			return value
		})
	})
}

// parts adds the secrets inside bodies and messages.
func (g *gatherer) parts(p *plan.Plan) {
	n := newNumbering()
	eachPart(p, func(prefix, text string, _ plan.Position) string {
		return editParts(text, func(name, value string) string {
			g.values[partVariable(prefix+name, n.of(prefix+name, value))] = strings.ReplaceAll(value, "$$", "$")
			return value
		})
	})
}

// markedParts adds a comment about the hidden secrets inside a text.
func markedParts(n *yaml.Node, prefix, text string) *yaml.Node {
	var variables []string
	editParts(text, func(name, value string) string {
		if suffix, hidden := strings.CutPrefix(value, secret.Hidden); hidden {
			if v := partVariable(prefix+name, suffix); !slices.Contains(variables, v) {
				variables = append(variables, v)
			}
		}
		return value
	})
	if len(variables) > 0 {
		n.HeadComment = "# give it in " + strings.Join(variables, " and ")
	}
	return n
}
