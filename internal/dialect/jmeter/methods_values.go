package jmeter

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

func invokeText(x *scope, s, name string, args []any) (any, error) {
	a, b := textOf(args, 0), textOf(args, 1)
	switch name {
	case "length", "size":
		return int64(len([]rune(s))), nil
	case "toUpperCase":
		return strings.ToUpper(s), nil
	case "toLowerCase":
		return strings.ToLower(s), nil
	case "trim", "strip":
		return strings.TrimSpace(s), nil
	case "replace":
		return strings.ReplaceAll(s, a, b), nil
	case "contains":
		return strings.Contains(s, a), nil
	case "startsWith":
		return strings.HasPrefix(s, a), nil
	case "endsWith":
		return strings.HasSuffix(s, a), nil
	case "indexOf":
		return int64(strings.Index(s, a)), nil
	case "lastIndexOf":
		return int64(strings.LastIndex(s, a)), nil
	case "equals":
		return len(args) == 1 && args[0] != nil && s == a, nil
	case "equalsIgnoreCase":
		return strings.EqualFold(s, a), nil
	case "isEmpty":
		return s == "", nil
	case "isBlank":
		return strings.TrimSpace(s) == "", nil
	case "toString", "intern":
		return s, nil
	case "concat", "append":
		return s + a, nil
	case "compareTo":
		return int64(strings.Compare(s, a)), nil
	case "hashCode":
		h := fnv.New32()
		_, _ = h.Write([]byte(s))
		return int64(h.Sum32()), nil
	case "capitalize":
		return capitalize(s), nil
	case "format":
		return formatted(append([]any{s}, args...))
	}
	if v, ok, err := textNumbers(s, name); ok {
		return v, err
	}
	return textPieces(x, s, name, args)
}

// textNumbers are the methods that read numbers. ok is false for others.
func textNumbers(s, name string) (v any, ok bool, err error) {
	t := strings.TrimSpace(s)
	n, errInt := strconv.ParseInt(t, 10, 64)
	f, errFloat := strconv.ParseFloat(t, 64)
	switch name {
	case "toInteger", "toLong", "toBigInteger":
		if errInt != nil {
			return nil, true, fmt.Errorf("%q isn't a whole number", s)
		}
		return n, true, nil
	case "toDouble", "toFloat", "toBigDecimal":
		if errFloat != nil {
			return nil, true, fmt.Errorf("%q isn't a number", s)
		}
		return f, true, nil
	case "isNumber":
		return errFloat == nil, true, nil
	case "isInteger":
		return errInt == nil, true, nil
	}
	return nil, false, nil
}

func textPieces(x *scope, s, name string, args []any) (any, error) {
	r := []rune(s)
	switch name {
	case "substring", "take", "drop":
		from, to := int(intOf(args, 0)), len(r)
		switch {
		case name == "take":
			from, to = 0, min(from, len(r))
		case name == "drop":
			from = min(from, len(r))
		case len(args) > 1:
			to = int(intOf(args, 1))
		}
		if from < 0 || to > len(r) || from > to {
			return nil, fmt.Errorf("substring(%d, %d) of a text of %d characters", from, to, len(r))
		}
		return string(r[from:to]), nil
	case "charAt":
		i := int(intOf(args, 0))
		if i < 0 || i >= len(r) {
			return nil, fmt.Errorf("charAt(%d) of a text of %d characters", i, len(r))
		}
		return string(r[i]), nil
	case "padLeft", "padRight":
		fill := " "
		if len(args) > 1 {
			fill = textOf(args, 1)
		}
		pad := strings.Repeat(fill, max(int(min(intOf(args, 0), 1e6))-len(r), 0))
		if name == "padLeft" {
			return pad + s, nil
		}
		return s + pad, nil
	case "reverse":
		slices.Reverse(r)
		return string(r), nil
	case "tokenize":
		by := textOf(args, 0)
		if len(args) == 0 {
			by = " \t\n\r"
		}
		return listOf(strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(by, c) })), nil
	case "split", "replaceAll", "replaceFirst", "matches":
		re, err := x.t.program.regex(textOf(args, 0))
		if err != nil {
			return nil, err
		}
		switch name {
		case "matches":
			return re.matches(s, true), nil
		case "split":
			return listOf(re.split(s)), nil
		}
		return re.replace(s, textOf(args, 1), name == "replaceFirst"), nil
	}
	return nil, errNoMethod
}

func listOf(all []string) []any {
	out := make([]any, len(all))
	for i, s := range all {
		out[i] = s
	}
	return out
}

func invokeNumber(v any, name string, args []any) (any, error) {
	n, _, _ := number(v, groovy)
	switch name {
	case "toString":
		return show(v), nil
	case "toInteger", "toLong", "intValue", "longValue", "toBigInteger":
		return int64(n), nil
	case "toDouble", "doubleValue", "toFloat", "toBigDecimal":
		return n, nil
	case "equals":
		return len(args) == 1 && equal(v, args[0], groovy), nil
	case "compareTo":
		return binary("<=>", v, first(args), groovy)
	case "abs":
		if n < 0 {
			return binary("-", int64(0), v, groovy)
		}
		return v, nil
	case "round":
		return int64(n + 0.5), nil
	}
	return nil, errNoMethod
}

func invokeList(x *scope, l []any, name string, args []any) (any, error) {
	switch name {
	case "size", "length":
		return int64(len(l)), nil
	case "isEmpty":
		return len(l) == 0, nil
	case "get":
		return at(x, l, first(args))
	case "first":
		return at(x, l, int64(0))
	case "last":
		return at(x, l, int64(len(l)-1))
	case "contains":
		return slices.ContainsFunc(l, func(e any) bool { return equal(e, first(args), groovy) }), nil
	case "indexOf":
		return int64(slices.IndexFunc(l, func(e any) bool { return equal(e, first(args), groovy) })), nil
	case "join":
		var all []string
		for _, e := range l {
			all = append(all, show(e))
		}
		return strings.Join(all, textOf(args, 0)), nil
	case "toString":
		return show(l), nil
	case "toList":
		return l, nil
	case "reverse":
		l = slices.Clone(l)
		slices.Reverse(l)
		return l, nil
	case "sort", "unique":
		l = slices.Clone(l)
		slices.SortStableFunc(l, func(a, b any) int {
			c, err := binary("<=>", a, b, groovy)
			if err != nil {
				return 0
			}
			n, _ := c.(int64)
			return int(n)
		})
		if name == "unique" {
			l = slices.CompactFunc(l, func(a, b any) bool { return equal(a, b, groovy) })
		}
		return l, nil
	}
	return nil, errNoMethod
}

func invokeMap(m map[string]any, name string, args []any) (any, error) {
	switch name {
	case "get":
		return m[textOf(args, 0)], nil
	case "put":
		if len(args) == 2 {
			m[textOf(args, 0)] = args[1]
		}
		return nil, nil
	case "containsKey":
		_, ok := m[textOf(args, 0)]
		return ok, nil
	case "size":
		return int64(len(m)), nil
	case "isEmpty":
		return len(m) == 0, nil
	case "keySet":
		return listOf(sortedKeys(m)), nil
	case "values":
		var out []any
		for _, k := range sortedKeys(m) {
			out = append(out, m[k])
		}
		return out, nil
	case "remove":
		v := m[textOf(args, 0)]
		delete(m, textOf(args, 0))
		return v, nil
	case "toString":
		return show(m), nil
	}
	return nil, errNoMethod
}

// at is v[index].
func at(x *scope, v, index any) (any, error) {
	switch v := v.(type) {
	case []any:
		n, _, ok := number(index, groovy)
		i := int(n)
		if i < 0 {
			i += len(v)
		}
		if !ok || i < 0 {
			return nil, fmt.Errorf("%s isn't an index", show(index))
		}
		if i >= len(v) {
			return nil, nil
		}
		return v[i], nil
	case map[string]any:
		return v[show(index)], nil
	case string:
		r := []rune(v)
		if n, _, ok := number(index, groovy); ok && int(n) >= 0 && int(n) < len(r) {
			return string(r[int(n)]), nil
		}
	case object:
		return readMember(x, v, show(index))
	case nil:
		return nil, fmt.Errorf("[%s] of null", show(index))
	}
	return nil, fmt.Errorf("[%s] isn't translated for %s", show(index), kindName(v))
}

// readMember is v.name without a call.
func readMember(x *scope, v any, name string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		return v[name], nil
	case []any:
		if name == "length" {
			return int64(len(v)), nil
		}
		var out []any
		for _, e := range v {
			m, err := readMember(x, e, name)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		}
		return out, nil
	case string:
		if name == "length" {
			return int64(len([]rune(v))), nil
		}
	case instant:
		if name == "time" {
			return v.UnixMilli(), nil
		}
	case object:
		switch {
		case v == "vars" || v == "props":
			return invoke(x, v, "get", []any{name})
		case v == "Math" && name == "PI":
			return 3.141592653589793, nil
		case v == "Integer" && name == "MAX_VALUE":
			return int64(1<<31 - 1), nil
		}
		for _, method := range []string{"get" + capitalize(name), "is" + capitalize(name)} {
			if methods[method] {
				return invoke(x, v, method, nil)
			}
		}
	case nil:
		return nil, fmt.Errorf(".%s of null", name)
	}
	return nil, fmt.Errorf(".%s isn't translated for %s", name, kindName(v))
}

// runCode runs a script for a thread. r is the result that it sees as prev.
func (c *code) runCode(t *thread, r *result, v *assertResult, locals map[string]any) (any, error) {
	x := &scope{t: t, result: r, verdict: v, locals: map[string]any{}}
	for k, l := range locals {
		x.locals[k] = l
	}
	_, err := c.run(x)
	return x.value, err
}

// scriptFunction is __groovy or __jexl3.
func scriptFunction(f flavour) func(t *thread, c *call) string {
	return func(t *thread, c *call) string {
		compiled, _ := c.own.(*code)
		if compiled == nil {
			var err error
			if compiled, err = t.program.code(c.arg(t, 0), f); err != nil {
				t.program.complain("%s: %v", c.name, err)
				return ""
			}
		}
		v, err := compiled.runCode(t, t.previous, nil, nil)
		if err != nil {
			t.program.complain("%s: %v", c.name, err)
			return ""
		}
		if v == nil {
			return c.store(t, 1, "")
		}
		return c.store(t, 1, show(v))
	}
}

// prepareScript compiles the script of a call, unless it is known only when its variables are.
func prepareScript(f flavour) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		if !c.args[0].fixed() {
			return nil, nil
		}
		return compileCode(c.args[0].raw, f)
	}
}
