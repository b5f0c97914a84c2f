package brunt

import (
	"context"
	"errors"
	"fmt"

	"brunt/internal/protocol"
)

// Class is the category of a failure. Reports count failures by class, and retries depend on it.
type Class string

// The classes of failures.
const (
	// ClassConnect: no connection could be established.
	ClassConnect Class = "connect"
	// ClassTimeout: there was no answer in time, and nothing can have been changed.
	ClassTimeout Class = "timeout"
	// ClassServer: what is under load answered with an error. It is the class of errors that say nothing else.
	ClassServer Class = "server"
	// ClassRetryable: it was refused for now, without effect. The operation is tried again.
	ClassRetryable Class = "retryable"
	// ClassUnknownOutcome: there was no answer, and the operation may have had its effect.
	ClassUnknownOutcome Class = "unknown-outcome"
	// ClassProtocol: the answer can't be understood.
	ClassProtocol Class = "protocol"
	// ClassClient: the request couldn't be made. It is a fault of the test, not of what is under load.
	ClassClient Class = "client"
)

// Failure is an error with its class. A Func, a Session or a Protocol returns one to say how an error is counted.
type Failure struct {
	Class Class  // "" means ClassServer
	Code  string // short and stable, by which reports count: an SQLSTATE, an HTTP status; may be ""
	Text  string // one line; "" means the text of Err
	Fatal bool   // the session can't be used any more: it is closed, and a new one is opened
	Err   error  // may be nil
}

// Error returns the class, the code and the text.
func (f *Failure) Error() string {
	e := f.internal()
	return e.Error()
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// internal returns f as an error of the engine.
func (f *Failure) internal() *protocol.Error {
	e := &protocol.Error{Code: protocol.Line(f.Code, ""), Text: f.Text, Fatal: f.Fatal, Err: f.Err}
	if e.Text == "" && f.Err != nil {
		e.Text = f.Err.Error()
	}
	e.Text = protocol.Line(e.Text, "")
	class, ok := protocol.ParseClass(string(f.Class))
	switch {
	case f.Class == "":
		e.Class = protocol.Server
	case !ok || class == protocol.OK:
		e.Class = protocol.Client
		e.Text = fmt.Sprintf("there is no class %q of failures: %s", f.Class, e.Text)
	default:
		e.Class = class
	}
	return e
}

// failureOf classifies an error of a call. classify may be nil. An error that says nothing else is a timeout if the
// call's time is up, and otherwise one of the server.
func failureOf(ctx context.Context, r *protocol.Request, err error, classify func(error) Failure) *protocol.Error {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.internal()
	}
	if ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		e := protocol.Unanswered(ctx, r, err, "")
		e.Fatal = classify != nil
		return e
	}
	f := Failure{Err: err}
	if classify != nil {
		f = classify(err)
		if f.Err == nil {
			f.Err = err
		}
	}
	return f.internal()
}
