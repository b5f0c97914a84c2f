package protocol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"brunt/internal/gen"
)

// Bad is a failure of class Client: the program, an option or an argument is at fault.
func Bad(format string, args ...any) *Error {
	return &Error{Class: Client, Text: fmt.Sprintf(format, args...)}
}

// Refused is Bad for one request, which the text names.
func Refused(r *Request, format string, args ...any) *Error {
	return Bad("request %q: %s", r.Name, fmt.Sprintf(format, args...))
}

// Arguments refuses to send a request with another number of arguments than it has parameters; nil if they
// agree.
func Arguments(args []gen.Value, want int) *Error {
	if len(args) == want {
		return nil
	}
	return Bad("%d arguments for %d parameters", len(args), want)
}

// NoKeys refuses to replace the rows of a table without a primary key.
func NoKeys(table string) *Error {
	return Bad("table %s has no primary key, so its rows can't be replaced; empty it and load again", table)
}

// Unconnected is a failure to open a session that err explains in one line.
func Unconnected(err error) *Error { return ConnectError(err.Error(), "", err) }

// RefusedCode is the code of connections that nobody took (ECONNREFUSED).
const RefusedCode = "refused"

// Violation says what in a server's bytes breaks the protocol, and is empty if nothing does. It is a text and not
// an error, so that a codec can return one for every piece of a reply without allocating.
type Violation string

// Failure is that of the reply with the violation, whose connection is of no more use. introduction comes before
// its text.
func (v Violation) Failure(introduction string) *Error {
	return &Error{Class: Protocol, Text: introduction + string(v), Fatal: true}
}

// ConnectError is a failure to open a session. code is the server's, or "".
func ConnectError(text, code string, err error) *Error {
	if code == "" && errors.Is(err, syscall.ECONNREFUSED) {
		code = RefusedCode
	}
	return &Error{Class: Connect, Code: code, Text: Line(text, ""), Fatal: true, Err: err}
}

// Late is the failure of a request that was sent and had no answer within the operation's timeout: its
// outcome is unknown if it may have written. Its connection is of no more use. r is nil where no
// request of a program is meant.
func Late(r *Request) *Error {
	e := &Error{Class: Timeout, Text: "no answer within the operation's timeout", Fatal: true}
	if r != nil && r.MayWrite() {
		e.Class = UnknownOutcome
		e.Text += "; it may have been applied"
	}
	return e
}

// IsLate reports whether err, or the end of ctx, means that the operation's time was over.
func IsLate(ctx context.Context, err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// Unanswered is the failure of a request that was sent and whose answer didn't come: in time, or before
// the connection broke. secret is kept out of its text.
func Unanswered(ctx context.Context, r *Request, err error, secret string) *Error {
	e := &Error{Class: UnknownOutcome, Fatal: true}
	switch {
	case IsLate(ctx, err):
		e = Late(r)
	case errors.Is(err, context.Canceled):
		e.Text = "the operation was interrupted"
	default:
		e.Text = "the connection broke before the answer came: " + Line(err.Error(), secret)
	}
	e.Err = err
	return e
}

// Line makes a message one line of at most 500 bytes without the secret, which must be long enough to
// be told from ordinary words.
func Line(text, secret string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(secret) >= 3 {
		text = strings.ReplaceAll(text, secret, "…")
	}
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

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

var classNames = [NumClasses]string{"ok", "connect", "timeout", "server", "retryable", "unknown-outcome", "protocol",
	"client"}

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
	// Misdirected is that of Failure.
	Misdirected bool
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
