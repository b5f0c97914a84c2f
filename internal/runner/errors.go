package runner

import (
	"errors"
	"fmt"
	"strings"

	"brunt/internal/driver"
)

// UsageError is a fault of the plan or the flags, found before anything was sent.
type UsageError struct{ Err error }

// Error returns the fault's own text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *UsageError) Unwrap() error { return e.Err }

// UnreachableError says that no address could be used.
type UnreachableError struct{ Err error }

// Error returns the first failure met and what to check.
func (e *UnreachableError) Error() string {
	text := e.Err.Error()
	if strings.Contains(text, "; ") {
		return text // the driver knew more exactly
	}
	return text + "; check the address, the protocol and the credentials"
}

// Unwrap returns the first failure met.
func (e *UnreachableError) Unwrap() error { return e.Err }

// at names the address that an error is about, unless the error does.
func at(address string, err error) error {
	if strings.Contains(err.Error(), address) {
		return err
	}
	return fmt.Errorf("%s: %w", address, err)
}

// notConnected tells a statement that the server refused to prepare, which is the plan's fault,
// from a server that can't be used.
func notConnected(err error) error {
	var e *driver.Error
	if errors.As(err, &e) && e.Class == driver.Server {
		return &UsageError{fmt.Errorf("%w; mend the statement, or create what it needs with brunt schema up", err)}
	}
	return &UnreachableError{err}
}
