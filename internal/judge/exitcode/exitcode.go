// Package exitcode defines the exit codes of brunt and errors that carry one.
package exitcode

import "errors"

// The exit codes, as documented in docs/exit-codes.md. Those from 97 on are k6's where k6 has one for the same end of a
// run: 99, 104, 105 and 108.
const (
	Pass        = 0
	Other       = 1
	Regression  = 97
	Invalid     = 98
	Threshold   = 99
	BadPlan     = 104
	Interrupted = 105
	Unreachable = 108
)

// Error is an error with its own exit code. If Err is nil, nothing is printed.
type Error struct {
	Code int
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// With returns err with an exit code, or err unchanged if the code is Pass.
func With(code int, err error) error {
	if code == Pass {
		return err
	}
	return &Error{code, err}
}

// Usage marks an error as the user's: bad flags or a bad plan. An error that already has an exit code is returned
// unchanged.
func Usage(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{BadPlan, err}
}

// Of returns the process's exit code for an error: Pass for nil, Other for an error without a code.
func Of(err error) int {
	if err == nil {
		return Pass
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Other
}
