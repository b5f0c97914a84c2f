// Package private writes fields that k6 does not export. It is the only package that does. docs/dependencies.md says
// what for, and what is lost where a version of k6 does not have them.
package private

import (
	"reflect"
	"unsafe"
)

// Set sets a field of the struct that structure points to, converted to the field's type. It reports whether there is
// such a field, of a type of the same kind, and otherwise does nothing.
func Set(structure any, name string, value any) bool {
	field, v := reflect.ValueOf(structure).Elem().FieldByName(name), reflect.ValueOf(value)
	if !field.IsValid() || field.Kind() != v.Kind() || !v.CanConvert(field.Type()) {
		return false
	}
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(v.Convert(field.Type()))
	return true
}
