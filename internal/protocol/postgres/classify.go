package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"

	"github.com/jackc/pgx/v5/pgconn"
)

func severity(e *pgconn.PgError) string { return cmp.Or(e.SeverityUnlocalized, e.Severity) }

// fatalSeverity reports whether the server ends the session after an error of this severity.
func fatalSeverity(s string) bool { return s == "FATAL" || s == "PANIC" }

// internalError is the SQLSTATE of all errors of Picodata's SQL.
const internalError = "XX000"

// classOf returns the class of an error by its SQLSTATE (appendix "PostgreSQL Error Codes" of the manual) and,
// for ambiguous codes, by its message.
func classOf(code, message string) protocol.Class {
	switch code {
	case "40001", // serialization_failure
		"40P01", // deadlock_detected
		"55P03": // lock_not_available
		return protocol.Retryable
	case "40003": // statement_completion_unknown
		return protocol.UnknownOutcome
	case "57014": // query_canceled: by a timeout of the server, unless a user requested it
		if strings.Contains(message, "user request") {
			return protocol.Retryable
		}
		return protocol.Timeout
	case "53300", // too_many_connections
		"57P01", "57P02", "57P03", "57P05": // shutdown, crash, can't connect now, idle timeout
		return protocol.Connect
	case "0A000", unknownPrepared:
		if isOutdated(code, message) {
			return protocol.Retryable
		}
	case internalError:
		if protocol.Picodata(message).Passing {
			return protocol.Retryable
		}
	}
	if strings.HasPrefix(code, "08") {
		return protocol.Connect
	}
	return protocol.Server
}

// isOutdated reports whether the server rejected a prepared statement because the table's columns have changed, or
// because the statement isn't prepared any more: the plan has deallocated it, or a pooler has changed the session.
// Within a transaction, this error ends the transaction, and the statement is prepared again before the next
// attempt.
func isOutdated(code, message string) bool {
	return code == unknownPrepared || code == "0A000" && strings.Contains(message, "cached plan must not change result type")
}

// serverError returns the failure for an error response of the server.
func serverError(severity, code, message, secret string) *protocol.Error {
	class := classOf(code, message)
	if code == "08P01" && !fatalSeverity(severity) { // protocol_violation, which the session has survived
		class = protocol.Server
	}
	if code == internalError {
		code, message = protocol.Picodata(message).Of(code)
	}
	return &protocol.Error{
		Class: class, Code: code, Text: protocol.Line(message, secret),
		Fatal: fatalSeverity(severity) || class == protocol.Connect,
	}
}

// connectError returns the failure to open a session. It doesn't keep the library's *ConnectError, which holds
// the password.
func connectError(ctx context.Context, t protocol.Target, err error) *protocol.Error {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		text := fmt.Sprintf("can't connect to %s as %q: %s%s", t.Address, t.User, pgErr.Message, connectHint(pgErr.Code))
		return protocol.ConnectError(protocol.Line(text, t.Password), pgErr.Code, pgErr)
	}
	if pgconn.Timeout(err) {
		err = context.DeadlineExceeded
	}
	if whole, ok := errors.AsType[*pgconn.ConnectError](err); ok && whole.Unwrap() != nil {
		err = whole.Unwrap()
	}
	err = socket.Explain(ctx, t.Address, err)
	return protocol.ConnectError(protocol.Line(err.Error(), t.Password), "", err)
}

func connectHint(code string) string {
	switch code {
	case "28P01", "28000":
		return "; check user and password"
	case "3D000":
		return "; create the database or name another"
	case "53300":
		return "; use fewer sessions or raise the server's max_connections"
	}
	return ""
}

// libraryError classifies an error that pgconn returned from an established session. req is nil if the request
// isn't part of a program. closed says that the library has closed the connection, as it does when a context
// ends; it then asks the server to cancel the statement.
func libraryError(ctx context.Context, req *protocol.Request, err error, closed bool, secret string) *protocol.Error {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		e := serverError(severity(pgErr), pgErr.Code, pgErr.Message, secret)
		e.Err = pgErr
		e.Fatal = e.Fatal || closed
		return e
	}
	if !pgconn.SafeToRetry(err) {
		return protocol.Unanswered(ctx, req, err, secret)
	}
	if protocol.IsLate(ctx, err) {
		e := protocol.Late(nil) // it wasn't sent
		e.Fatal, e.Err = closed, err
		return e
	}
	return &protocol.Error{Class: protocol.Connect, Text: protocol.Line(err.Error(), secret), Fatal: closed, Err: err}
}
