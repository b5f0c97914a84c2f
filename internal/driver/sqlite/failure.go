package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"brunt/internal/driver"

	"modernc.org/sqlite"
)

// The primary result codes that are told apart (sqlite.org/rescode.html).
const (
	codeAbort     = 4
	codeBusy      = 5
	codeLocked    = 6
	codeInterrupt = 9
	codeCorrupt   = 11
	codeProtocol  = 15
	codeMisuse    = 21
	codeNotADB    = 26
)

// codeName is a primary result code's name.
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
	case codeBusy, codeLocked, codeProtocol:
		e.Class = driver.Retryable
	case codeInterrupt, codeAbort:
		e.Class = driver.Timeout
		if ctx.Err() == context.Canceled {
			e.Class = driver.UnknownOutcome
		}
	case codeCorrupt, codeNotADB:
		e.Fatal = true
	case codeMisuse:
		e.Class, e.Fatal = driver.Client, true
	}
	return e
}
