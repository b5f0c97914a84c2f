package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"io"

	"brunt/internal/driver"
	"brunt/internal/gen"
)

// conn is a session and its program.
type conn struct {
	*session
	statements []statement
	args       []sqldriver.NamedValue
	row        []sqldriver.Value
	stop       func() // has the server stop what the session does
}

// Do executes a request of the program.
func (c *conn) Do(ctx context.Context, req *driver.Request, args []gen.Value, reply *driver.Reply) {
	reply.Reset(len(req.Capture))
	if c.closed || req.ID < 0 || req.ID >= len(c.statements) {
		reply.Fail(&driver.Error{Class: driver.Client, Fatal: c.closed, Text: "the session is closed or the request isn't part of its program"})
		return
	}
	st := &c.statements[req.ID]
	if len(args) != st.params {
		reply.Fail(driver.Bad("%d arguments for %d parameters", len(args), st.params))
		return
	}
	c.args = c.args[:0]
	for i, from := range st.order {
		c.args = append(c.args, sqldriver.NamedValue{Ordinal: i + 1, Value: argument(&args[from])})
	}
	before := c.received.Received()
	var err error
	if st.before != "" {
		_, err = c.ExecContext(ctx, st.before, nil)
	}
	switch {
	case err != nil:
	case st.rows:
		err = c.query(ctx, req, st, reply)
	default:
		err = c.exec(ctx, st, reply)
	}
	reply.BytesIn = c.received.Received() - before
	switch {
	case err != nil:
		reply.Fail(c.failure(ctx, req, err))
		if reply.Fatal && ctx.Err() != nil {
			c.stop()
		}
	case st.records != nil:
		reply.Missing = reply.Rows+reply.Affected < st.records.Distinct(args)
	case reply.Class == driver.OK:
		reply.Missing = req.Verb == driver.SQL && st.kind.Missed(reply.Rows, reply.Affected)
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
	if err == nil {
		reply.Affected, err = result.RowsAffected()
	}
	return err
}

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
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns := rows.Columns()
	if len(req.Capture) > 0 && st.captures == nil {
		if refused := st.find(req, columns); refused != nil {
			return refused
		}
	}
	for len(c.row) < len(columns) {
		c.row = append(c.row, nil)
	}
	row := c.row[:len(columns)]
	for len(columns) > 0 {
		if err := rows.Next(row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if reply.Rows++; reply.Rows > 1 {
			continue
		}
		for k, column := range st.captures {
			if e := decode(&reply.Captured[k], row[column], req.Capture[k].Kind); e != nil && reply.Class == driver.OK {
				reply.Fail(e)
			}
		}
	}
	return nil
}
