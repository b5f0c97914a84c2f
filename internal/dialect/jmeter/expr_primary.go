package jmeter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// object is one of the things that JMeter gives to scripts, or a class.
type object string

// globals are the names that scripts know.
var globals = map[string]object{"vars": "vars", "props": "props", "log": "log", "prev": "prev", "SampleResult": "prev",
	"sampleResult": "prev", "ctx": "ctx", "sampler": "sampler", "AssertionResult": "AssertionResult", "Math": "Math",
	"Integer": "Integer",
	"Long":    "Integer", "Double": "Double", "Float": "Double", "String": "String", "System": "System", "UUID": "UUID",
	"Boolean": "Boolean", "OUT": "OUT",
	"RandomStringUtils": "RandomStringUtils", "JsonOutput": "JsonOutput", "LocalDate": "LocalDate",
	"LocalDateTime":     "LocalDate",
	"Instant":           "LocalDate",
	"DateTimeFormatter": "DateTimeFormatter", "URLEncoder": "URLEncoder", "Objects": "Objects",
	"ThreadLocalRandom": "Random",
	"StringUtils":       "StringUtils"}

// packages are the prefixes of full names of classes.
var packages = []string{"java", "groovy", "org"}

// postfix compiles a value with what follows it: members, calls, indexes.
func (p *parser) postfix() (eval, error) {
	v, err := p.primary()
	if err != nil {
		return nil, err
	}
	for {
		switch {
		case p.is(".") || p.is("?."):
			safe := p.next().text == "?."
			name := p.next()
			if name.kind != 'i' && name.kind != 's' {
				return nil, p.wrong("a name is expected after the dot")
			}
			if v, err = p.member(v, name, safe); err != nil {
				return nil, err
			}
		case p.is("[") && !p.peek().newline:
			p.next()
			index, err := p.expression()
			if err == nil {
				err = p.want("]")
			}
			if err != nil {
				return nil, err
			}
			of := v
			v = func(x *scope) (any, error) {
				a, err := of(x)
				if err != nil {
					return nil, err
				}
				i, err := index(x)
				if err != nil {
					return nil, err
				}
				return at(x, a, i)
			}
		case p.is("++") || p.is("--"):
			return nil, p.wrong("%q isn't translated inside an expression", p.peek().text)
		default:
			return v, nil
		}
	}
}

// member compiles .name, or .name(…).
func (p *parser) member(of eval, name token, safe bool) (eval, error) {
	line := name.line
	if !p.is("(") || p.peek().newline {
		if p.is("{") && !p.peek().newline {
			return nil, p.wrong("closures aren't translated")
		}
		if p.is("=") {
			return nil, p.wrong("assignments to members aren't translated; use put")
		}
		return func(x *scope) (any, error) {
			a, err := of(x)
			if err != nil || a == nil && safe {
				return nil, err
			}
			v, err := readMember(x, a, name.text)
			return v, atLine(line, err)
		}, nil
	}
	if _, known := methods[name.text]; !known {
		return nil, fmt.Errorf("line %d: the method %s() isn't translated", line, name.text)
	}
	args, err := p.arguments("(", ")")
	if err != nil {
		return nil, err
	}
	if p.is("{") && !p.peek().newline {
		return nil, p.wrong("closures aren't translated")
	}
	return func(x *scope) (any, error) {
		a, err := of(x)
		if err != nil || a == nil && safe {
			return nil, err
		}
		values := make([]any, len(args))
		for i, arg := range args {
			if values[i], err = arg(x); err != nil {
				return nil, err
			}
		}
		v, err := invoke(x, a, name.text, values)
		return v, atLine(line, err)
	}, nil
}

func atLine(line int, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "line ") {
		return err
	}
	return fmt.Errorf("line %d: %w", line, err)
}

func (p *parser) arguments(open, end string) (args []eval, err error) {
	if err := p.want(open); err != nil {
		return nil, err
	}
	for !p.is(end) {
		if p.is("{") {
			return nil, p.wrong("closures aren't translated")
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		if !p.take(",") && !p.is(end) {
			return nil, p.wrong("%q is expected before %s", end, p.peek().shown())
		}
	}
	p.next()
	return args, nil
}

func constant(v any) eval { return func(*scope) (any, error) { return v, nil } }

// primary compiles a literal, a variable, a list, a map, a cast or a new object.
func (p *parser) primary() (eval, error) {
	t := p.next()
	switch t.kind {
	case 'n':
		if n, err := strconv.ParseInt(t.text, 10, 64); err == nil {
			return constant(n), nil
		}
		n, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q isn't a number", t.line, t.text)
		}
		return constant(n), nil
	case 's', 'g':
		if t.kind == 'g' && p.flavour == groovy {
			return p.interpolated(t)
		}
		text := strings.ReplaceAll(t.text, "\x00", "")
		if p.flavour == jexl && (text == "true" || text == "false") {
			return constant(text == "true"), nil
		}
		return constant(text), nil
	case 'i':
		return p.name(t)
	case 'p':
		switch t.text {
		case "(":
			return p.group()
		case "[":
			return p.literal()
		}
	}
	p.at = max(p.at-1, 0)
	return nil, p.wrong("%s isn't translated here", t.shown())
}

// group compiles what is in parentheses; (int) before a value is a cast.
func (p *parser) group() (eval, error) {
	if t := p.peek(); t.kind == 'i' && p.tokens[p.at+1].text == ")" && (primitive[t.text] || t.text == "String") {
		p.at += 2
		v, err := p.unary()
		if err != nil {
			return nil, err
		}
		method := map[string]string{"int": "toLong", "long": "toLong", "double": "toDouble", "float": "toDouble",
			"String": "toString"}[t.text]
		if method == "" {
			return v, nil
		}
		return func(x *scope) (any, error) {
			a, err := v(x)
			if err != nil {
				return nil, err
			}
			return invoke(x, a, method, nil)
		}, nil
	}
	v, err := p.expression()
	if err != nil {
		return nil, err
	}
	return v, p.want(")")
}

// literal compiles [a, b] and [key: value].
func (p *parser) literal() (eval, error) {
	if p.take(":") {
		return func(*scope) (any, error) { return map[string]any{}, nil }, p.want("]")
	}
	var keys []string
	var values []eval
	for !p.is("]") {
		if k := p.peek(); (k.kind == 'i' || k.kind == 's' || k.kind == 'g') && p.tokens[p.at+1].text == ":" &&
			p.tokens[p.at+1].kind == 'p' {
			p.at += 2
			keys = append(keys, k.text)
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
		if !p.take(",") && !p.is("]") {
			return nil, p.wrong("%q is expected before %s", "]", p.peek().shown())
		}
	}
	p.next()
	if len(keys) != 0 && len(keys) != len(values) {
		return nil, p.wrong("a map has a member without a key")
	}
	return func(x *scope) (any, error) {
		list := make([]any, 0, len(values))
		for _, v := range values {
			a, err := v(x)
			if err != nil {
				return nil, err
			}
			list = append(list, a)
		}
		if len(keys) == 0 {
			return list, nil
		}
		m := map[string]any{}
		for i, k := range keys {
			m[k] = list[i]
		}
		return m, nil
	}, nil
}

// name compiles a name: a literal word, a variable, a class, or a call of println.
func (p *parser) name(t token) (eval, error) {
	switch t.text {
	case "true", "false":
		return constant(t.text == "true"), nil
	case "null", "undefined":
		return constant(nil), nil
	case "new":
		return p.created()
	case "println", "print":
		args, err := p.arguments("(", ")")
		if err != nil {
			return nil, err
		}
		return func(x *scope) (any, error) {
			for _, a := range args {
				v, err := a(x)
				if err != nil {
					return nil, err
				}
				x.t.program.log(show(v))
			}
			return nil, nil
		}, nil
	case "size", "empty":
		if p.flavour == jexl && p.is("(") {
			args, err := p.arguments("(", ")")
			if err != nil || len(args) != 1 {
				return nil, p.wrong("%s() takes one argument", t.text)
			}
			return func(x *scope) (any, error) {
				v, err := args[0](x)
				if t.text == "empty" {
					return !truth(v), err
				}
				return int64(len(items(v))), err
			}, nil
		}
	case "Label":
		return func(x *scope) (any, error) { return x.t.label, nil }, nil
	case "threadName":
		return func(x *scope) (any, error) { return x.t.name(), nil }, nil
	}
	if p.known[t.text] {
		return func(x *scope) (any, error) { return x.locals[t.text], nil }, nil
	}
	if slices.Contains(packages, t.text) && p.is(".") {
		return p.fullName()
	}
	if o, ok := globals[t.text]; ok {
		return constant(o), nil
	}
	if p.is("(") {
		return nil, fmt.Errorf("line %d: the function %s() isn't translated", t.line, t.text)
	}
	return nil, fmt.Errorf("line %d: the name %q is unknown or isn't translated", t.line, t.text)
}

// fullName compiles java.util.UUID and the like.
func (p *parser) fullName() (eval, error) {
	for p.is(".") {
		p.next()
		t := p.next()
		if t.kind != 'i' {
			break
		}
		if t.text[0] >= 'A' && t.text[0] <= 'Z' {
			if o, ok := globals[t.text]; ok {
				return constant(o), nil
			}
			return nil, fmt.Errorf("line %d: the class %s isn't translated", t.line, t.text)
		}
	}
	return nil, p.wrong("a class isn't translated")
}

// created compiles new X(…).
func (p *parser) created() (eval, error) {
	t := p.next()
	for p.take(".") {
		t = p.next()
	}
	switch t.text {
	case "Date", "Random", "SimpleDateFormat", "JsonSlurper", "String", "StringBuilder", "HashMap", "ArrayList",
		"JsonSlurperClassic":
	default:
		return nil, fmt.Errorf("line %d: new %s isn't translated", t.line, t.text)
	}
	if p.take("<") {
		for !p.take(">") {
			if p.next().kind == 0 {
				return nil, p.wrong("a type isn't closed")
			}
		}
	}
	args, err := p.arguments("(", ")")
	if err != nil {
		return nil, err
	}
	return func(x *scope) (any, error) {
		values := make([]any, len(args))
		for i, a := range args {
			var err error // of this thread
			if values[i], err = a(x); err != nil {
				return nil, err
			}
		}
		return create(x, t.text, values)
	}, nil
}

// interpolated compiles a text of Groovy with $name and ${expression}.
func (p *parser) interpolated(t token) (eval, error) {
	var pieces []eval
	s := t.text
	for s != "" {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			pieces = append(pieces, constant(s))
			break
		}
		if i > 0 && s[i-1] == 0 { // \$
			pieces = append(pieces, constant(s[:i-1]+"$"))
			s = s[i+1:]
			continue
		}
		if i > 0 {
			pieces = append(pieces, constant(s[:i]))
		}
		s = s[i+1:]
		inner := ""
		if strings.HasPrefix(s, "{") {
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return nil, fmt.Errorf("line %d: ${ isn't closed", t.line)
			}
			inner, s = s[1:end], s[end+1:]
		} else {
			n := 0
			for n < len(s) && (s[n] == '_' || s[n] == '.' && n+1 < len(s) && isLetter(s[n+1]) || isLetter(s[n]) || n > 0 &&
				s[n] >= '0' && s[n] <= '9') {
				n++
			}
			if n == 0 {
				pieces = append(pieces, constant("$"))
				continue
			}
			inner, s = s[:n], s[n:]
		}
		tokens, err := scan(inner)
		if err != nil {
			return nil, err
		}
		sub := &parser{tokens: tokens, flavour: p.flavour, known: p.known, depth: p.depth + 1}
		v, err := sub.expression()
		if err != nil {
			return nil, fmt.Errorf("line %d: in a text: %w", t.line, err)
		}
		pieces = append(pieces, v)
	}
	return func(x *scope) (any, error) {
		var b strings.Builder
		for _, piece := range pieces {
			v, err := piece(x)
			if err != nil {
				return nil, err
			}
			b.WriteString(show(v))
		}
		return b.String(), nil
	}, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
