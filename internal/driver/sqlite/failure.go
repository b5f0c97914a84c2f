package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"brunt/internal/driver"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// codeName is the name of a primary result code (sqlite.org/rescode.html).
func codeName(code int) string {
	names := [...]string{"OK", "ERROR", "INTERNAL", "PERM", "ABORT", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT",
		"IOERR", "CORRUPT", "NOTFOUND", "FULL", "CANTOPEN", "PROTOCOL", "EMPTY", "SCHEMA", "TOOBIG", "CONSTRAINT",
		"MISMATCH", "MISUSE", "NOLFS", "AUTH", "FORMAT", "RANGE", "NOTADB"}
	if code >= 0 && code < len(names) {
		return "SQLITE_" + names[code]
	}
	return fmt.Sprintf("SQLITE_%d", code)
}

// failure classifies what the library returned. Locks that others hold are retryable; what the
// context ended is a timeout, or of unknown outcome if it was cancelled.
func failure(ctx context.Context, err error) *driver.Error {
	e := &driver.Error{Class: driver.Server, Text: strings.Join(strings.Fields(err.Error()), " "), Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Class, e.Text = driver.Timeout, "no answer within the operation's timeout"
		return e
	}
	if errors.Is(err, context.Canceled) {
		e.Class, e.Text = driver.UnknownOutcome, "the operation was interrupted"
		return e
	}
	var of *sqlite.Error
	if !errors.As(err, &of) {
		e.Class = driver.Client
		return e
	}
	primary := of.Code() & 0xff
	e.Code = codeName(primary)
	switch primary {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		e.Class = driver.Retryable
	case sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_ABORT:
		e.Class = driver.Timeout
		if ctx.Err() == context.Canceled {
			e.Class = driver.UnknownOutcome
		}
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Fatal = true
	case sqlite3.SQLITE_MISUSE:
		e.Class, e.Fatal = driver.Client, true
	}
	return e
}
