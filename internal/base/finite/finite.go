// Package finite encodes values as JSON, which has neither infinities nor NaN. Scripts and divisions by zero produce
// both, and encoding/json refuses the whole value for one of them: a record would be lost for a figure.
//
// An infinity becomes the greatest finite number of its sign, so that it compares as it did, and NaN becomes 0.
package finite

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
)

// Marshal is json.Marshal for values that may hold numbers that are not finite. It copies a value only if it has some.
func Marshal(v any) ([]byte, error) {
	return encode(v, json.Marshal)
}

// MarshalIndent is json.MarshalIndent in the same way.
func MarshalIndent(v any, prefix, indent string) ([]byte, error) {
	return encode(v, func(v any) ([]byte, error) { return json.MarshalIndent(v, prefix, indent) })
}

func encode(v any, marshal func(any) ([]byte, error)) ([]byte, error) {
	text, err := marshal(v)
	if _, refused := errors.AsType[*json.UnsupportedValueError](err); !refused {
		if _, inside := errors.AsType[*json.MarshalerError](err); !inside {
			return text, err
		}
	}
	return marshal(Copy(v))
}

// Copy returns a deep copy of a value in which all numbers are finite. Unexported fields are copied as they are.
func Copy(v any) any {
	if v == nil {
		return nil
	}
	return copied(reflect.ValueOf(v)).Interface()
}

// Number returns the finite number that stands for x.
func Number(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return 0
	case math.IsInf(x, 1):
		return math.MaxFloat64
	case math.IsInf(x, -1):
		return -math.MaxFloat64
	}
	return x
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func copied(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Float64, reflect.Float32:
		if v.Type().Implements(marshaler) { // it has a form of its own for such numbers
			return v
		}
		x := Number(v.Float())
		if v.Kind() == reflect.Float32 {
			x = max(-math.MaxFloat32, min(math.MaxFloat32, x))
		}
		return reflect.ValueOf(x).Convert(v.Type())
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(copied(v.Elem()))
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(copied(v.Elem()))
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(copied(v.Field(i)))
			}
		}
		return out
	case reflect.Array:
		out := reflect.New(v.Type()).Elem()
		for i := range v.Len() {
			out.Index(i).Set(copied(v.Index(i)))
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(copied(v.Index(i)))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, e := range v.Seq2() {
			out.SetMapIndex(k, copied(e))
		}
		return out
	}
	return v
}
