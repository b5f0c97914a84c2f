// Package mysql inspects MySQL 8 and MariaDB: the digests of performance_schema, status counters, samples of the
// sessions and what they wait for, the plans of the statements, and the findings that follow from them. It doesn't
// write. Where performance_schema is off, it works with the status counters and samples.
//
// The tables' columns are those of the base tables of performance_schema and information_schema, since the views of
// sys differ between products ("MySQL Performance Schema" in MySQL's manual; "Performance Schema" in MariaDB's).
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"

	"github.com/go-sql-driver/mysql"
)

const (
	mostRows = 20_000 // read of an answer; the rest of it is discarded
	mostText = 4_096  // bytes kept of a field
)

// session is a connection that counts its queries.
type session struct {
	db      *sql.DB
	conn    *sql.Conn
	secret  string
	user    string
	number  string // of the connection
	queries int
	broken  bool
}

// result is the answer to a query, with its fields as texts; nil is null.
type result struct {
	columns []string
	rows    [][]*string
}

// connect opens a session. Its errors are one line, without secrets.
func connect(ctx context.Context, t protocol.Target) (*session, error) {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName, c.TLS = "tcp", t.Address, t.User, t.Password, t.Database, t.TLS
	c.Logger = &mysql.NopLogger{}
	c.ConnectionAttributes = "program_name:" + program
	c.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) { return socket.Dial(ctx, address) }
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, errors.New(secret.Redact(err.Error(), []string{t.Password}))
	}
	s := &session{db: sql.OpenDB(connector), secret: t.Password, user: t.User}
	s.db.SetMaxOpenConns(1)
	if s.conn, err = s.db.Conn(ctx); err != nil {
		s.db.Close()
		return nil, s.clean(err)
	}
	for _, setting := range settings {
		_, _ = s.conn.ExecContext(ctx, "SET SESSION "+setting) // those that this server lacks are skipped
	}
	s.number, err = s.text(ctx, "SELECT CONNECTION_ID()")
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// program is the name of the inspector's session.
const program = "brunt-inspect"

// settings are the settings of the inspector's session.
var settings = [...]string{
	"lock_wait_timeout = 1", "transaction_isolation = 'READ-UNCOMMITTED'", "autocommit = 1",
	"note_verbosity = 'basic,explain'", // of MariaDB: EXPLAIN says which indexes a comparison can't use
	"max_statement_time = 5",           // MariaDB, in seconds
	"max_execution_time = 5000",        // MySQL, in ms
}

func (s *session) close() {
	if s != nil && s.db != nil {
		s.db.Close()
		s.db = nil
	}
}

// clean returns an error of the server on one line, without secrets.
func (s *session) clean(err error) error {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return &serverError{e.Number, fmt.Sprintf("%s (%d)",
			secret.Text(secret.Redact(protocol.Line(e.Message, s.secret), []string{s.secret})), e.Number)}
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return fmt.Errorf("can't connect: %w; is the server running there?", op.Err)
	}
	return errors.New(secret.Text(protocol.Line(err.Error(), s.secret)))
}

// serverError is an error that the server reported.
type serverError struct {
	number uint16
	text   string
}

func (e *serverError) Error() string { return e.text }

// The numbers of errors (MySQL's manual, "Server Error Message Reference").
const (
	errDenied         = 1044 // access to a database
	errUnknownTable   = 1109
	errNoTable        = 1146
	errTableDenied    = 1142
	errColumnDenied   = 1143
	errNeedsPrivilege = 1227
)

// denied reports whether an error means that the user lacks a right.
func denied(err error) bool {
	e, ok := errors.AsType[*serverError](err)
	return ok && (e.number == errDenied || e.number == errTableDenied || e.number == errColumnDenied ||
		e.number == errNeedsPrivilege)
}

// absent reports whether an error means that this server doesn't have a table.
func absent(err error) bool {
	e, ok := errors.AsType[*serverError](err)
	return ok && (e.number == errUnknownTable || e.number == errNoTable)
}

// query sends a query and returns at most mostRows rows of its answer.
func (s *session) query(ctx context.Context, text string) (*result, error) {
	s.queries++
	rows, err := s.conn.QueryContext(ctx, text)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close()
	out := &result{}
	if out.columns, err = rows.Columns(); err != nil {
		return nil, s.failed(err)
	}
	fields := make([]sql.RawBytes, len(out.columns))
	into := make([]any, len(fields))
	for i := range fields {
		into[i] = &fields[i]
	}
	for rows.Next() && len(out.rows) < mostRows {
		if err := rows.Scan(into...); err != nil {
			return nil, s.failed(err)
		}
		row := make([]*string, len(fields))
		for i, b := range fields {
			if b != nil {
				text := string(b[:min(len(b), mostText)])
				row[i] = &text
			}
		}
		out.rows = append(out.rows, row)
	}
	if err := rows.Err(); err != nil {
		return nil, s.failed(err)
	}
	return out, nil
}

// failed notes whether the connection is lost, and returns the error for users.
func (s *session) failed(err error) error {
	if _, ok := errors.AsType[*mysql.MySQLError](err); !ok {
		s.broken = true
	}
	return s.clean(err)
}

// exec executes a statement without an answer.
func (s *session) exec(ctx context.Context, text string) error {
	s.queries++
	if _, err := s.conn.ExecContext(ctx, text); err != nil {
		return s.failed(err)
	}
	return nil
}

// text sends a query and returns the first field of its answer, or "" if there is none or it is null.
func (s *session) text(ctx context.Context, query string) (string, error) {
	r, err := s.query(ctx, query)
	if err != nil || len(r.rows) == 0 || len(r.rows[0]) == 0 || r.rows[0][0] == nil {
		return "", err
	}
	return *r.rows[0][0], nil
}

// at returns a field as text; "" if it is null or there is no such column.
func (r *result) at(row int, column string) string {
	for i, c := range r.columns {
		if strings.EqualFold(c, column) && r.rows[row][i] != nil {
			return *r.rows[row][i]
		}
	}
	return ""
}

// number returns a field as a number; 0 if it isn't one.
func (r *result) number(row int, column string) float64 {
	x, _ := strconv.ParseFloat(r.at(row, column), 64)
	return x
}
