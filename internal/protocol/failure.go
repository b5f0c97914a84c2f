package protocol

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"syscall"

	"brunt/internal/load/gen"
)

// Bad returns a failure of class Client: the program, an option or an argument is invalid.
func Bad(format string, args ...any) *Error {
	return &Error{Class: Client, Text: fmt.Sprintf(format, args...)}
}

// Refused returns Bad for one request. The text names the request.
func Refused(r *Request, format string, args ...any) *Error {
	return Bad("request %q: %s", r.Name, fmt.Sprintf(format, args...))
}

// Arguments returns a failure if the number of arguments differs from want, the number of parameters; otherwise
// nil.
func Arguments(args []gen.Value, want int) *Error {
	if len(args) == want {
		return nil
	}
	return Bad("%d arguments for %d parameters", len(args), want)
}

// WithoutNaN returns a failure if an argument is NaN; otherwise nil: for servers that would take it for null. what
// names them.
func WithoutNaN(args []gen.Value, what string) *Error {
	for i := range args {
		if args[i].Kind == gen.Float && math.IsNaN(args[i].F) {
			return Bad("parameter $%d is NaN, which %s would take for null", i+1, what)
		}
	}
	return nil
}

// NoKeys returns the failure to replace rows of a table that has no primary key.
func NoKeys(table string) *Error {
	return Bad("table %s has no primary key, so its rows can't be replaced; empty it and load again", table)
}

// Unusable returns the end of a connection that the server announces between requests. why says more, unless it is "".
func Unusable(why string) *Error {
	text := "the server ended the connection"
	if why != "" {
		text += ": " + why
	}
	return &Error{Class: Connect, Text: text, Fatal: true}
}

// Unconnected returns the failure to open a session for the reason err, which must explain it in one line.
func Unconnected(err error) *Error { return ConnectError(err.Error(), "", err) }

// RefusedCode is the code of a refused connection (ECONNREFUSED).
const RefusedCode = "refused"

// Violation describes how a server's bytes break the protocol; "" means that they don't. It is a text and not an
// error, so that a codec can return one for every part of a reply without allocating.
type Violation string

// Failure returns the failure of a reply with the violation. It is fatal to the connection. introduction
// precedes the violation's text.
func (v Violation) Failure(introduction string) *Error {
	return &Error{Class: Protocol, Text: introduction + string(v), Fatal: true}
}

// ConnectError returns a failure to open a session. code is the server's error code, or "".
func ConnectError(text, code string, err error) *Error {
	if code == "" && errors.Is(err, syscall.ECONNREFUSED) {
		code = RefusedCode
	}
	return &Error{Class: Connect, Code: code, Text: Line(text, ""), Fatal: true, Err: err}
}

// Late returns the failure of a request that was sent and not answered within the operation's timeout. Its class
// is UnknownOutcome if the request may have written something. It is fatal to the connection. r is nil if the
// request isn't part of a program.
func Late(r *Request) *Error {
	e := &Error{Class: Timeout, Text: lateText, Fatal: true}
	if r != nil && r.MayWrite() {
		e.Class = UnknownOutcome
		e.Text += "; it may have been applied"
	}
	return e
}

const lateText = "no answer within the operation's timeout"

// Overdue reports whether a failure of that class and text is that of a request without an answer in time, whether it
// may have written something or not.
func Overdue(class Class, text string) bool {
	return class == Timeout || class == UnknownOutcome && strings.HasPrefix(text, lateText)
}

// IsLate reports whether err, or the reason why ctx is done, is a timeout.
func IsLate(ctx context.Context, err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// Unanswered returns the failure of a request that was sent but not answered, either in time or before the
// connection broke. The text doesn't include secret.
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

// Line returns text as one line of at most 500 bytes, with secret replaced by "…". A secret of less than 3 bytes
// isn't replaced, because it can't be told from ordinary words.
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

// Class is the category of a failure. Every driver maps its failures to these classes.
type Class uint8

// The classes. OK means no failure.
const (
	OK             Class = iota
	Connect              // no connection could be established, or authentication failed
	Timeout              // no answer within the operation's timeout; nothing can have been applied
	Server               // the server answered with an error
	Retryable            // the server refused temporarily: serialization failure, deadlock, key moved, not the leader
	UnknownOutcome       // sent but not answered: it may have been applied
	Protocol             // the answer violates the protocol
	Client               // the request could not be built or encoded
	NumClasses     = int(Client) + 1
)

var classNames = [NumClasses]string{"ok", "connect", "timeout", "server", "retryable", "unknown-outcome", "protocol",
	"client"}

// String returns the name of the class as used in records and reports.
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

// Error is a failure that a driver has classified. Code is the server's own code (an SQLSTATE, an iproto error
// number, an HTTP status, the prefix of a Redis error) or "".
type Error struct {
	Class Class
	Code  string
	State string // SQLSTATE, if the server sends one besides Code
	Text  string // one line, without secrets
	Fatal bool   // the connection can't be used any more
	Err   error  // the library's error, if any
	// Misdirected has the same meaning as in Failure.
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

// AsError returns err as an *Error. An error that no driver has classified becomes an Error of class Client that
// is fatal to the connection. AsError(nil) is nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Class: Client, Text: err.Error(), Fatal: true, Err: err}
}
