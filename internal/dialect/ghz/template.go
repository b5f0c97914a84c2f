package ghz

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"brunt/internal/dialect/calls"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

// split replaces the actions of a template by parameters.
func split(text string, functions bool) (calls.Template, error) {
	known := template.FuncMap{}
	if functions {
		known = functionNames()
	}
	t, err := template.New("call_template_data").Funcs(known).Parse(text)
	if err != nil {
		return calls.Template{}, fmt.Errorf("%s; functions that brunt knows: docs/ghz.md",
			strings.TrimPrefix(err.Error(), "template: "))
	}
	out, err := calls.Split(t)
	if err != nil {
		return calls.Template{}, fmt.Errorf("data: %w", err)
	}
	return out, nil
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
func params(actions []string) (all []plan.Param, ok bool) {
	for _, a := range actions {
		one, ok := param(a)
		if !ok {
			return nil, false
		}
		all = append(all, one)
	}
	return all, true
}
