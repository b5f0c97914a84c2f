package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
	"brunt/internal/protocol/sqlconn"

	"github.com/go-sql-driver/mysql"
)

// conn is a session with its program.
type conn struct {
	*session
	statements []statement
	args       []sqldriver.NamedValue
	stop       func() <-chan struct{} // makes the server stop what the session is running
	lingers    <-chan struct{}        // what stop has returned, or nil
}

// Lingers returns a channel that is closed when the server has been asked to stop, or nil; see protocol.Lingering.
func (c *conn) Lingers() <-chan struct{} { return c.lingers }

// Do executes a request of the program.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	if c.closed || req.ID < 0 || req.ID >= len(c.statements) {
		reply.Fail(&protocol.Error{Class: protocol.Client, Fatal: c.closed,
			Text: "the session is closed or the request isn't part of its program"})
		return
	}
	st := &c.statements[req.ID]
	if refused := protocol.Arguments(args, st.params); refused != nil {
		reply.Fail(refused)
		return
	}
	if refused := notFinite(args); refused != nil {
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
			c.lingers = c.stop()
		}
	case st.records != nil:
		reply.Missing = reply.Rows+reply.Affected < st.records.Distinct(args)
	case reply.Class == protocol.OK:
		reply.Missing = req.Verb == protocol.SQL && st.kind.Missed(reply.Rows, reply.Affected)
	}
}

// Ended implements protocol.Perishable. Between requests a server says at most that it closes the session
// (wait_timeout).
func (c *conn) Ended() bool { return !c.closed && socket.Ended(c.link) }

func (c *conn) exec(ctx context.Context, st *statement, reply *protocol.Reply) error {
	result, err := st.Exec(ctx, c, c.args)
	if err == nil {
		reply.Affected, err = result.RowsAffected()
	}
	return err
}

func (c *conn) query(ctx context.Context, req *protocol.Request, st *statement, reply *protocol.Reply) error {
	result := sqlconn.Result{Request: req, Reply: reply, Bytes: gen.String}
	return st.Each(ctx, c, c.args, func(columns *sqlconn.Columns) error {
		if len(req.Capture) > 0 && st.captures == nil {
			var refused *protocol.Error
			if st.captures, refused = sqlconn.Captures(req, columns.Names); refused != nil {
				return refused
			}
		}
		result.Captures, result.Columns = st.captures, columns.Names
		for i := range columns.Names {
			result.Kinds = append(result.Kinds, kindOf(columns.Type(i)))
		}
		return nil
	}, func(row []sqldriver.Value) error {
		result.Take(row)
		return nil
	})
}

// kindOf returns the kind of values of a type that the library returns as bytes; Null for texts.
func kindOf(name string) gen.Kind {
	switch name {
	case "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "BIT", "GEOMETRY", "VECTOR":
		return gen.Bytes
	case "DECIMAL":
		return gen.Decimal
	case "DATE", "DATETIME", "TIMESTAMP":
		return gen.Datetime
	case "JSON":
		return gen.JSON
	case "UNSIGNED BIGINT":
		return gen.Uint
	}
	return gen.Null
}

// Add prepares a statement that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, req *protocol.Request) error {
	var st statement
	if refused := st.prepare(ctx, c.session, req); refused != nil {
		refused.Text = "request \"" + req.Name + "\": " + refused.Text
		return refused
	}
	if req.ID < len(c.statements) {
		c.statements[req.ID].Close()
	}
	c.statements = protocol.Put(c.statements, req.ID, st)
	return nil
}

const (
	// stopAgain is the first pause before a server is asked once more to stop a statement.
	stopAgain = 50 * time.Millisecond
	// stopsAtOnce is the maximum number of connections used for that at the same time.
	stopsAtOnce = 8
)

// numbered asks the server for the session's connection id, by which it can be stopped.
func (s *session) numbered(ctx context.Context) error {
	return s.admin().Query(ctx, "SELECT CONNECTION_ID()", func(v []*string) error {
		s.number = *v[0]
		return nil
	})
}

// stop makes the server stop what it is running for a session that was given up. Otherwise the server would
// notice the end of the connection only when the statement ends. stop doesn't wait, but returns a channel that is
// closed when it has been done.
func (d *Driver) stop(t protocol.Target, number string) <-chan struct{} {
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.Background(), protocol.Abandoning)
		defer cancel()
		select {
		case d.stopping <- struct{}{}:
			defer func() { <-d.stopping }()
		case <-ctx.Done():
			return
		}
		for pause := stopAgain; !d.kill(ctx, t, number) && protocol.Sleep(ctx, pause); pause *= 2 {
		}
	}()
	return done
}

// classOf returns the class of an error by its number (the error references of MySQL and MariaDB; numbers from
// 8000 on are TiDB's).
func classOf(number uint16) (class protocol.Class, fatal bool) {
	switch number {
	case 1213, 1205, 1020, // deadlock; lock wait timeout; record has changed since last read
		3572, 1412, // NOWAIT; table definition has changed
		1047, 1040, 1203, // a cluster's node isn't ready; too many connections
		8002, 8022, 8028, 9007, 9001, 9002, 9003, 9005: // TiDB: write conflict, schema changed, not leader, busy
		return protocol.Retryable, false
	case 1969, 3024, 1907: // max_statement_time, max_execution_time
		return protocol.Timeout, false
	case 1053, 1927, 1152, 3169: // shutdown in progress, connection was killed
		return protocol.UnknownOutcome, true
	case 1317: // query execution was interrupted
		return protocol.UnknownOutcome, false
	}
	return protocol.Server, false
}

// failure classifies an error that the library returned. req is nil if the request isn't part of a program.
func (s *session) failure(ctx context.Context, req *protocol.Request, err error) *protocol.Error {
	if own, ok := errors.AsType[*protocol.Error](err); ok {
		return own
	}
	if answer, ok := errors.AsType[*mysql.MySQLError](err); ok {
		class, fatal := classOf(answer.Number)
		return &protocol.Error{Class: class, Code: fmt.Sprint(answer.Number), State: string(answer.SQLState[:]),
			Text: protocol.Line(answer.Message, s.secret), Fatal: fatal, Err: err}
	}
	e := protocol.Unanswered(ctx, req, err, s.secret)
	switch {
	case protocol.IsLate(ctx, err):
	case errors.Is(err, sqldriver.ErrBadConn):
		e.Class, e.Text = protocol.Connect, "the connection is closed"
	case errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync), errors.Is(err, mysql.ErrPktSyncMul):
		e.Class = protocol.Protocol
	case errors.Is(err, mysql.ErrPktTooLarge):
		e.Class, e.Text, e.Fatal = protocol.Client, protocol.Line(err.Error(), s.secret), false
	}
	return e
}
