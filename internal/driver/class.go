package driver

import (
	"errors"
	"fmt"
	"slices"
)

// Class is the one taxonomy that every driver maps its failures to.
type Class uint8

// The classes. OK is the absence of a failure.
const (
	OK             Class = iota
	Connect              // no connection could be made, or authentication was refused
	Timeout              // no answer within the operation's timeout; nothing can have been applied
	Server               // the server answered with an error
	Retryable            // the server refused for now: serialization, deadlock, moved, not leader
	UnknownOutcome       // sent, no answer: it may have been applied
	Protocol             // the answer made no sense
	Client               // the request could not be built or encoded
	NumClasses     = int(Client) + 1
)

var classNames = [NumClasses]string{"ok", "connect", "timeout", "server", "retryable", "unknown-outcome", "protocol", "client"}

// String returns the class's name as it stands in records and reports.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ParseClass is the inverse of String. ok is false for an unknown name.
func ParseClass(name string) (c Class, ok bool) {
	i := slices.Index(classNames[:], name)
	return Class(max(i, 0)), i >= 0
}

// Error is a failure that a driver has classified. Code is the server's own code (an SQLSTATE,
// an iproto error number, an HTTP status, a Redis error prefix) or "".
type Error struct {
	Class Class
	Code  string
	Text  string // one line, with no secret in it
	Fatal bool   // the connection can't be used any more
	Err   error  // what the library said, if anything
}

// Error implements error.
func (e *Error) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("%s %s: %s", e.Class, e.Code, e.Text)
	}
	return fmt.Sprintf("%s: %s", e.Class, e.Text)
}

// Unwrap returns the library's error.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error; a failure that no driver classified becomes one of class
// Client, fatal to its connection. AsError(nil) is nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: Client, Text: err.Error(), Fatal: true, Err: err}
}
