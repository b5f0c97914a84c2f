package ghz

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"brunt/internal/dialect/calls"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

// pieces are a template whose actions have been replaced by parameters: "$1" for the first one.
type pieces struct {
	text    string
	actions []string // the pipeline of each parameter, without braces
}

// split replaces the actions of a template. Those that aren't inside of a JSON text become texts of their own, whose
// value a message's field of any type takes.
func split(text string, functions bool) (pieces, error) {
	known := template.FuncMap{}
	if functions {
		known = functionNames()
	}
	t, err := template.New("call_template_data").Funcs(known).Parse(text)
	if err != nil {
		return pieces{}, fmt.Errorf("%s; functions that brunt knows: docs/ghz.md", strings.TrimPrefix(err.Error(), "template: "))
	}
	var out pieces
	var b strings.Builder
	quoted := false
	if t.Tree == nil {
		return out, nil
	}
	for _, node := range t.Root.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			b.WriteString(calls.Escape(string(n.Text)))
			quoted = inQuotes(quoted, n.Text)
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 {
				return pieces{}, errors.New("data: variables of templates aren't supported")
			}
			place := out.place(n.Pipe.String())
			if !quoted {
				place = `"` + place + `"`
			}
			b.WriteString(place)
		default:
			return pieces{}, fmt.Errorf("data: %s: only values are supported in templates", oneLine(n.String()))
		}
	}
	out.text = b.String()
	return out, nil
}

// place returns the parameter of an action. What is the same in all of a call has one.
func (p *pieces) place(action string) string {
	if strings.HasPrefix(action, ".") {
		for i, a := range p.actions {
			if a == action {
				return "$" + strconv.Itoa(i+1)
			}
		}
	}
	p.actions = append(p.actions, action)
	return "$" + strconv.Itoa(len(p.actions))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// inQuotes reports whether a JSON text that began earlier, or not, is still open at the end of text.
func inQuotes(quoted bool, text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '\\' && quoted:
			i++
		}
	}
	return quoted
}

// param returns the generator of an action's values, if there is one: for numbers of calls, UUIDs, and random texts and
// numbers. Other actions are executed as templates.
func param(action string) (p plan.Param, ok bool) {
	words := strings.Fields(action)
	number := func(i int) int64 {
		n, err := strconv.ParseInt(words[i], 10, 62)
		ok = ok && err == nil
		return n
	}
	ok = true
	spec := gen.Spec{}
	switch {
	case action == ".RequestNumber":
		spec = gen.Spec{Type: gen.TypeInteger, Distribution: gen.Sequential, HasRange: true, IntHi: unlimited}
	case action == "newUUID" || action == ".UUID" || action == "uuidv4":
		spec = gen.Spec{Type: gen.TypeUUID}
	case len(words) == 3 && words[0] == "randomInt":
		lo, hi := max(number(1), 0), max(number(2), 1)
		if lo >= hi {
			return p, false
		}
		spec = gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: lo, IntHi: hi - 1}
	case len(words) == 2 && words[0] == "randomString":
		spec = gen.Spec{Type: gen.TypeString, HasRange: true, IntLo: shortest, IntHi: longest, Alphabet: []string{letters}}
		if n := number(1); n > 0 {
			spec.IntLo, spec.IntHi = n, n
		}
	default:
		return p, false
	}
	return plan.Param{Value: &plan.ValueSpec{Spec: spec}}, ok
}

// letters is the alphabet of randomString, and shortest and longest its lengths without a given one.
const (
	letters           = "custom:abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	shortest, longest = 2, 16
)

// params returns the generators of all actions; ok is false if an action has none.
func (p *pieces) params() (all []plan.Param, ok bool) {
	for _, a := range p.actions {
		one, ok := param(a)
		if !ok {
			return nil, false
		}
		all = append(all, one)
	}
	return all, true
}
