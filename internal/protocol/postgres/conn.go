package postgres

import (
	"context"

	"brunt/internal/gen"
	"brunt/internal/protocol"
	"brunt/internal/socket"

	"github.com/jackc/pgx/v5/pgconn"
)

// conn is a session of the library tier.
type conn struct {
	pg         *pgconn.PgConn
	statements []*statement
	received   *socket.Meter
	secret     string
	product    string // of the server, once it has been asked for

	arguments // of the request under way
}

// arguments are parameters encoded one after another.
type arguments struct {
	buffer  []byte
	ends    []int // where each ends in buffer; −1 for null
	values  [][]byte
	formats []int16
}

func (a *arguments) reset() { a.buffer, a.ends, a.formats = a.buffer[:0], a.ends[:0], a.formats[:0] }

func (a *arguments) add(f form, v *gen.Value) *protocol.Error {
	if v.Kind == gen.Null {
		a.ends, a.formats = append(a.ends, -1), append(a.formats, textFormat)
		return nil
	}
	out, format, err := appendValue(a.buffer, f, v)
	if err == nil {
		a.buffer, a.ends, a.formats = out, append(a.ends, len(out)), append(a.formats, format)
	}
	return err
}

// cut makes values of what was added.
func (a *arguments) cut() {
	a.values = a.values[:0]
	start := 0
	for _, end := range a.ends {
		if end < 0 {
			a.values = append(a.values, nil)
			continue
		}
		a.values = append(a.values, a.buffer[start:end:end])
		start = end
	}
}

// againAtMost bounds how often a statement is prepared again for one request.
const againAtMost = 8

// Do executes a request of the program.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	st, refused := find(c.statements, req, args)
	if refused != nil {
		reply.Fail(refused)
		return
	}
	before := c.received.Received()
	failure := c.execute(ctx, st, args, reply)
	for n := 0; failure != nil && isOutdated(failure.Code, failure.Text) && c.pg.TxStatus() == 'I' && n < againAtMost; n++ {
		reply.Reset(len(req.Capture))
		failure = c.execute(ctx, st, args, reply)
	}
	reply.BytesIn = c.received.Received() - before
	switch {
	case failure != nil:
		reply.Fail(failure)
	case reply.Class == protocol.OK:
		reply.Missing = st.kind.Missed(reply.Rows, reply.Affected)
	}
}

// execute sends a statement and reads its answer. Failures found in the answer are in the reply.
func (c *conn) execute(ctx context.Context, st *statement, args []gen.Value, reply *protocol.Reply) (failure *protocol.Error) {
	var err error
	switch {
	case st.prepared != nil:
		if failure = c.encode(st, args); failure != nil {
			return failure
		}
		if st.stale {
			err = c.renew(ctx, st, reply)
			break
		}
		err = readRows(c.pg.ExecStatement(ctx, st.prepared, c.values, c.formats, st.resultFormats), st.captures, reply)
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
	failure = libraryError(ctx, st.req, err, c.pg.IsClosed(), c.secret)
	st.stale = st.stale || st.prepared != nil && isOutdated(failure.Code, failure.Text)
	return failure
}

// find returns the statement of a request, or why it can't be sent.
func find(statements []*statement, req *protocol.Request, args []gen.Value) (*statement, *protocol.Error) {
	st := statements[req.ID]
	if st.shared {
		own := *st
		own.shared = false
		st = &own
		statements[req.ID] = st
	}
	if len(args) != len(st.req.Params) {
		return nil, protocol.Refused(req, "the count of arguments isn't that of its parameters")
	}
	return st, nil
}

// encode makes values and formats from the arguments.
func (c *conn) encode(st *statement, args []gen.Value) *protocol.Error {
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

// query sends a text by the simple protocol and reads all its results. Captures are taken from
// the first row of the first result that has them.
func (c *conn) query(ctx context.Context, st *statement, text string, reply *protocol.Reply) error {
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

// capture decodes what is wanted of a row.
func capture(row [][]byte, captures []captured, reply *protocol.Reply) {
	for k := range captures {
		c := &captures[k]
		if c.column < len(row) && row[c.column] != nil && k < len(reply.Captured) {
			failOnce(reply, decode(&reply.Captured[k], c.form, c.format, row[c.column], c.kind))
		}
	}
}

// failOnce records a failure unless there is one already or err is nil.
func failOnce(reply *protocol.Reply, err *protocol.Error) {
	if err != nil && reply.Class == protocol.OK {
		reply.Fail(err)
	}
}

// complete takes a command's tag into account. A COMMIT that the server answers with ROLLBACK has
// not committed.
func complete[T string | []byte](req *protocol.Request, tag T, reply *protocol.Reply) {
	reply.Affected += affected(tag)
	if req.Verb == protocol.Commit && string(tag) == "ROLLBACK" {
		failOnce(reply, rolledBack())
	}
}

func rolledBack() *protocol.Error {
	return &protocol.Error{Class: protocol.Server, Code: "25P02",
		Text: "COMMIT was answered with ROLLBACK: a statement of the transaction had failed"}
}

// affected is the count of changed rows that a command's tag tells of. Tags of statements that
// change nothing count rows read.
func affected[T string | []byte](tag T) int64 {
	if len(tag) == 0 || tag[0] == 'S' || tag[0] == 'F' || len(tag) > 1 && tag[0] == 'M' && tag[1] == 'O' {
		return 0 // SELECT, FETCH, MOVE
	}
	at := len(tag)
	for at > 0 && tag[at-1] >= '0' && tag[at-1] <= '9' {
		at--
	}
	if at == 0 || tag[at-1] != ' ' || len(tag)-at > 18 {
		return 0
	}
	n := int64(0)
	for _, digit := range []byte(tag[at:]) {
		n = n*10 + int64(digit-'0')
	}
	return n
}

var _ protocol.AdHoc = (*conn)(nil)

// Add makes a statement ready that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, req *protocol.Request) error {
	st, why := planOne(req)
	if why != "" {
		return protocol.Refused(req, "%s", why)
	}
	if req.Frames() && c.isPicodata(ctx) {
		return protocol.Refused(req, "Picodata has no transactions over several statements (it accepts BEGIN and undoes "+
			"nothing): put the statements into one DO $$ BEGIN … END $$")
	}
	if req.ID < len(c.statements) && c.statements[req.ID].prepared != nil {
		if err := c.pg.Deallocate(ctx, st.name()); err != nil {
			return libraryError(ctx, nil, err, c.pg.IsClosed(), c.secret)
		}
	}
	if _, refused := prepare(ctx, c.pg, c.secret, []*statement{&st}, (*statement).name); refused != nil {
		return refused
	}
	c.statements = protocol.Put(c.statements, req.ID, &st)
	return nil
}

func (c *conn) isPicodata(ctx context.Context) bool {
	if c.product == "" {
		c.product = identifyServer(ctx, c.pg).Product
	}
	return c.product == "Picodata"
}

// Close ends the session; it is safe to call twice.
func (c *conn) Close() error {
	if c.pg.IsClosed() {
		return nil
	}
	return closeNow(c.pg)
}

// wholeRows gives an answer's rows to Reply.Each, all columns by their types.
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
