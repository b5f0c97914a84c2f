package sqlite

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/sqlconn"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// statement is a request prepared for sending.
type statement struct {
	sqlconn.Statement
	columns  int   // number of columns of the result; 0 means no result
	captures []int // column numbers
	kind     protocol.Kind
	changes  bool // it may change rows
	undo     bool // it is a ROLLBACK
}

// conn is a session with its program.
type conn struct {
	*session
	statements []statement
	args       []sqldriver.NamedValue
}

// prepare prepares a request on a session. shown says that all columns are shown, not only captured.
func (st *statement) prepare(s *session, req *protocol.Request, shown bool) error {
	switch req.Verb {
	case protocol.SQL:
		st.Text = req.Text
	case protocol.Begin:
		st.Text = beginText(req.Text)
	case protocol.Commit:
		st.Text = "COMMIT"
	case protocol.Rollback:
		st.Text, st.undo = "ROLLBACK", true
	default:
		return protocol.Refused(req, "protocol sqlite takes SQL and transactions only")
	}
	if strings.TrimSpace(st.Text) == "" {
		return protocol.Refused(req, "the statement is empty")
	}
	st.kind = req.Kind()
	info, err := s.ColumnInfo(st.Text)
	if err != nil {
		return refusal(req, err)
	}
	st.columns = len(info)
	switch sqltext.FirstWord(st.Text) {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH":
		st.changes = st.columns == 0 || strings.Contains(strings.ToUpper(st.Text), "RETURNING")
	}
	names := make([]string, len(info))
	for i := range info {
		names[i] = info[i].Name
	}
	var refused *protocol.Error
	if st.captures, refused = sqlconn.Captures(req, names); refused != nil {
		return protocol.Refused(req, "%s", refused.Text)
	}
	if err := st.keepTimes(req, info, shown); err != nil {
		return err
	}
	if req.Simple {
		return nil
	}
	if err := st.Prepare(context.Background(), s); err != nil {
		return refusal(req, err)
	}
	if n := parameters(st.Text); n != len(req.Params) {
		return protocol.Refused(req, "the statement has %d parameters, the plan gives %d", n, len(req.Params))
	}
	return nil
}

// keepTimes makes the library return texts in columns that are declared as times as they are stored, if they are
// captured or shown. It would parse them, and how they were written would be lost: sent back, they would be other
// texts. It parses where a result's column is a table's, and not where it is an expression such as +x, whose value is
// that of x.
func (st *statement) keepTimes(req *protocol.Request, info []sqlite.ColumnInfo, shown bool) error {
	kept := false
	names, values := make([]string, len(info)), make([]string, len(info))
	for i := range info {
		names[i] = fmt.Sprint("c", i)
		values[i] = names[i]
		used := shown
		for k, at := range st.captures {
			used = used || at == i && req.Capture[k].Kind != gen.Datetime
		}
		switch strings.ToUpper(info[i].DeclType) {
		case "DATE", "DATETIME", "TIMESTAMP":
			if used && st.changes {
				return protocol.Refused(req, "column %q is declared as %s, and a time that RETURNING returns can't be sent back as it "+
					"is stored; return +%[1]s AS %[1]s", info[i].Name, info[i].DeclType)
			}
			if used {
				kept, values[i] = true, "+"+names[i]
			}
		}
		values[i] += " AS " + sqltext.Quote(info[i].Name)
	}
	if kept {
		tokens := sqltext.Split(st.Text)
		for t := tokens[len(tokens)-1]; t.Kind == sqltext.Space || t.IsSign(";"); t = tokens[len(tokens)-1] {
			tokens = tokens[:len(tokens)-1]
			st.Text = strings.TrimSuffix(st.Text, t.Text)
		}
		st.Text = "WITH \"brunt's\" (" + strings.Join(names, ", ") + ") AS (" + st.Text + ") SELECT " +
			strings.Join(values, ", ") + " FROM \"brunt's\""
	}
	return nil
}

// refusal returns the failure to prepare a request, or nil if the plan expects one.
func refusal(req *protocol.Request, err error) error {
	e := failure(context.Background(), err)
	if req.ExpectError && e.Class == protocol.Server && !e.Fatal {
		return nil
	}
	e.Text = fmt.Sprintf("request %q: %s", req.Name, e.Text)
	return e
}

// beginText returns the statement that begins a transaction; see the package's documentation.
func beginText(mode string) string {
	switch m := strings.ToUpper(strings.TrimSpace(mode)); m {
	case "DEFERRED", "EXCLUSIVE":
		return "BEGIN " + m
	}
	return "BEGIN IMMEDIATE"
}

// Do executes a request of the program. If ctx ends during a statement, SQLite interrupts and rolls back the
// statement; the session stays usable.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	if c.closed || req.ID < 0 || req.ID >= len(c.statements) {
		reply.Fail(&protocol.Error{Class: protocol.Client, Fatal: c.closed,
			Text: "the session is closed or the request isn't part of its program"})
		return
	}
	st := &c.statements[req.ID]
	if refused := protocol.WithoutNaN(args, "SQLite"); refused != nil {
		reply.Fail(refused)
		return
	}
	c.args = c.args[:0]
	for i := range args {
		v, err := argument(&args[i])
		if err != nil {
			reply.Fail(err)
			return
		}
		c.args = append(c.args, sqldriver.NamedValue{Ordinal: i + 1, Value: v})
	}
	var err error
	if st.columns > 0 {
		err = c.query(ctx, req, st, reply)
	} else {
		err = c.exec(ctx, st, reply)
	}
	var classified *protocol.Error
	switch {
	case err == nil:
		reply.Missing = reply.Class == protocol.OK && req.Verb == protocol.SQL && st.kind.Missed(reply.Rows, reply.Affected)
	case errors.As(err, &classified):
		reply.Fail(classified)
	case st.undo && strings.Contains(err.Error(), "no transaction is active"):
		// SQLite has already rolled back by itself, as it does after some failures.
	default:
		reply.Fail(failure(ctx, err))
	}
}

func (c *conn) exec(ctx context.Context, st *statement, reply *protocol.Reply) error {
	result, err := st.Exec(ctx, c, c.args)
	if err != nil || !st.changes {
		return err
	}
	reply.Affected, err = result.RowsAffected()
	return err
}

// checkEvery is the number of rows between checks of the context in a long result, because the library
// interrupts only the first step.
const checkEvery = 256

func (c *conn) query(ctx context.Context, req *protocol.Request, st *statement, reply *protocol.Reply) error {
	result := sqlconn.Result{Request: req, Reply: reply, Captures: st.captures, Bytes: gen.Bytes}
	err := st.Each(ctx, c, c.args, func(columns *sqlconn.Columns) error {
		result.Columns = columns.Names
		return nil
	}, func(row []sqldriver.Value) error {
		if result.Take(row); reply.Rows%checkEvery == 0 {
			return ctx.Err()
		}
		return nil
	})
	if err == nil && st.changes {
		reply.Affected = reply.Rows
	}
	return err
}

var _ protocol.AdHoc = (*conn)(nil)

// Add prepares a statement that isn't part of the session's program.
func (c *conn) Add(_ context.Context, req *protocol.Request) error {
	var st statement
	if err := st.prepare(c.session, req, true); err != nil {
		return err
	}
	if req.ID < len(c.statements) {
		c.statements[req.ID].Close()
	}
	c.statements = protocol.Put(c.statements, req.ID, st)
	return nil
}

// Close ends the session; it is safe to call twice.
func (c *conn) Close() error {
	if c.closed {
		return nil
	}
	for i := range c.statements {
		c.statements[i].Close()
	}
	return c.session.Close()
}

// parameters returns the greatest parameter number in a statement. Parameters are $1, ?1 or ?, which takes the
// next number. Quoted text, including [text], and comments are ignored.
func parameters(text string) int {
	most, quoted := 0, false
	tokens := append(sqltext.Split(text), sqltext.Token{})
	for i, t := range tokens {
		n, numbered := t.Parameter()
		switch {
		case t.IsSign("["), t.IsSign("]"):
			quoted = t.IsSign("[")
		case quoted:
		case numbered:
			most = max(most, n)
		case t.Kind == sqltext.Mark && tokens[i+1].Kind == sqltext.Number:
			n, _ = strconv.Atoi(tokens[i+1].Text)
			most = max(most, n)
		case t.Kind == sqltext.Mark:
			most++
		}
	}
	return most
}

// argument returns a value in a form that the library accepts. SQLite has no decimals, times or UUIDs: decimals
// are sent as floats, times and UUIDs as text.
func argument(v *gen.Value) (sqldriver.Value, *protocol.Error) {
	switch v.Kind {
	case gen.Bool:
		return v.I, nil
	case gen.Uint:
		if v.I < 0 {
			return nil, protocol.Bad("the value %d is beyond SQLite's integers", uint64(v.I))
		}
		return v.I, nil
	case gen.Decimal:
		return float64(v.I) / math.Pow10(int(v.Scale)), nil
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().Format(sqlconn.TimeFormat), nil
	case gen.UUID:
		return string(gen.AppendUUID(nil, v.B)), nil
	}
	return v.Any(), nil
}

// codeName returns the name of a primary result code (sqlite.org/rescode.html).
func codeName(code int) string {
	names := [...]string{"OK", "ERROR", "INTERNAL", "PERM", "ABORT", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT",
		"IOERR", "CORRUPT", "NOTFOUND", "FULL", "CANTOPEN", "PROTOCOL", "EMPTY", "SCHEMA", "TOOBIG", "CONSTRAINT",
		"MISMATCH", "MISUSE", "NOLFS", "AUTH", "FORMAT", "RANGE", "NOTADB"}
	if code >= 0 && code < len(names) {
		return "SQLITE_" + names[code]
	}
	return fmt.Sprintf("SQLITE_%d", code)
}

// failure classifies an error that the library returned. Locks held by others are retryable. A statement ended
// by its context is a timeout, or of unknown outcome if the context was cancelled.
func failure(ctx context.Context, err error) *protocol.Error {
	e := &protocol.Error{Class: protocol.Server, Text: strings.Join(strings.Fields(err.Error()), " "), Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Class, e.Text = protocol.Timeout, "no answer within the operation's timeout"
		return e
	}
	if errors.Is(err, context.Canceled) {
		e.Class, e.Text = protocol.UnknownOutcome, "the operation was interrupted"
		return e
	}
	var of *sqlite.Error
	if !errors.As(err, &of) {
		e.Class = protocol.Client
		return e
	}
	primary := of.Code() & 0xff
	e.Code = codeName(primary)
	switch primary {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		e.Class = protocol.Retryable
	case sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_ABORT:
		e.Class = protocol.Timeout
		if ctx.Err() == context.Canceled {
			e.Class = protocol.UnknownOutcome
		}
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Fatal = true
	case sqlite3.SQLITE_MISUSE:
		e.Class, e.Fatal = protocol.Client, true
	}
	return e
}
