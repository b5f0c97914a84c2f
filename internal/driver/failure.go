package driver

import (
	"context"
	"errors"
	"fmt"
	"net"
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
