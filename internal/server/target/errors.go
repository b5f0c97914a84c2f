package target

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// UsageError is an error in the plan or the flags, found before anything was sent.
type UsageError struct{ Err error }

// Error returns the text of the underlying error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *UsageError) Unwrap() error { return e.Err }

// UnreachableError says that no address could be used.
type UnreachableError struct{ Err error }

// Error returns the first failure and what to check.
func (e *UnreachableError) Error() string {
	text := e.Err.Error()
	if strings.Contains(text, "; ") {
		return text // the driver has given a more specific hint
	}
	return text + "; check the address, the protocol and the credentials"
}

// Unwrap returns the first failure.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Unreachable marks the error for packages that don't import this one.
func (e *UnreachableError) Unreachable() bool { return true }

// at adds the address to an error, unless its text has it already.
func at(address string, err error) error {
	if strings.Contains(err.Error(), address) {
		return err
	}
	return fmt.Errorf("%s: %w", address, err)
}

// NotConnected classifies an error of connecting. If the driver can't send a request, or the server refused to
// prepare it, the plan is at fault: the error is a *UsageError with the request's place in the plan's file.
// Otherwise it is an *UnreachableError.
func NotConnected(p *plan.Plan, err error) error {
	var e *protocol.Error
	if !errors.As(err, &e) || e.Class != protocol.Server {
		return unusable(p, err)
	}
	fix := "correct the statement, or create what it needs with brunt schema up"
	// PostgreSQL's codes for statements whose parameters have no type, or a type that doesn't fit their use
	// (errcodes.txt: indeterminate_datatype, datatype_mismatch, undefined_function, ambiguous_function,
	// cannot_coerce).
	if slices.Contains([]string{"42P18", "42804", "42883", "42725", "42846"}, e.Code) {
		fix = "say what the parameters are by casts such as $1::integer"
	}
	return &UsageError{fmt.Errorf("%s%w; %s", placed(p, e.Text), err, fix)}
}

// unusable returns the error for an address that can't be used. The plan is at fault if the driver doesn't
// support what it asks for.
func unusable(p *plan.Plan, err error) error {
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.Class == protocol.Client {
		return &UsageError{&misuse{placed(p, e.Text) + e.Text, err}}
	}
	return &UnreachableError{err}
}

// misuse is an error in the plan or the flags that a driver found, not a problem of an address: an option's
// value, a capture's form, or a request that the protocol can't send.
type misuse struct {
	text string
	err  error
}

func (m *misuse) Error() string { return m.text }
func (m *misuse) Unwrap() error { return m.err }

// placed returns the place in the plan's file of the request that an error's text names, followed by a colon; ""
// if unknown. Drivers begin such texts with the word request and its name in quotes.
func placed(p *plan.Plan, text string) string {
	_, quoted, ok := strings.Cut(text, "request ")
	if !ok {
		return ""
	}
	if quoted, err := strconv.QuotedPrefix(quoted); err == nil {
		if name, err := strconv.Unquote(quoted); err == nil {
			if at := p.PlaceOf(name).String(); at != "" {
				return at + ": "
			}
		}
	}
	return ""
}
