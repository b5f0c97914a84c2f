package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"strconv"
	"time"

	"brunt/internal/driver"
	"brunt/internal/driver/sqlconn"
	"brunt/internal/gen"
)

// conn is a session and its program.
type conn struct {
	*session
	statements []statement
	args       []sqldriver.NamedValue
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
	if refused := driver.Arguments(args, st.params); refused != nil {
		reply.Fail(refused)
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
	result, err := st.Exec(ctx, c, c.args)
	if err == nil {
		reply.Affected, err = result.RowsAffected()
	}
	return err
}

func (c *conn) query(ctx context.Context, req *driver.Request, st *statement, reply *driver.Reply) error {
	result := sqlconn.Result{Request: req, Reply: reply, Bytes: gen.String}
	return st.Each(ctx, c, c.args, func(columns []string) error {
		if len(req.Capture) > 0 && st.captures == nil {
			var refused *driver.Error
			if st.captures, refused = sqlconn.Captures(req, columns); refused != nil {
				return refused
			}
		}
		result.Captures, result.Columns = st.captures, columns
		return nil
	}, func(row []sqldriver.Value) error {
		result.Take(row)
		return nil
	})
}

// Add makes a statement ready that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, req *driver.Request) error {
	var st statement
	if refused := st.prepare(ctx, c.session, req); refused != nil {
		refused.Text = "request \"" + req.Name + "\": " + refused.Text
		return refused
	}
	if req.ID < len(c.statements) {
		c.statements[req.ID].Close()
	}
	c.statements = driver.Put(c.statements, req.ID, st)
	return nil
}

const (
	// stopWithin bounds how long a server is asked to stop a statement.
	stopWithin = 2 * time.Second
	// stopsAtOnce bounds how many servers' connections are taken for that at a time.
	stopsAtOnce = 8
)

// numbered asks the server for the session's number, by which it can be stopped.
func (s *session) numbered(ctx context.Context) error {
	return s.admin().Query(ctx, "SELECT CONNECTION_ID()", func(v []*string) error {
		s.number = *v[0]
		return nil
	})
}

// stop has the server stop what it does for a session that was given up: it wouldn't notice the
// connection's end before the statement's. It doesn't wait for that.
func (d *Driver) stop(t driver.Target, number string) {
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		select {
		case d.stopping <- struct{}{}:
			defer func() { <-d.stopping }()
		case <-ctx.Done():
			return
		}
		if s, refused := open(ctx, t); refused == nil {
			defer s.Close()
			s.ExecContext(ctx, "KILL "+number, nil)
		}
	}()
}
