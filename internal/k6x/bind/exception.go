//go:build !nok6

package bind

import (
	"errors"
	"fmt"

	"github.com/grafana/sobek"

	"brunt/internal/driver"
)

// ArgumentError says which argument of which function isn't what it must be.
type ArgumentError struct {
	Function string
	Text     string // what is wrong, and what is expected
}

// Error returns one line.
func (e *ArgumentError) Error() string { return e.Function + ": " + e.Text }

// Exception makes an Error of JavaScript. It has the properties class (see driver.Class) and code
// (the server's, or ""). A wrong argument is a TypeError.
func (v *VU) Exception(err error) *sobek.Object {
	var thrown *sobek.Exception
	if errors.As(err, &thrown) {
		if o, ok := thrown.Value().(*sobek.Object); ok {
			return o
		}
	}
	class, code, constructor := driver.Client, "", v.failure
	var failure *driver.Error
	var argument *ArgumentError
	switch {
	case errors.As(err, &failure):
		class, code = failure.Class, failure.Code
	case errors.As(err, &argument):
		constructor = v.fault
	}
	o, bad := v.Runtime().New(constructor, v.Runtime().ToValue(err.Error()))
	if bad != nil { // a script has broken its own Error
		o = v.Runtime().NewTypeError("%s", err.Error())
	}
	_ = o.Set("class", class.String())
	_ = o.Set("code", code)
	return o
}

// Failed is a reply's failure as an error, nil if there is none. function is prefixed.
func Failed(function string, f *driver.Failure) error {
	if f.Class == driver.OK {
		return nil
	}
	return fmt.Errorf("%s: %w", function, &driver.Error{Class: f.Class, Code: f.Code, Text: f.Text, Fatal: f.Fatal})
}
