package sqlite

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/sqltext"
)

// prepared is what the library's statements can do.
type prepared interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

// statement is a request made ready.
type statement struct {
	prepared prepared // nil for Simple
	text     string
	columns  int   // of the result; 0 means none
	captures []int // columns
	kind     driver.Kind
	changes  bool // it may change rows
	undo     bool // it is a ROLLBACK
}

// conn is a session and its program.
type conn struct {
	*session
	statements []statement
	args       []sqldriver.NamedValue
	row        []sqldriver.Value
}

// prepare makes a request ready on a session.
func (st *statement) prepare(s *session, req *driver.Request) error {
	switch req.Verb {
	case driver.SQL:
		st.text = req.Text
	case driver.Begin:
		st.text = beginText(req.Text)
	case driver.Commit:
		st.text = "COMMIT"
	case driver.Rollback:
		st.text, st.undo = "ROLLBACK", true
	default:
		return driver.Refused(req, "protocol sqlite takes SQL and transactions only")
	}
	if strings.TrimSpace(st.text) == "" {
		return driver.Refused(req, "the statement is empty")
	}
	info, err := s.ColumnInfo(st.text)
	if err != nil {
		e := failure(context.Background(), err)
		return requestErrorOf(req, e)
	}
	st.columns, st.kind = len(info), req.Kind()
	switch sqltext.FirstWord(st.text) {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH":
		st.changes = st.columns == 0 || strings.Contains(strings.ToUpper(st.text), "RETURNING")
	}
	for i := range req.Capture {
		c := &req.Capture[i]
		column, names := c.Column, make([]string, len(info))
		if c.Name != "" {
			column = -1
		}
		for k := range info {
			names[k] = info[k].Name
			if c.Name != "" && column < 0 && strings.EqualFold(info[k].Name, c.Name) {
				column = k
			}
		}
		if column < 0 || column >= len(info) {
			return driver.Refused(req, "captured column %q (number %d) isn't in the result, which has: %s",
				c.Name, c.Column, strings.Join(names, ", "))
		}
		st.captures = append(st.captures, column)
	}
	if req.Simple {
		return nil
	}
	p, err := s.Prepare(st.text)
	if err != nil {
		return requestErrorOf(req, failure(context.Background(), err))
	}
	st.prepared = p.(prepared)
	if n := parameters(st.text); n != len(req.Params) {
		return driver.Refused(req, "the statement has %d parameters, the plan gives %d", n, len(req.Params))
	}
	return nil
}

func requestErrorOf(req *driver.Request, e *driver.Error) *driver.Error {
	e.Text = fmt.Sprintf("request %q: %s", req.Name, e.Text)
	return e
}

// beginText is the statement that begins a transaction; see the package's comment.
func beginText(mode string) string {
	switch m := strings.ToUpper(strings.TrimSpace(mode)); m {
	case "DEFERRED", "EXCLUSIVE":
		return "BEGIN " + m
	}
	return "BEGIN IMMEDIATE"
}

// Do executes a request of the program. A statement that the context ends is interrupted and
// undone by SQLite; the session stays usable.
func (c *conn) Do(ctx context.Context, req *driver.Request, args []gen.Value, reply *driver.Reply) {
	reply.Reset(len(req.Capture))
	if c.closed || req.ID < 0 || req.ID >= len(c.statements) {
		reply.Fail(&driver.Error{Class: driver.Client, Fatal: c.closed, Text: "the session is closed or the request isn't part of its program"})
		return
	}
	st := &c.statements[req.ID]
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
	var classified *driver.Error
	switch {
	case err == nil:
		reply.Missing = reply.Class == driver.OK && req.Verb == driver.SQL && st.kind.Missed(reply.Rows, reply.Affected)
	case errors.As(err, &classified):
		reply.Fail(classified)
	case st.undo && strings.Contains(err.Error(), "no transaction is active"):
		// SQLite has rolled back by itself, as it does after some failures.
	default:
		reply.Fail(failure(ctx, err))
	}
}

func (c *conn) exec(ctx context.Context, st *statement, reply *driver.Reply) error {
	var result sqldriver.Result
	var err error
	if st.prepared != nil {
		result, err = st.prepared.ExecContext(ctx, c.args)
	} else {
		result, err = c.ExecContext(ctx, st.text, c.args)
	}
	if err != nil || !st.changes {
		return err
	}
	reply.Affected, err = result.RowsAffected()
	return err
}

// checkEvery is after how many rows a long result looks whether its context is done: the library
// interrupts the first step only.
const checkEvery = 256

func (c *conn) query(ctx context.Context, req *driver.Request, st *statement, reply *driver.Reply) (err error) {
	var rows sqldriver.Rows
	if st.prepared != nil {
		rows, err = st.prepared.QueryContext(ctx, c.args)
	} else {
		rows, err = c.QueryContext(ctx, st.text, c.args)
	}
	if err != nil {
		return err
	}
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	columns := len(rows.Columns())
	for len(c.row) < columns {
		c.row = append(c.row, nil)
	}
	row := c.row[:columns]
	for {
		if reply.Rows%checkEvery == checkEvery-1 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := rows.Next(row); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if reply.Rows == 0 {
			for k, column := range st.captures {
				if e := decode(&reply.Captured[k], row[column], req.Capture[k].Kind); e != nil && reply.Class == driver.OK {
					reply.Fail(e)
				}
			}
		}
		reply.Rows++
	}
	if st.changes {
		reply.Affected = reply.Rows
	}
	return nil
}

// Close ends the session; it is safe to call twice.
func (c *conn) Close() error {
	if c.closed {
		return nil
	}
	for i := range c.statements {
		if p := c.statements[i].prepared; p != nil {
			p.Close()
		}
	}
	return c.session.Close()
}
