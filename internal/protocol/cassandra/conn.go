package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
	"brunt/internal/protocol/socket"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// keyColumn is the column of a record's key.
const keyColumn = "ycsb_key"

// conn is a session: a session of the library with one connection for requests.
type conn struct {
	session *gocql.Session
	kv.Requests
	statements []string
	own        []*statement // requests in CQL; nil: a request on records
	text       bool         // statements in CQL are sent with their values as text
	secret     string
	received   socket.Meter
}

// statementOf translates a request to CQL. For a batch other than a read, it translates one row.
func statementOf(r *kv.Request) string {
	table := sqltext.QuoteTable(r.Table)
	columns := "*"
	if names := sqltext.QuoteAll(r.Fields); len(names) > 0 {
		columns = strings.Join(names, ", ")
	}
	switch {
	case r.Verb == protocol.Read && r.Rows > 1:
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s IN ?", columns, table, keyColumn)
	case r.Verb == protocol.Read:
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s = ?", columns, table, keyColumn)
	case r.Verb == protocol.Scan:
		return fmt.Sprintf("SELECT %s FROM %s WHERE token(%s) >= token(?) LIMIT ?", columns, table, keyColumn)
	case r.Verb == protocol.Delete:
		return fmt.Sprintf("DELETE FROM %s WHERE %s = ?", table, keyColumn)
	case r.Verb == protocol.Update:
		return fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s = ?", table, strings.Join(sqltext.QuoteAll(r.Fields), " = ?, "),
			keyColumn)
	}
	text := fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (?%s)", table, keyColumn,
		strings.Join(sqltext.QuoteAll(r.Fields), ", "), strings.Repeat(", ?", len(r.Fields)))
	if r.Creates {
		text += " IF NOT EXISTS"
	}
	return text
}

// values returns a row's arguments in the order of its statement.
func values(r *kv.Request, args []gen.Value) []any {
	out := make([]any, 0, len(args))
	for i := range args[1:] {
		out = append(out, kv.AppendText(nil, &args[1+i]))
	}
	key := kv.AppendText(nil, &args[0])
	if r.Verb == protocol.Update {
		return append(out, key)
	}
	return append([]any{key}, out...)
}

// Do executes one request.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	if s := c.own[req.ID]; s != nil {
		c.doStatement(ctx, s, req, args, reply)
		return
	}
	r := c.Begin(req, args, reply)
	if r == nil {
		return
	}
	statement := c.statements[req.ID]
	before := c.received.Received()
	var err error
	switch {
	case r.Verb == protocol.Scan:
		count, refused := kv.Count(args)
		if refused != nil {
			reply.Fail(refused)
			return
		}
		err = c.read(ctx, r, reply, statement, kv.AppendText(nil, &args[0]), count)
	case r.Verb == protocol.Read && r.Rows > 1:
		keys := make([]string, r.Rows)
		for i := range keys {
			keys[i] = kv.Text(&args[i])
		}
		err = c.read(ctx, r, reply, statement, keys)
	case r.Verb == protocol.Read:
		err = c.read(ctx, r, reply, statement, kv.AppendText(nil, &args[0]))
	case r.Rows > 1:
		batch := c.session.Batch(gocql.UnloggedBatch)
		for row := range r.Rows {
			batch.Query(statement, values(r, args[row*r.PerRow:][:r.PerRow])...)
		}
		err = batch.ExecContext(ctx)
	case r.Creates:
		var applied bool
		applied, err = c.session.Query(statement, values(r, args)...).MapScanCASContext(ctx, map[string]any{})
		reply.Missing = err == nil && !applied
	default:
		err = c.session.Query(statement, values(r, args)...).ExecContext(ctx)
	}
	reply.BytesIn = c.received.Received() - before
	if r.Verb == protocol.Read {
		reply.Missing = err == nil && reply.Rows < r.Distinct(args)
	}
	if err != nil {
		reply.Fail(failure(ctx, req, err, c.secret))
	} else if r.Verb != protocol.Read && r.Verb != protocol.Scan && !reply.Missing {
		reply.Affected = int64(r.Rows)
	}
}

// doStatement executes a request in CQL.
func (c *conn) doStatement(ctx context.Context, s *statement, req *protocol.Request, args []gen.Value,
	reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	if refused := s.check(args); refused != nil {
		reply.Fail(refused)
		return
	}
	before := c.received.Received()
	err := c.execute(ctx, s, req, args, reply)
	reply.BytesIn = c.received.Received() - before
	if err != nil {
		reply.Affected = 0
		reply.Fail(failure(ctx, req, err, c.secret))
		return
	}
	reply.Missing = req.Kind() == protocol.KindRead && reply.Rows == 0 && req.Page == 0
}

// Ended implements protocol.Perishable. The library reads all the time, and connects again only later.
func (c *conn) Ended() bool { return c.received.Ended() }

// recordOf returns the record of a row. The contents of fields are as the columns show them, those of blobs as they
// are.
func recordOf(row []column) (record kv.Record, err error) {
	contents := make([][]byte, len(row))
	var names []string
	for i := range row {
		var v gen.Value
		if err := row[i].shown(&v); err != nil {
			return record, fmt.Errorf("column %s: %w", row[i].name, err)
		}
		switch v.Kind {
		case gen.Null:
		case gen.Bytes:
			contents[i] = v.B
		default:
			contents[i] = v.AppendText([]byte{})
		}
		if row[i].name != keyColumn {
			names = append(names, row[i].name)
		}
	}
	record.Names = func() []string { return names }
	record.Field = func(field string) ([]byte, bool) {
		for i := range row {
			if row[i].name == field {
				return contents[i], contents[i] != nil
			}
		}
		return nil, false
	}
	return record, nil
}

// read runs a query. The answer comes in one page.
func (c *conn) read(ctx context.Context, r *kv.Request, reply *protocol.Reply, statement string, args ...any) error {
	it := c.session.Query(statement, args...).PageSize(0).IterContext(ctx)
	rows := int64(it.NumRows())
	columns := it.Columns()
	for r.Wants(reply) {
		row, into := columnsOf(columns)
		if !it.Scan(into...) {
			break
		}
		record, err := recordOf(row)
		if err != nil {
			return errors.Join(err, it.Close())
		}
		record.Key, _ = record.Field(keyColumn)
		r.Take(reply, record)
	}
	reply.Rows = rows
	return it.Close()
}

// failure classifies an error that the library returned (native protocol, section 9).
func failure(ctx context.Context, req *protocol.Request, err error, secret string) *protocol.Error {
	e := &protocol.Error{Class: protocol.Server, Text: protocol.Line(err.Error(), secret), Err: err}
	if answer, ok := errors.AsType[gocql.RequestError](err); ok {
		e.Code = fmt.Sprintf("0x%04x", answer.Code())
		switch answer.Code() {
		case gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping:
			e.Class = protocol.Retryable
		case gocql.ErrCodeWriteTimeout, gocql.ErrCodeWriteFailure, gocql.ErrCodeCASWriteUnknown:
			e.Class = protocol.UnknownOutcome
		case gocql.ErrCodeReadTimeout:
			e.Class = protocol.Timeout
		case gocql.ErrCodeProtocol:
			e.Class, e.Fatal = protocol.Protocol, true
		}
		return e
	}
	switch {
	case errors.Is(err, gocql.ErrNoConnections), errors.Is(err, gocql.ErrSessionClosed),
		errors.Is(err, gocql.ErrNoConnectionsStarted):
		e.Class, e.Fatal = protocol.Connect, true
	case strings.Contains(e.Text, "marshal"):
		e.Class = protocol.Client
	case errors.Is(err, gocql.ErrTimeoutNoResponse):
		return protocol.Late(req)
	default:
		return protocol.Unanswered(ctx, req, err, secret)
	}
	return e
}

var _ protocol.AdHoc = (*conn)(nil)

// Add prepares a request that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, req *protocol.Request) error {
	if refused := c.prepare(req); refused != nil {
		return protocol.Refused(req, "%s", refused.Text)
	}
	return nil
}

// Close ends the session; it is safe to call twice.
func (c *conn) Close() error {
	c.session.Close()
	return nil
}
