package form

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/suggest"
)

// Words is the form of strings.
type Words struct {
	Name  bool // a name: not empty and without control characters
	Lower bool // converted to lower case
}

// Read implements Form.
func (w Words) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	s := r.TextOf(n, key)
	if w.Lower {
		s = strings.ToLower(s)
	}
	if w.Name && TagIs(n, "!!str") {
		switch {
		case strings.TrimSpace(s) == "":
			r.ProblemAt(n, "write a name or remove it", "%s is empty", key)
		case strings.ContainsFunc(s, unicode.IsControl):
			r.ProblemAt(n, "use letters, digits and _", "%s has a control character", key)
		}
	}
	to.SetString(s)
}

// Write implements Form.
func (w Words) Write(from reflect.Value) *yaml.Node {
	if from.String() == "" {
		return nil
	}
	return Text(from.String())
}

// Schema implements Form.
func (w Words) Schema(*Definitions) Schema {
	s := Schema{"type": "string"}
	if w.Name {
		s["minLength"] = 1
	}
	return s
}

// Name returns the form of names: strings that are not empty and have no control characters.
func Name() Form { return Words{Name: true} }

// Names returns the form of a list of strings on one line.
func Names() Form { return List{Of: Words{}, Flow: true} }

// Choice is the form of a string that must be one of the given ones. Case is ignored, and the value is stored in lower
// case.
type Choice []string

// Read implements Form.
func (c Choice) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	word := r.TextOf(n, key)
	if word == "" {
		if TagIs(n, "!!str") {
			r.ProblemAt(n, "use "+strings.Join(c, ", "), "%s is empty", key)
		}
		return
	}
	for _, k := range c {
		if strings.EqualFold(k, word) {
			to.SetString(strings.ToLower(word))
			return
		}
	}
	r.ProblemAt(n, suggest.Or(word, c, "use "+strings.Join(c, ", ")), "unknown %s %q", key, word)
}

// Write implements Form.
func (c Choice) Write(from reflect.Value) *yaml.Node {
	for _, k := range c {
		if strings.EqualFold(k, from.String()) {
			return Text(k)
		}
	}
	return Words{}.Write(from)
}

// Schema implements Form.
func (c Choice) Schema(*Definitions) Schema {
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
	return Schema{"anyOf": []any{
		Schema{"enum": []string(c)}, Schema{"type": "string", "pattern": "^(" + b.String() + ")$"},
	}}
}

// Flag is the form of a bool. With Always, false is written, too.
type Flag struct{ Always bool }

// Read implements Form.
func (Flag) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	if !TagIs(n, "!!bool") {
		r.Wrong(n, key, "true or false", "write true or false")
		return
	}
	to.SetBool(strings.EqualFold(n.Value, "true"))
}

// Write implements Form.
func (f Flag) Write(from reflect.Value) *yaml.Node {
	if !from.Bool() && !f.Always {
		return nil
	}
	return Scalar("!!bool", strconv.FormatBool(from.Bool()))
}

// Schema implements Form.
func (Flag) Schema(*Definitions) Schema { return Schema{"type": "boolean"} }

// Whole returns the form of integers from lo to hi.
func Whole(lo, hi int64) Form { return whole{lo, hi} }

type whole struct{ lo, hi int64 }

func (w whole) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	to.SetInt(r.IntegerOf(n, key, w.lo, w.hi))
}

func (w whole) Write(from reflect.Value) *yaml.Node {
	if from.Int() == 0 {
		return nil
	}
	return Number(from.Int())
}

func (w whole) Schema(*Definitions) Schema {
	return Schema{"type": "integer", "minimum": w.lo, "maximum": w.hi}
}

// Unsigned is the form of integers ≥ 0 of up to 64 bits. With Above, 0 is not allowed. With Always, 0 is written, too.
type Unsigned struct{ Above, Always bool }

// Read implements Form.
func (u Unsigned) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	v := r.UnsignedOf(n, key)
	if written, err := strconv.ParseFloat(n.Value, 64); u.Above && v == 0 && err == nil && written == 0 {
		r.ProblemAt(n, "write a number above 0 or remove it", "%s is %s", key, n.Value)
	}
	if to.OverflowUint(v) {
		r.ProblemAt(n, "write a smaller number", "%s is %s", key, n.Value)
		v = 0
	}
	to.SetUint(v)
}

// Write implements Form.
func (u Unsigned) Write(from reflect.Value) *yaml.Node {
	if from.Uint() == 0 && !u.Always {
		return nil
	}
	return Number(from.Uint())
}

// Schema implements Form.
func (u Unsigned) Schema(*Definitions) Schema {
	s := Schema{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64)}
	if u.Above {
		s["minimum"] = 1
	}
	return s
}

// Decimal is the form of finite numbers. If Bounded, they must be at least Lo, or above Lo with Above. Otherwise any
// number is accepted. With Always, 0 is written, too.
type Decimal struct {
	Bounded, Above, Always bool
	Lo                     float64
	Hi                     float64 // upper limit; 0 means none
}

// Read implements Form.
func (d Decimal) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	before := len(r.Problems)
	f := r.NumberOf(n, key)
	switch {
	case len(r.Problems) > before:
	case d.Hi != 0 && !(f >= d.Lo && f <= d.Hi):
		r.ProblemAt(n, fmt.Sprintf("write a number from %v to %v", d.Lo, d.Hi), "%s is %s", key, n.Value)
	case !d.Bounded || f > d.Lo || f == d.Lo && !d.Above:
	case d.Above:
		r.ProblemAt(n, fmt.Sprintf("write a number above %v", d.Lo), "%s is %s", key, n.Value)
	default:
		r.ProblemAt(n, fmt.Sprintf("write a number ≥ %v", d.Lo), "%s is %s", key, n.Value)
	}
	to.SetFloat(f)
}

// Write implements Form.
func (d Decimal) Write(from reflect.Value) *yaml.Node {
	if from.Float() == 0 && !d.Always {
		return nil
	}
	return Float(from.Float())
}

// Schema implements Form.
func (d Decimal) Schema(*Definitions) Schema {
	s := Schema{"type": "number"}
	switch {
	case d.Bounded && d.Above:
		s["exclusiveMinimum"] = d.Lo
	case d.Bounded:
		s["minimum"] = d.Lo
	}
	if d.Hi != 0 {
		s["maximum"] = d.Hi
	}
	return s
}

// Positive returns the form of a number above 0.
func Positive() Form { return Decimal{Bounded: true, Above: true} }

// Span is the form of durations: "1m30s", or a number of seconds. With Above, 0 is not allowed. With Always, 0 is
// written, too.
type Span struct{ Above, Always bool }

// Read implements Form.
func (s Span) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	before := len(r.Problems)
	d := r.DurationOf(n, key)
	if s.Above && d == 0 && len(r.Problems) == before {
		r.ProblemAt(n, "write a time above 0, such as 10s", "%s is %s", key, n.Value)
	}
	to.SetInt(int64(d))
}

// Write implements Form.
func (s Span) Write(from reflect.Value) *yaml.Node {
	if from.Int() == 0 && !s.Always {
		return nil
	}
	return Duration(time.Duration(from.Int()))
}

// Schema implements Form.
func (s Span) Schema(d *Definitions) Schema {
	d.made["duration"] = Schema{
		"description": "10s, 1m30s, 200us, or a number of seconds",
		"anyOf": []any{
			Schema{"type": "number", "minimum": 0, "maximum": maxDuration.Seconds()},
			Schema{"type": "string", "pattern": "^(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$"},
		},
	}
	out := Schema{"$ref": "#/$defs/duration"}
	if s.Above {
		out["not"] = Schema{"const": 0}
	}
	return out
}
