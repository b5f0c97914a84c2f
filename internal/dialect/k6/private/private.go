// Package private writes fields that k6 doesn't export. It is the only package that does. docs/dependencies.md lists
// the reasons, and what doesn't work with a version of k6 that lacks these fields.
package private

import (
	"reflect"
	"unsafe"
)

// Set sets a field of the struct that structure points to, and converts the value to the field's type. If there is no
// such field, or its type is of another kind, it changes nothing and returns false.
func Set(structure any, name string, value any) bool {
	field, v := reflect.ValueOf(structure).Elem().FieldByName(name), reflect.ValueOf(value)
	if !field.IsValid() || field.Kind() != v.Kind() || !v.CanConvert(field.Type()) {
		return false
	}
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(v.Convert(field.Type()))
	return true
}
