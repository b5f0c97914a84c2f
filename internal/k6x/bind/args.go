package bind

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"
)

// Args are the arguments of a call. The first one that isn't what it must be is kept, and becomes the
// call's exception; what is read after it is zero.
type Args struct {
	*VU
	name   string
	values []sobek.Value
	err    error
}

// Err is the first fault; it must be looked at before anything is done with what was read.
func (a *Args) Err() error { return a.err }

// At is an argument as it is; undefined if it isn't there.
func (a *Args) At(i int) sobek.Value {
	if i < len(a.values) && a.values[i] != nil {
		return a.values[i]
	}
	return sobek.Undefined()
}

// Has reports whether an argument is there and neither undefined nor null.
func (a *Args) Has(i int) bool {
	v := a.At(i)
	return !sobek.IsUndefined(v) && !sobek.IsNull(v)
}

// Fault notes what is wrong with an argument, counted from 0; what is what it stands for.
func (a *Args) Fault(i int, what, want string) {
	got := "is missing"
	if i < len(a.values) {
		got = "is " + kindOf(a.values[i])
	}
	a.Failf("argument %d (%s) %s; give %s", i+1, what, got, want)
}

// Failf notes a fault.
func (a *Args) Failf(format string, args ...any) {
	if a.err == nil {
		a.err = &ArgumentError{a.name, fmt.Sprintf(format, args...)}
	}
}

// kindOf names what a value is, for people.
func kindOf(v sobek.Value) string {
	switch {
	case v == nil || sobek.IsUndefined(v):
		return "undefined"
	case sobek.IsNull(v):
		return "null"
	}
	if _, ok := sobek.AssertFunction(v); ok {
		return "a function"
	}
	return Kind(v.Export())
}

// Kind names what an exported value is in JavaScript's words.
func Kind(x any) string {
	switch x := x.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case float64:
		if math.IsInf(x, 0) {
			return "the number " + strings.TrimPrefix(fmt.Sprintf("%vinity", x), "+")
		}
		return fmt.Sprintf("the number %v", x)
	case int64:
		return fmt.Sprintf("the number %d", x)
	case *big.Int:
		if !x.IsInt64() && !x.IsUint64() {
			return "a BigInt of more than 64 bits"
		}
		return "a BigInt"
	case []any:
		return "an array"
	case [][2]any:
		return "a Map"
	case time.Time:
		return "a Date"
	case sobek.ArrayBuffer:
		return "an ArrayBuffer"
	case *sobek.Promise:
		return "a Promise"
	case sobek.Proxy:
		return "a Proxy"
	}
	switch reflect.TypeOf(x).Kind() {
	case reflect.Func:
		return "a function"
	case reflect.Slice:
		return "a typed array"
	}
	return "an object"
}

// Text reads a string.
func (a *Args) Text(i int, what string) string {
	if s, ok := a.At(i).Export().(string); ok {
		return s
	}
	a.Fault(i, what, "a string")
	return ""
}

// TextOr reads a string; or stands for none.
func (a *Args) TextOr(i int, what, or string) string {
	if !a.Has(i) {
		return or
	}
	return a.Text(i, what)
}

// Whole reads a whole number of at least lo and at most hi.
func (a *Args) Whole(i int, what string, lo, hi int64) int64 {
	n, ok := whole(a.At(i))
	if !ok || n < lo || n > hi {
		a.Fault(i, what, "a whole number"+bounds(lo, hi))
		return 0
	}
	return n
}

// WholeOr reads a whole number; or stands for none.
func (a *Args) WholeOr(i int, what string, lo, hi, or int64) int64 {
	if !a.Has(i) {
		return or
	}
	return a.Whole(i, what, lo, hi)
}

func bounds(lo, hi int64) string {
	switch {
	case lo == math.MinInt64 && hi == math.MaxInt64:
		return ""
	case hi == math.MaxInt64:
		return fmt.Sprintf(" of at least %d", lo)
	}
	return fmt.Sprintf(" from %d to %d", lo, hi)
}

// whole is a number or BigInt without a fraction.
func whole(v sobek.Value) (int64, bool) {
	switch x := v.Export().(type) {
	case int64:
		return x, true
	case float64:
		return int64(x), x == math.Trunc(x) && math.Abs(x) < 1<<63
	case *big.Int:
		return x.Int64(), x.IsInt64()
	}
	return 0, false
}

// List reads an array as Go values (see Plain).
func (a *Args) List(i int, what string) []any {
	if list, ok := a.Plain(i).([]any); ok {
		return list
	}
	a.Fault(i, what, "an array")
	return nil
}

// ListOr reads an array; none if there is none.
func (a *Args) ListOr(i int, what string) []any {
	if !a.Has(i) {
		return []any{}
	}
	return a.List(i, what)
}

// Plain is an argument as Go has it: nil, bool, int64, float64, string, *big.Int, time.Time, []byte,
// *Typed, []any or map[string]any, and what else scripts can hold as it is.
func (a *Args) Plain(i int) any { return a.At(i).Export() }

// Settings reads an object whose keys must be among those known; an empty one if there is none.
func (a *Args) Settings(i int, what string, known ...string) *Settings {
	s := &Settings{args: a, what: what, values: map[string]any{}}
	if !a.Has(i) {
		return s
	}
	values, ok := a.Plain(i).(map[string]any)
	if !ok {
		a.Fault(i, what, "an object")
		return s
	}
	for key := range values {
		if !slices.Contains(known, key) {
			a.Failf("%s: unknown %q; there are %s", what, key, strings.Join(known, ", "))
		}
	}
	s.values = values
	return s
}

// SettingsOf reads settings among which there may be others.
func (a *Args) SettingsOf(what string, values map[string]any) *Settings {
	return &Settings{args: a, what: what, values: values}
}

// Settings are an object that says how something is to be done.
type Settings struct {
	args   *Args
	what   string
	values map[string]any
}

// Has reports whether a setting is given.
func (s *Settings) Has(key string) bool { return s.values[key] != nil }

// wrong notes a fault of a setting that can't be a secret.
func (s *Settings) wrong(key, want string) {
	got := Kind(s.values[key])
	switch x := s.values[key].(type) {
	case string:
		got = strconv.Quote(x)
	case bool:
		got = strconv.FormatBool(x)
	}
	s.args.Failf("%s: %q is %s; give %s", s.what, key, got, want)
}

// Text is a string.
func (s *Settings) Text(key, or string) string {
	switch x := s.values[key].(type) {
	case nil:
		return or
	case string:
		return x
	}
	s.args.Failf("%s: %q isn't a string", s.what, key) // it may be a password
	return or
}

// Whole is a whole number.
func (s *Settings) Whole(key string, lo, hi, or int64) int64 {
	if s.values[key] == nil {
		return or
	}
	n, ok := whole(s.args.Runtime().ToValue(s.values[key]))
	if !ok || n < lo || n > hi {
		s.wrong(key, "a whole number"+bounds(lo, hi))
		return or
	}
	return n
}

// Flag is true or false.
func (s *Settings) Flag(key string, or bool) bool {
	switch x := s.values[key].(type) {
	case nil:
		return or
	case bool:
		return x
	}
	s.wrong(key, "true or false")
	return or
}

// Time is a text such as "1.5s", or a number of nanoseconds.
func (s *Settings) Time(key string, or time.Duration) time.Duration {
	switch x := s.values[key].(type) {
	case nil:
		return or
	case string:
		if d, err := time.ParseDuration(x); err == nil && d >= 0 {
			return d
		}
	case int64:
		if x >= 0 {
			return time.Duration(x)
		}
	case float64:
		if x >= 0 && x < math.MaxInt64 {
			return time.Duration(x)
		}
	}
	s.wrong(key, `a time such as "1.5s", or nanoseconds`)
	return or
}
