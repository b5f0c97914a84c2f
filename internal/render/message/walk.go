package message

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// walk calls f with every message in a value: in structs, pointers, slices and maps. f can set a message if the value
// is settable.
func walk(v reflect.Value, f func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), f)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Message]() {
			f(v)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), f)
			}
		}
	case reflect.Slice, reflect.Array:
		if holds(v.Type().Elem()) {
			for i := range v.Len() {
				walk(v.Index(i), f)
			}
		}
	case reflect.Map:
		if holds(v.Type().Elem()) {
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key), f)
			}
		}
	}
}

// holds reports whether values of a type may contain messages, unlike numbers and strings.
func holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

// all returns the messages in a value.
func all(v any) (out []Message) {
	walk(reflect.ValueOf(v), func(m reflect.Value) { out = append(out, m.Interface().(Message)) })
	return out
}

// TableOf returns the table of all messages in a value, for writing it to a file.
func TableOf(v any) Table {
	t := Table{}
	for _, m := range all(v) {
		if !m.IsZero() && m.ID != literal {
			t[m.String()] = m.value()
		}
	}
	return t
}

// Resolve restores the IDs and arguments of the messages in the value that v points to, which were read as texts. Texts
// that are not in the table, or whose messages are of newer versions, remain literals.
func (t Table) Resolve(v any) error {
	var fault error
	walk(reflect.ValueOf(v), func(at reflect.Value) {
		entry, ok := t[at.Interface().(Message).String()]
		if !ok || !at.CanSet() {
			return
		}
		m, err := entry.message()
		if err == nil && known(m) {
			at.Set(reflect.ValueOf(m))
		}
		fault = cmp.Or(fault, err)
	})
	return fault
}

// Faults returns the errors in the messages of a value, for tests: IDs that no catalogue has, and shares outside of 0
// to 1.
func Faults(v any) (out []string) {
	for _, m := range all(v) {
		out = append(out, m.faults()...)
	}
	return out
}

func (m Message) faults() (out []string) {
	if !known(m) {
		out = append(out, fmt.Sprintf("no catalogue has the message %q", m.ID))
	}
	for i := range m.Args {
		a := &m.Args[i]
		if (a.Kind == "share" || a.Kind == "fraction") && !(a.Number >= 0 && a.Number <= 1) {
			out = append(out, fmt.Sprintf("%s: %s is no share: %g", m.ID, a.Name, a.Number))
		}
		for _, nested := range a.Messages {
			out = append(out, nested.faults()...)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// marshal is like json.Marshal but doesn't escape <, > and &.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}
