package postgres

import (
	"context"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
)

// oracle executes requests with pgconn, a client whose results the codec must match.
type oracle struct {
	pg         *pgconn.PgConn
	statements []*statement
	arguments
}

// openOracle opens a connection.
func openOracle(t testing.TB, target protocol.Target, p *protocol.Program) *oracle {
	t.Helper()
	pg, statements, err := open(testContext(t), target, p)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { closeNow(pg) })
	return &oracle{pg: pg, statements: statements}
}

func (c *oracle) Close() error { return closeNow(c.pg) }

func (c *oracle) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	st, refused := find(c.statements, req, args)
	if refused != nil {
		reply.Fail(refused)
		return
	}
	if failure := c.execute(ctx, st, args, reply); failure != nil {
		reply.Fail(failure)
	} else if reply.Class == protocol.OK {
		reply.Missing = st.kind.Missed(reply.Rows, reply.Affected)
	}
}

func (c *oracle) execute(ctx context.Context, st *statement, args []gen.Value,
	reply *protocol.Reply) (failure *protocol.Error) {
	var err error
	switch {
	case st.prepared != nil:
		if failure = c.encode(st, args); failure != nil {
			return failure
		}
		rows := c.pg.ExecStatement(ctx, st.prepared, c.values, c.formats, st.resultFormats)
		err = readRows(rows, st.captures, reply)
	case st.literal != nil:
		if c.buffer, failure = st.literal.append(c.buffer[:0], args); failure != nil {
			return failure
		}
		err = c.query(ctx, st, string(c.buffer), reply)
	default:
		err = c.query(ctx, st, st.text, reply)
	}
	if err == nil {
		return nil
	}
	return libraryError(ctx, st.req, err, c.pg.IsClosed(), "")
}

// encode sets the values and formats from the arguments.
func (c *oracle) encode(st *statement, args []gen.Value) *protocol.Error {
	c.reset()
	for i := range args {
		if err := c.add(st.params[i], &args[i]); err != nil {
			return err
		}
	}
	if len(c.buffer) > maxMessage {
		return tooLarge(len(c.buffer))
	}
	c.cut()
	return nil
}

// query sends a text by the simple protocol and reads all its results. Captures are taken from the first row of the
// first result that has them.
func (c *oracle) query(ctx context.Context, st *statement, text string, reply *protocol.Reply) error {
	results := c.pg.Exec(ctx, text)
	taken := len(st.req.Capture) == 0
	var missing *protocol.Error
	for results.NextResult() {
		rows := results.ResultReader()
		var captures []captured
		if fields := rows.FieldDescriptions(); !taken && len(fields) > 0 {
			captures, missing = textCaptures(st.req, fields)
		}
		before := reply.Rows
		tag, err := drain(rows, captures, reply)
		taken = taken || captures != nil && reply.Rows > before
		if err != nil {
			break
		}
		complete(st.req, tag, reply)
	}
	err := results.Close()
	if err == nil {
		failOnce(reply, missing)
	}
	return err
}

// readRows reads the answer to a prepared statement.
func readRows(rows *pgconn.ResultReader, captures []captured, reply *protocol.Reply) error {
	tag, err := drain(rows, captures, reply)
	if err == nil {
		reply.Affected += affected(tag)
	}
	return err
}

func drain(rows *pgconn.ResultReader, captures []captured, reply *protocol.Reply) (tag string, err error) {
	var whole *wholeRows
	if reply.Each != nil {
		whole = newWholeRows(rows.FieldDescriptions())
	}
	for first := true; rows.NextRow(); first = false {
		reply.Rows++
		if first && len(captures) > 0 {
			capture(rows.Values(), captures, reply)
		}
		if whole != nil {
			whole.give(rows.Values(), reply)
		}
	}
	command, err := rows.Close()
	return command.String(), err
}

// capture decodes the captured values of a row.
func capture(row [][]byte, captures []captured, reply *protocol.Reply) {
	for k := range captures {
		c := &captures[k]
		if c.column < len(row) && row[c.column] != nil && k < len(reply.Captured) {
			failOnce(reply, decode(&reply.Captured[k], c.form, c.format, row[c.column], c.kind))
		}
	}
}

// wholeRows passes the rows of an answer to Reply.Each, with all columns decoded by their types.
type wholeRows struct {
	names  []string
	fields []pgconn.FieldDescription
	forms  []form
	values []gen.Value
}

func newWholeRows(fields []pgconn.FieldDescription) *wholeRows {
	w := &wholeRows{fields: fields, values: make([]gen.Value, len(fields))}
	for i := range fields {
		w.names, w.forms = append(w.names, fields[i].Name), append(w.forms, forms[fields[i].DataTypeOID])
	}
	return w
}

func (w *wholeRows) give(row [][]byte, reply *protocol.Reply) {
	for i := range w.values {
		if w.values[i].SetNull(); i < len(row) && row[i] != nil {
			failOnce(reply, decode(&w.values[i], w.forms[i], w.fields[i].Format, row[i], gen.Null))
		}
	}
	reply.Each(w.names, w.values)
}
