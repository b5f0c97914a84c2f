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

// Args are the arguments of a call. The first invalid argument is kept as the error, and becomes the call's exception.
// Later reads may return zero values.
type Args struct {
	*VU
	name   string
	values []sobek.Value
	err    error
}

// Err returns the first error. Check it before using any value that was read.
func (a *Args) Err() error { return a.err }

// At returns an argument unchanged, undefined if it is missing.
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

// Fault records that argument i, counted from 0, is invalid. what names the argument, want says what is expected.
func (a *Args) Fault(i int, what, want string) {
	got := "is missing"
	if i < len(a.values) {
		got = "is " + kindOf(a.values[i])
	}
	a.Failf("argument %d (%s) %s; give %s", i+1, what, got, want)
}

// Failf records an error, unless there is one already.
func (a *Args) Failf(format string, args ...any) {
	if a.err == nil {
		a.err = &ArgumentError{a.name, fmt.Sprintf(format, args...)}
	}
}

// kindOf returns a value's type for messages.
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

// Kind returns the JavaScript name for the type of an exported value.
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

// TextOr reads a string, and returns or if the argument is missing.
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

// WholeOr reads a whole number, and returns or if the argument is missing.
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

// whole returns the value of a number or BigInt without a fraction; otherwise false.
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

// ListOr reads an array, and returns an empty one if the argument is missing.
func (a *Args) ListOr(i int, what string) []any {
	if !a.Has(i) {
		return []any{}
	}
	return a.List(i, what)
}

// Plain returns an argument as a Go value: nil, bool, int64, float64, string, *big.Int, time.Time, []byte, *Typed,
// []any or map[string]any. Values of other types are returned as sobek exports them.
func (a *Args) Plain(i int) any { return a.At(i).Export() }

// Settings reads an object whose keys must all be in known. It is empty if the argument is missing.
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

// SettingsOf returns settings with the given values, without checking for unknown keys.
func (a *Args) SettingsOf(what string, values map[string]any) *Settings {
	return &Settings{args: a, what: what, values: values}
}

// Settings is an object argument with options.
type Settings struct {
	args   *Args
	what   string
	values map[string]any
}

// Has reports whether a setting is given.
func (s *Settings) Has(key string) bool { return s.values[key] != nil }

// wrong records an invalid setting. The message shows its value, so the setting must not be a secret.
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

// Text returns a string, or if the setting is missing.
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

// Whole returns a whole number from lo to hi, or if the setting is missing.
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

// Flag returns a boolean, or if the setting is missing.
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

// Time returns a duration, given as a text such as "1.5s" or as a number of nanoseconds; or if the setting is missing.
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
