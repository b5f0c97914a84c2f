package jmeter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// precedence of operators, from weak to strong.
var precedence = map[string]int{"||": 1, "or": 1, "&&": 2, "and": 2, "==": 3, "!=": 3, "===": 3, "!==": 3, "eq": 3,
	"ne": 3, "=~": 3,
	"==~": 3, "!~": 3, "<=>": 3, "<": 4, ">": 4, "<=": 4, ">=": 4, "lt": 4, "gt": 4, "le": 4, "ge": 4, "in": 4, "..": 5,
	"+": 6, "-": 6,
	"*": 7, "/": 7, "%": 7, "mod": 7, "div": 7, "**": 8}

var wordOperators = map[string]string{"or": "||", "and": "&&", "eq": "==", "ne": "!=", "lt": "<", "gt": ">",
	"le": "<=", "ge": ">=",
	"mod": "%", "div": "/", "===": "==", "!==": "!="}

// expression compiles an expression.
func (p *parser) expression() (eval, error) {
	if p.depth++; p.depth > mostDeep {
		return nil, p.wrong("expressions are nested too deeply")
	}
	defer func() { p.depth-- }()
	cond, err := p.operators(0)
	if err != nil {
		return nil, err
	}
	if p.take("?:") {
		other, err := p.expression()
		if err != nil {
			return nil, err
		}
		return func(x *scope) (any, error) {
			if v, err := cond(x); err != nil || truth(v) {
				return v, err
			}
			return other(x)
		}, nil
	}
	if !p.take("?") {
		return cond, nil
	}
	then, err := p.expression()
	if err == nil {
		err = p.want(":")
	}
	if err != nil {
		return nil, err
	}
	other, err := p.expression()
	if err != nil {
		return nil, err
	}
	return func(x *scope) (any, error) {
		v, err := cond(x)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			return then(x)
		}
		return other(x)
	}, nil
}

// operators compiles a chain of operators that bind at least as strongly as least.
func (p *parser) operators(least int) (eval, error) {
	left, err := p.unary()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		level, ok := precedence[t.text]
		if !ok || level <= least || t.kind != 'p' && t.kind != 'i' || t.kind == 'p' && t.newline && (t.text == "-" ||
			t.text == "+") ||
			t.kind == 'i' && p.flavour == groovy && t.text != "in" {
			return left, nil
		}
		p.next()
		right, err := p.operators(level)
		if err != nil {
			return nil, err
		}
		op := t.text
		if symbol, ok := wordOperators[op]; ok {
			op = symbol
		}
		left = joined(op, left, right, p.flavour)
	}
}

func joined(op string, left, right eval, f flavour) eval {
	return func(x *scope) (any, error) {
		a, err := left(x)
		if err != nil {
			return nil, err
		}
		switch {
		case op == "&&" && !truth(a):
			return false, nil
		case op == "||" && truth(a):
			return true, nil
		}
		b, err := right(x)
		if err != nil {
			return nil, err
		}
		if op == "&&" || op == "||" {
			return truth(b), nil
		}
		if op == "=~" || op == "==~" || op == "!~" {
			re, err := x.t.program.regex(show(b))
			if err != nil {
				return nil, err
			}
			if op == "=~" && f == groovy {
				return re.matches(show(a), false), nil
			}
			return re.matches(show(a), true) != (op == "!~"), nil
		}
		return binary(op, a, b, f)
	}
}

func (p *parser) unary() (eval, error) {
	if p.depth++; p.depth > mostDeep {
		return nil, p.wrong("expressions are nested too deeply")
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("!"), p.flavour == jexl && p.take("not"):
		v, err := p.unary()
		if err != nil {
			return nil, err
		}
		return func(x *scope) (any, error) { a, err := v(x); return !truth(a), err }, nil
	case p.take("-"):
		v, err := p.unary()
		if err != nil {
			return nil, err
		}
		f := p.flavour
		return func(x *scope) (any, error) {
			a, err := v(x)
			if err != nil {
				return nil, err
			}
			return binary("-", int64(0), a, f)
		}, nil
	case p.take("+"):
		return p.unary()
	}
	return p.postfix()
}

// truth is what an if makes of a value.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case sqlNumber:
		return v.float64 != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// show is a value as text.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e7 {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var b []string
		for _, e := range v {
			b = append(b, show(e))
		}
		return "[" + strings.Join(b, ", ") + "]"
	case map[string]any:
		var b []string
		for _, k := range sortedKeys(v) {
			b = append(b, k+":"+show(v[k]))
		}
		return "[" + strings.Join(b, ", ") + "]"
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

// number returns a value as a number; texts are read in jexl only.
func number(v any, f flavour) (n float64, whole, ok bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true, true
	case float64:
		return v, false, true
	case sqlNumber:
		return v.float64, false, true
	case string:
		if f == jexl {
			s := strings.TrimSpace(v)
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return float64(n), true, true
			}
			if n, err := strconv.ParseFloat(s, 64); err == nil {
				return n, false, true
			}
		}
	case nil:
		if f == jexl {
			return 0, true, true
		}
	}
	return 0, false, false
}

// binary applies an operator.
func binary(op string, a, b any, f flavour) (any, error) {
	switch op {
	case "==":
		return equal(a, b, f), nil
	case "!=":
		return !equal(a, b, f), nil
	case "in":
		for _, e := range items(b) {
			if equal(a, e, f) {
				return true, nil
			}
		}
		return false, nil
	case "..":
		return span(a, b)
	}
	_, aText := a.(string)
	_, bText := b.(string)
	x, wholeX, okX := number(a, f)
	y, wholeY, okY := number(b, f)
	if op == "+" && (aText || bText) && !(f == jexl && okX && okY) {
		return show(a) + show(b), nil
	}
	if l, ok := a.([]any); ok && op == "+" {
		return append(append([]any{}, l...), items(b)...), nil
	}
	if strings.IndexByte("<>", op[0]) >= 0 && !(okX && okY) {
		if a == nil || b == nil {
			return false, nil
		}
		if okX != okY && f == groovy {
			return nil, fmt.Errorf("%s and %s can't be compared", show(a), show(b))
		}
		return ordered(op, strings.Compare(show(a), show(b)))
	}
	if !okX || !okY {
		if op == "*" && aText && okY {
			return strings.Repeat(show(a), int(min(max(y, 0), 1e6))), nil
		}
		if op == "-" && aText {
			return strings.Replace(show(a), show(b), "", 1), nil
		}
		return nil, fmt.Errorf("%s %s %s: not numbers", show(a), op, show(b))
	}
	if op[0] == '<' || op[0] == '>' {
		c := 0
		if x < y {
			c = -1
		} else if x > y {
			c = 1
		}
		return ordered(op, c)
	}
	return arithmetic(op, a, b, x, y, wholeX && wholeY, f)
}

func arithmetic(op string, a, b any, x, y float64, whole bool, f flavour) (any, error) {
	if i, ok := a.(int64); ok && whole {
		if j, ok := b.(int64); ok {
			switch op {
			case "+":
				return i + j, nil
			case "-":
				return i - j, nil
			case "*":
				return i * j, nil
			}
		}
	}
	var v float64
	switch op {
	case "+":
		v = x + y
	case "-":
		v = x - y
	case "*":
		v = x * y
	case "/":
		if y == 0 {
			return nil, fmt.Errorf("division by zero")
		}
		if v = x / y; whole && f == jexl {
			v = math.Trunc(v)
		} else if whole && v != math.Trunc(v) {
			whole = false
		}
	case "%":
		if y == 0 {
			return nil, fmt.Errorf("division by zero")
		}
		v = math.Mod(x, y)
	case "**":
		v = math.Pow(x, y)
	default:
		return nil, fmt.Errorf("the operator %s isn't translated", op)
	}
	if whole && math.Abs(v) < 1<<53 {
		return int64(v), nil
	}
	return v, nil
}

func ordered(op string, c int) (any, error) {
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	case ">=":
		return c >= 0, nil
	}
	return int64(c), nil // <=>
}

func equal(a, b any, f flavour) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, _, okX := number(a, f)
	y, _, okY := number(b, f)
	if okX && okY {
		return x == y
	}
	if f == groovy && okX != okY {
		return false
	}
	if ba, ok := a.(bool); ok && f == jexl {
		return strconv.FormatBool(ba) == show(b)
	}
	return show(a) == show(b)
}

func span(a, b any) (any, error) {
	x, _, okX := number(a, groovy)
	y, _, okY := number(b, groovy)
	if !okX || !okY || y-x > 1e6 {
		return nil, fmt.Errorf("%s..%s isn't a range", show(a), show(b))
	}
	var out []any
	for i := int64(x); i <= int64(y); i++ {
		out = append(out, i)
	}
	return out, nil
}

// items returns the members of a list, or the value itself.
func items(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case map[string]any:
		var out []any
		for _, k := range sortedKeys(v) {
			out = append(out, map[string]any{"key": k, "value": v[k]})
		}
		return out
	}
	return []any{v}
}
