package jmeter

import (
	"fmt"
	"strings"
)

// text is a text with references to variables and functions, compiled: ${name}, ${__function(a,b)}.
type text struct {
	raw   string
	parts []part // empty: raw is the value
}

// part is a piece of a text: a literal, a variable or a function.
type part struct {
	literal  string
	variable string
	call     *call
}

// call is a call of a function with its arguments.
type call struct {
	name string
	raw  string
	args []text
	f    function
	own  any // what the function remembers between calls; see function
}

// fixed reports whether the text is the same each time.
func (x *text) fixed() bool { return len(x.parts) == 0 }

// parseText compiles a text as JMeter's FunctionParser does: a text without references stays as it is; in others, \$,
// \, and \\ stand for the second character.
func parseText(raw string) (text, error) {
	if !strings.Contains(raw, "${") {
		return text{raw: raw}, nil
	}
	r := &reader{s: raw}
	parts, err := r.parts(0)
	if err != nil {
		return text{}, err
	}
	simple := true
	for i := range parts {
		simple = simple && parts[i].variable == "" && parts[i].call == nil
	}
	if simple {
		return text{raw: raw}, nil
	}
	return text{raw: raw, parts: parts}, nil
}

// reader reads a text with references.
type reader struct {
	s  string
	at int
}

const mostNested = 50

// parts reads up to the end of the text.
func (r *reader) parts(depth int) (parts []part, err error) {
	if depth > mostNested {
		return nil, fmt.Errorf("functions are nested too deeply")
	}
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			parts = append(parts, part{literal: lit.String()})
			lit.Reset()
		}
	}
	for r.at < len(r.s) {
		c := r.s[r.at]
		switch {
		case c == '\\' && r.at+1 < len(r.s):
			next := r.s[r.at+1]
			if next != '$' && next != ',' && next != '\\' {
				lit.WriteByte(c)
			}
			lit.WriteByte(next)
			r.at += 2
		case c == '$' && strings.HasPrefix(r.s[r.at:], "${"):
			begin := r.at
			p, ok, err := r.reference(depth)
			if err != nil {
				return nil, err
			}
			if !ok {
				lit.WriteString(r.s[begin:r.at])
				continue
			}
			flush()
			parts = append(parts, p)
		default:
			lit.WriteByte(c)
			r.at++
		}
	}
	flush()
	return parts, nil
}

// reference reads ${…}. ok is false if it isn't closed: then it is a text.
func (r *reader) reference(depth int) (p part, ok bool, err error) {
	begin := r.at
	r.at += 2
	nameAt := r.at
	for r.at < len(r.s) {
		switch c := r.s[r.at]; {
		case c == '}':
			name := strings.TrimSpace(r.s[nameAt:r.at])
			r.at++
			return refer(name, r.s[begin:r.at], nil)
		case c == '(' && strings.HasPrefix(strings.TrimSpace(r.s[nameAt:r.at]), "__"):
			name := strings.TrimSpace(r.s[nameAt:r.at])
			args, closed, err := r.arguments(depth)
			if err != nil {
				return part{}, false, err
			}
			if !closed {
				return part{}, false, fmt.Errorf("%q isn't closed", cut(r.s[begin:]))
			}
			return refer(name, r.s[begin:r.at], args)
		case c == '$' && strings.HasPrefix(r.s[r.at:], "${"):
			if _, _, err := r.reference(depth + 1); err != nil { // ${a${b}}: JMeter takes it as a text
				return part{}, false, err
			}
			return part{}, false, nil
		default:
			r.at++
		}
	}
	return part{}, false, nil
}

// cut shortens a text for messages.
func cut(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

func refer(name, raw string, args []text) (part, bool, error) {
	if !strings.HasPrefix(name, "__") {
		return part{variable: name}, true, nil
	}
	f, known := functions()[name]
	_, untranslated := untranslated[name]
	if !known && args == nil && !untranslated && !strings.HasSuffix(raw, ")}") { // such as __jm__NAME__idx
		return part{variable: name}, true, nil
	}
	if !known {
		return part{}, false, &unknownFunction{name}
	}
	if len(args) < f.least {
		return part{}, false, fmt.Errorf("%s has %d arguments and needs %d", name, len(args), f.least)
	}
	c := &call{name: name, raw: raw, args: args, f: f}
	if f.prepare != nil {
		var err error
		if c.own, err = f.prepare(c); err != nil {
			return part{}, false, fmt.Errorf("%s: %w", name, err)
		}
	}
	return part{call: c}, true, nil
}

// unknownFunction is a function that isn't available.
type unknownFunction struct{ name string }

func (u *unknownFunction) Error() string {
	if why := untranslated[u.name]; why != "" {
		return fmt.Sprintf("the function %s %s", u.name, why)
	}
	return fmt.Sprintf("the function %s is unknown", u.name)
}

// untranslated are functions of JMeter that have no equivalent, and why.
var untranslated = map[string]string{
	"__BeanShell":        "runs BeanShell, which isn't translated; write it as __groovy or __jexl3",
	"__javaScript":       "runs JavaScript, which isn't translated; write it as __jexl3",
	"__machineInfo":      "isn't available",
	"__dateTimeConvert":  "isn't available",
	"__XPath":            "isn't available; use a CSV data set",
	"__StringToFile":     "writes files, which loads don't do",
	"__logn":             "isn't available; use __log",
	"__TestPlanFile":     "isn't available",
	"__isPropDefined":    "isn't available",
	"__isVarDefined":     "isn't available",
	"__changeCase2":      "isn't available",
	"__samplerNameRegex": "isn't available",
}

// arguments reads (a,b,…)} and what follows up to the brace.
func (r *reader) arguments(depth int) (args []text, closed bool, err error) {
	r.at++ // (
	begin, paren := r.at, 1
	add := func(end int, last bool) error {
		raw := r.s[begin:end]
		if last && len(args) == 0 && raw == "" {
			return nil
		}
		inner := &reader{s: raw}
		parts, err := inner.parts(depth + 1)
		if err != nil {
			return err
		}
		x := text{raw: unescape(raw), parts: parts}
		if len(parts) == 0 || len(parts) == 1 && parts[0].call == nil && parts[0].variable == "" {
			x.parts = nil
		}
		args = append(args, x)
		return nil
	}
	for r.at < len(r.s) {
		switch c := r.s[r.at]; {
		case c == '\\' && r.at+1 < len(r.s):
			r.at += 2
			continue
		case c == '$' && strings.HasPrefix(r.s[r.at:], "${"):
			r.skip()
			continue
		case c == ',' && paren == 1:
			if err := add(r.at, false); err != nil {
				return nil, false, err
			}
			begin = r.at + 1
		case c == '(':
			paren++
		case c == ')':
			if paren--; paren == 0 {
				if err := add(r.at, true); err != nil {
					return nil, false, err
				}
				r.at++
				for r.at < len(r.s) && r.s[r.at] != '}' {
					r.at++
				}
				if r.at == len(r.s) {
					return nil, false, nil
				}
				r.at++
				return args, true, nil
			}
		}
		r.at++
	}
	return nil, false, nil
}

// skip passes over a reference without reading it.
func (r *reader) skip() {
	depth := 0
	for r.at < len(r.s) {
		switch {
		case r.s[r.at] == '\\' && r.at+1 < len(r.s):
			r.at++
		case strings.HasPrefix(r.s[r.at:], "${"):
			depth++
			r.at++
		case r.s[r.at] == '}':
			if depth--; depth == 0 {
				r.at++
				return
			}
		}
		r.at++
	}
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(`$,\`, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// eval returns the text's value for a thread.
func (x *text) eval(t *thread) string {
	if len(x.parts) == 0 {
		return x.raw
	}
	if len(x.parts) == 1 {
		return x.parts[0].eval(t)
	}
	var b strings.Builder
	for i := range x.parts {
		b.WriteString(x.parts[i].eval(t))
	}
	return b.String()
}

func (p *part) eval(t *thread) string {
	switch {
	case p.call != nil:
		return p.call.f.run(t, p.call)
	case p.variable != "":
		if v, ok := t.vars[p.variable]; ok {
			return v
		}
		return "${" + p.variable + "}"
	}
	return p.literal
}

// arg returns the value of an argument; "" if there is none.
func (c *call) arg(t *thread, i int) string {
	if i >= len(c.args) {
		return ""
	}
	return c.args[i].eval(t)
}

// store sets the variable that argument i names, if any.
func (c *call) store(t *thread, i int, value string) string {
	if name := strings.TrimSpace(c.arg(t, i)); name != "" {
		t.vars[name] = value
	}
	return value
}
