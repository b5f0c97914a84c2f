package bind

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/load/gen"
)

// maxSafe is JavaScript's MAX_SAFE_INTEGER: all whole numbers up to it are exact as a number.
const maxSafe = 1<<53 - 1

// Typed is a value of a type that JavaScript lacks: a decimal, a UUID, or a whole number that must be sent as a double.
// Scripts make it with functions of the modules, and receive decimals in this form.
type Typed struct {
	Value gen.Value `js:"-"`
}

// ToString returns the value's text, for scripts.
func (t *Typed) ToString() string { return string(t.Value.AppendText(nil)) }

// String returns the value's text.
func (t *Typed) String() string { return t.ToString() }

// ToJSON returns what JSON.stringify writes: the text, which is exact.
func (t *Typed) ToJSON() string { return t.ToString() }

// MarshalJSON implements json.Marshaler, which k6 uses for the result of setup().
func (t *Typed) MarshalJSON() ([]byte, error) { return json.Marshal(t.ToString()) }

// ValueOf returns the nearest number, for arithmetic in scripts. It is NaN for a UUID.
func (t *Typed) ValueOf() float64 {
	switch t.Value.Kind {
	case gen.Decimal:
		return float64(t.Value.I) / math.Pow10(int(t.Value.Scale))
	case gen.Number:
		if x, err := strconv.ParseFloat(string(t.Value.B), 64); err == nil {
			return x
		}
	case gen.Float:
		return t.Value.F
	}
	return math.NaN()
}

// Types returns the functions that make typed values: decimal, double and uuid.
func Types() map[string]Func {
	return map[string]Func{
		"decimal": func(a *Args) (any, error) {
			text := a.Text(0, "the number's text")
			v, ok := Decimal(text)
			if a.Err() == nil && !ok {
				a.Failf("%q is no decimal of at most 38 digits, such as \"12.50\"", text)
			}
			return &Typed{v}, nil
		},
		"double": func(a *Args) (any, error) {
			x := a.At(0)
			switch x.Export().(type) {
			case int64, float64:
			default:
				a.Fault(0, "the number", "a number")
			}
			return &Typed{gen.Value{Kind: gen.Float, F: x.ToFloat()}}, nil
		},
		"uuid": func(a *Args) (any, error) {
			text := a.Text(0, "the UUID's text")
			n, _ := fmt.Sscanf(text, "%08x-%04x-%04x-%04x-%012x", new(uint32), new(uint16), new(uint16), new(uint16),
				new(uint64))
			b, ok := gen.ParseUUID(nil, []byte(text))
			if a.Err() == nil && (!ok || n != 5 || len(text) != 36) {
				a.Failf("%q is no UUID, such as \"d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77\"", text)
			}
			return &Typed{gen.Value{Kind: gen.UUID, B: b}}, nil
		},
	}
}

// Decimal parses a decimal number of at most 38 digits.
func Decimal(text string) (v gen.Value, ok bool) {
	digits := strings.ReplaceAll(strings.TrimLeft(text, "+-"), ".", "")
	if v.I, v.Scale, ok = gen.ParseDecimal([]byte(text)); ok && len(digits) <= 18 {
		v.Kind = gen.Decimal
		return v, true
	}
	v.Kind, v.B = gen.Number, []byte(text)
	return v, len(digits) <= 38 && plainDecimal().MatchString(text)
}

var plainDecimal = lazyregexp.New(`^[+-]?[0-9]+(\.[0-9]*)?$`)

// Value converts a Go value to JavaScript. Whole numbers beyond ±(2^53 − 1) become BigInts, bytes a Uint8Array, times a
// Date, JSON the value that it describes, and decimals a Typed. Lists and maps are copied.
func (v *VU) Value(x any) sobek.Value {
	switch x := x.(type) {
	case nil:
		return sobek.Null()
	case sobek.Value:
		return x
	case *gen.Value:
		return v.generated(x)
	case int64:
		if x > maxSafe || x < -maxSafe {
			return v.Runtime().ToValue(big.NewInt(x))
		}
	case uint64:
		if x > maxSafe {
			return v.Runtime().ToValue(new(big.Int).SetUint64(x))
		}
	case []byte:
		return v.made(v.bytes, v.Runtime().ToValue(v.Runtime().NewArrayBuffer(x)))
	case time.Time:
		return v.made(v.date, v.Runtime().ToValue(x.UnixMilli()))
	case []any:
		items := make([]any, len(x))
		for i := range x {
			items[i] = v.Value(x[i])
		}
		return v.Runtime().NewArray(items...)
	case map[string]any:
		o := v.Runtime().NewObject()
		for key, item := range x {
			_ = o.Set(key, v.Value(item))
		}
		return o
	case error:
		return v.Exception(x)
	}
	return v.Runtime().ToValue(x)
}

func (v *VU) made(constructor *sobek.Object, argument sobek.Value) sobek.Value {
	o, err := v.Runtime().New(constructor, argument)
	if err != nil {
		panic(v.Exception(err))
	}
	return o
}

func (v *VU) generated(x *gen.Value) sobek.Value {
	switch x.Kind {
	case gen.Null:
		return sobek.Null()
	case gen.Decimal, gen.Number:
		return v.Runtime().ToValue(&Typed{x.Clone()})
	case gen.UUID, gen.Packed:
		return v.Runtime().ToValue(string(x.AppendText(nil)))
	case gen.Bytes:
		return v.Value(append([]byte(nil), x.B...))
	case gen.JSON:
		if parsed, err := v.parse(sobek.Undefined(), v.Runtime().ToValue(string(x.B))); err == nil {
			return parsed
		}
		return v.Runtime().ToValue(string(x.B))
	}
	return v.Value(x.Any())
}

// Generated converts a value that Plain returned to one for the drivers. Numbers without a fraction become integers,
// arrays and objects JSON. It returns an error for values that can't be sent.
func Generated(x any) (v gen.Value, err error) {
	switch x := x.(type) {
	case *Typed:
		return x.Value.Clone(), nil
	case float64:
		if x == math.Trunc(x) && math.Abs(x) <= maxSafe {
			v.SetInt(int64(x))
			return v, nil
		}
	case *big.Int:
		switch {
		case x.IsInt64():
			v.SetInt(x.Int64())
		case x.IsUint64():
			v.Kind, v.I = gen.Uint, int64(x.Uint64())
		default:
			return v, unsendable(x)
		}
		return v, nil
	case sobek.ArrayBuffer:
		v.SetAny(append([]byte(nil), x.Bytes()...))
		return v, nil
	case []any, map[string]any:
		text, err := JSON(x)
		if err != nil {
			return v, fmt.Errorf("%s can't be sent: %w", Kind(x), err)
		}
		v.Kind, v.B = gen.JSON, text
		return v, nil
	}
	if !v.SetAny(x) {
		return v, unsendable(x)
	}
	return v, nil
}

func unsendable(x any) error {
	const want = "null, true, false, a number, BigInt (64 bits), string, Date, bytes, array or object"
	return fmt.Errorf("%s can't be sent; give %s", Kind(x), want)
}

// Values converts a list by Generated. The error names the first parameter that can't be sent.
func Values(list []any) ([]gen.Value, error) {
	out := make([]gen.Value, len(list))
	for i, x := range list {
		v, err := Generated(x)
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		out[i] = v
	}
	return out, nil
}

// maxDepth limits the nesting of arrays and objects, which may contain themselves.
const maxDepth = 128

var errDepth = errors.New("arrays and objects hold themselves, or too many each other")

// JSON encodes a value that Plain returned, with BigInts as numbers. The error names the JavaScript type of a value
// that JSON can't represent.
func JSON(x any) ([]byte, error) {
	x, err := numbers(x, 0)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("JSON can't hold %s", unwritable(x))
	}
	return text, nil
}

// unwritable returns the type of the first value that JSON can't represent.
func unwritable(x any) string {
	switch x := x.(type) {
	case []any:
		for _, item := range x {
			if what := unwritable(item); what != "" {
				return what
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if what := unwritable(x[key]); what != "" {
				return what
			}
		}
	default:
		if _, err := json.Marshal(x); err != nil {
			return Kind(x)
		}
	}
	return ""
}

func numbers(x any, depth int) (_ any, err error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	switch x := x.(type) {
	case *big.Int:
		return json.Number(x.String()), nil
	case []any:
		out := make([]any, len(x))
		for i := range x {
			if out[i], err = numbers(x[i], depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			if out[k], err = numbers(x[k], depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return x, nil
}
