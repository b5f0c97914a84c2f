package planfile

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"brunt/internal/suggest"
)

// words is the form of strings.
type words struct {
	name  bool // a name: not empty and without control characters
	lower bool // converted to lower case
}

func (w words) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	s := r.textOf(n, key)
	if w.lower {
		s = strings.ToLower(s)
	}
	if w.name && tagIs(n, "!!str") {
		switch {
		case strings.TrimSpace(s) == "":
			r.problemAt(n, "write a name or remove it", "%s is empty", key)
		case strings.ContainsFunc(s, unicode.IsControl):
			r.problemAt(n, "use letters, digits and _", "%s has a control character", key)
		}
	}
	to.SetString(s)
}

func (w words) write(from reflect.Value) *yaml.Node {
	if from.String() == "" {
		return nil
	}
	return text(from.String())
}

func (w words) schema(*definitions) schema {
	s := schema{"type": "string"}
	if w.name {
		s["minLength"] = 1
	}
	return s
}

// names returns the form of a list of strings on one line.
func names() form { return list{of: words{}, flow: true} }

// choice is the form of a string that must be one of the given ones. Case is ignored, and the value is stored in lower
// case.
type choice []string

func (c choice) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	word := r.textOf(n, key)
	if word == "" {
		if tagIs(n, "!!str") {
			r.problemAt(n, "use "+strings.Join(c, ", "), "%s is empty", key)
		}
		return
	}
	for _, k := range c {
		if strings.EqualFold(k, word) {
			to.SetString(strings.ToLower(word))
			return
		}
	}
	fix := "use " + strings.Join(c, ", ")
	if near := suggest.Nearest(word, c); near != "" {
		fix = "did you mean " + near + "?"
	}
	r.problemAt(n, fix, "unknown %s %q", key, word)
}

func (c choice) write(from reflect.Value) *yaml.Node {
	for _, k := range c {
		if strings.EqualFold(k, from.String()) {
			return text(k)
		}
	}
	return words{}.write(from)
}

func (c choice) schema(*definitions) schema {
	var b strings.Builder
	for i, w := range c {
		if i > 0 {
			b.WriteByte('|')
		}
		for _, l := range w {
			if lo, up := unicode.ToLower(l), unicode.ToUpper(l); lo != up {
				fmt.Fprintf(&b, "[%c%c]", lo, up)
			} else {
				b.WriteRune(l)
			}
		}
	}
	return schema{"anyOf": []any{
		schema{"enum": []string(c)}, schema{"type": "string", "pattern": "^(" + b.String() + ")$"},
	}}
}

// flag is the form of a bool. With always, false is written, too.
type flag struct{ always bool }

func (flag) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	if !tagIs(n, "!!bool") {
		r.wrong(n, key, "true or false", "write true or false")
		return
	}
	to.SetBool(strings.EqualFold(n.Value, "true"))
}

func (f flag) write(from reflect.Value) *yaml.Node {
	if !from.Bool() && !f.always {
		return nil
	}
	return scalar("!!bool", strconv.FormatBool(from.Bool()))
}

func (flag) schema(*definitions) schema { return schema{"type": "boolean"} }

// whole is the form of integers from lo to hi.
type whole struct{ lo, hi int64 }

func (w whole) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	to.SetInt(r.integerOf(n, key, w.lo, w.hi))
}

func (w whole) write(from reflect.Value) *yaml.Node {
	if from.Int() == 0 {
		return nil
	}
	return number(from.Int())
}

func (w whole) schema(*definitions) schema {
	return schema{"type": "integer", "minimum": w.lo, "maximum": w.hi}
}

// unsigned is the form of integers ≥ 0 of up to 64 bits. With above, 0 is not allowed. With always, 0 is written, too.
type unsigned struct{ above, always bool }

func (u unsigned) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	v := r.unsignedOf(n, key)
	if written, err := strconv.ParseFloat(n.Value, 64); u.above && v == 0 && err == nil && written == 0 {
		r.problemAt(n, "write a number above 0 or remove it", "%s is %s", key, n.Value)
	}
	if to.OverflowUint(v) {
		r.problemAt(n, "write a smaller number", "%s is %s", key, n.Value)
		v = 0
	}
	to.SetUint(v)
}

func (u unsigned) write(from reflect.Value) *yaml.Node {
	if from.Uint() == 0 && !u.always {
		return nil
	}
	return number(from.Uint())
}

func (u unsigned) schema(*definitions) schema {
	s := schema{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64)}
	if u.above {
		s["minimum"] = 1
	}
	return s
}

// decimal is the form of finite numbers. If bounded, they must be at least lo, or above lo with above. Otherwise any
// number is accepted, and validated by the plan. With always, 0 is written, too.
type decimal struct {
	bounded, above, always bool
	lo                     float64
	hi                     float64 // upper limit; 0 means none
}

func (d decimal) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	before := len(r.problems)
	f := r.numberOf(n, key)
	switch {
	case len(r.problems) > before:
	case d.hi != 0 && !(f >= d.lo && f <= d.hi):
		r.problemAt(n, fmt.Sprintf("write a number from %v to %v", d.lo, d.hi), "%s is %s", key, n.Value)
	case !d.bounded || f > d.lo || f == d.lo && !d.above:
	case d.above:
		r.problemAt(n, fmt.Sprintf("write a number above %v", d.lo), "%s is %s", key, n.Value)
	default:
		r.problemAt(n, fmt.Sprintf("write a number ≥ %v", d.lo), "%s is %s", key, n.Value)
	}
	to.SetFloat(f)
}

func (d decimal) write(from reflect.Value) *yaml.Node {
	if from.Float() == 0 && !d.always {
		return nil
	}
	return float(from.Float())
}

func (d decimal) schema(*definitions) schema {
	s := schema{"type": "number"}
	switch {
	case d.bounded && d.above:
		s["exclusiveMinimum"] = d.lo
	case d.bounded:
		s["minimum"] = d.lo
	}
	if d.hi != 0 {
		s["maximum"] = d.hi
	}
	return s
}

// fraction returns the form of a number from 0 to 1.
func fraction() form { return decimal{bounded: true, hi: 1} }

// positive returns the form of a number above 0.
func positive() form { return decimal{bounded: true, above: true} }

// span is the form of durations: "1m30s", or a number of seconds. With above, 0 is not allowed. With always, 0 is
// written, too.
type span struct{ above, always bool }

func (s span) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	before := len(r.problems)
	d := r.durationOf(n, key)
	if s.above && d == 0 && len(r.problems) == before {
		r.problemAt(n, "write a time above 0, such as 10s", "%s is %s", key, n.Value)
	}
	to.SetInt(int64(d))
}

func (s span) write(from reflect.Value) *yaml.Node {
	if from.Int() == 0 && !s.always {
		return nil
	}
	return duration(time.Duration(from.Int()))
}

func (s span) schema(d *definitions) schema {
	d.made["duration"] = schema{
		"description": "10s, 1m30s, 200us, or a number of seconds",
		"anyOf": []any{
			schema{"type": "number", "minimum": 0, "maximum": maxDuration.Seconds()},
			schema{"type": "string", "pattern": "^(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$"},
		},
	}
	out := schema{"$ref": "#/$defs/duration"}
	if s.above {
		out["not"] = schema{"const": 0}
	}
	return out
}
