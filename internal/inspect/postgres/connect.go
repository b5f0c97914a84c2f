// Package postgres inspects PostgreSQL 13 and later: its statistics views, what its sessions wait for,
// the plans of its statements, and what follows from them. It writes nothing, unless it was asked to
// execute statements that write, which it rolls back.
//
// Views are read whole and by the columns that they have, since those differ from version to version:
// what is new in a version is recorded without a change here. Only what findings are made of is known
// by name.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"brunt/internal/secret"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	applicationName = "brunt-inspect"
	tag             = "/* brunt:inspect */" // in each of the inspector's statements, to know them again
	leastVersion    = 130000
)

// sessionSettings are what the inspector's own session runs with. Those that its user may not set are
// done without.
var sessionSettings = [...]string{
	"statement_timeout = '5s'", "lock_timeout = '1s'", "default_transaction_read_only = on", "jit = off",
	"pg_stat_statements.track = 'none'", "auto_explain.log_min_duration = -1", "client_min_messages = 'error'",
}

// session is a connection that counts what it asks.
type session struct {
	conn    *pgconn.PgConn
	version int // server_version_num
	queries int
	secrets []string
	known   map[string]string // prepared statements by their texts
}

// result is an answer whose fields are texts.
type result struct {
	columns []string
	numeric []bool
	rows    [][]*string
}

// parseDSN checks a connection string: a URL or name=value pairs, as libpq takes them.
func parseDSN(dsn string) (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		var parse *pgconn.ParseConfigError
		if errors.As(err, &parse) {
			err = parse.Unwrap()
		}
		text := "it can't be read"
		if err != nil && !strings.Contains(dsn, "password") && !strings.Contains(dsn, "@") {
			text = err.Error()
		}
		return nil, fmt.Errorf(
			"not a connection string of PostgreSQL (%s); write postgres://host:5432/database?user=name, or host=… user=… dbname=…", secret.Text(text))
	}
	config.RuntimeParams["application_name"] = applicationName
	return config, nil
}

// nameOf says which server a configuration means.
func nameOf(c *pgconn.Config) string {
	address := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if strings.HasPrefix(c.Host, "/") {
		address = c.Host
	}
	return "pg " + address + "/" + c.Database
}

// connect opens a session. Errors are one line, without secrets.
func connect(ctx context.Context, c *pgconn.Config) (*session, error) {
	s := &session{secrets: []string{c.Password}}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, s.clean(err)
	}
	s.conn = conn
	for _, setting := range sessionSettings {
		_ = conn.Exec(ctx, "set "+setting).Close() // what this user may not set is done without
	}
	text, err := s.text(ctx, "select current_setting('server_version_num')")
	if err != nil {
		s.close()
		return nil, err
	}
	if s.version, err = strconv.Atoi(text); err != nil || s.version < leastVersion {
		s.close()
		return nil, fmt.Errorf("the server's version is %s; inspecting needs PostgreSQL 13 or later", text)
	}
	return s, nil
}

func (s *session) close() {
	if s != nil && s.conn != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // a server that doesn't read any more isn't waited for
		_ = s.conn.Close(ctx)
		s.conn = nil
	}
}

// clean is an error of the server on one line, without secrets.
func (s *session) clean(err error) error {
	var e *pgconn.PgError
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" { // the library says at length what address it tried, and twice
		return fmt.Errorf("can't connect: %w; is the server running there?", op.Err)
	}
	if errors.As(err, &e) {
		return &serverError{e.Code, secret.Redact(e.Message, s.secrets) + " (" + e.Code + ")", int(e.Position)}
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	return errors.New(secret.Text(secret.Redact(text, s.secrets)))
}

// serverError is what the server answered instead of a result.
type serverError struct {
	code, text string
	position   int // of a character of the statement, from 1; 0 if it isn't about one
}

func (e *serverError) Error() string { return e.text }

// denied reports whether an error is about rights.
func denied(err error) bool {
	var e *serverError
	return errors.As(err, &e) && e.code == "42501"
}

// query asks one question. Its first "select" carries the tag.
func (s *session) query(ctx context.Context, sql string) (*result, error) {
	return s.plain(ctx, strings.Replace(sql, "select ", "select "+tag+" ", 1))
}

// again asks a question that is asked again and again: prepared, because planning what reads the server's
// views takes ten times as long as reading them.
func (s *session) again(ctx context.Context, sql string) (*result, error) {
	name := s.known[sql]
	if name == "" {
		name = fmt.Sprintf("brunt_%d", len(s.known)+1)
		if _, err := s.query(ctx, "prepare "+name+" as "+sql); err != nil {
			return nil, err
		}
		if s.known == nil {
			s.known = map[string]string{}
		}
		s.known[sql] = name
	}
	r, err := s.plain(ctx, "execute "+name)
	var e *serverError
	if errors.As(err, &e) && e.code == "26000" { // a pooler has given it another session
		return s.query(ctx, sql)
	}
	return r, err
}

// plain sends text as it is and returns its last answer.
func (s *session) plain(ctx context.Context, sql string) (*result, error) {
	s.queries++
	results, err := s.conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, s.clean(err)
	}
	out := &result{}
	if len(results) == 0 {
		return out, nil
	}
	last := results[len(results)-1]
	for _, f := range last.FieldDescriptions {
		out.columns = append(out.columns, f.Name)
		out.numeric = append(out.numeric, isNumber(f.DataTypeOID))
	}
	for _, r := range last.Rows {
		row := make([]*string, len(r))
		for i, b := range r {
			if b != nil {
				text := string(b)
				row[i] = &text
			}
		}
		out.rows = append(out.rows, row)
	}
	return out, last.Err
}

// text asks a question with one field for an answer, "" if there is none.
func (s *session) text(ctx context.Context, sql string) (string, error) {
	r, err := s.query(ctx, sql)
	if err != nil || len(r.rows) == 0 || len(r.rows[0]) == 0 || r.rows[0][0] == nil {
		return "", err
	}
	return *r.rows[0][0], nil
}

// isNumber reports whether values of a type are numbers: int8, int2, int4, float4, float8, numeric.
func isNumber(oid uint32) bool {
	switch oid {
	case 20, 21, 23, 700, 701, 1700:
		return true
	}
	return false
}

// at is a field as text; "" if it is null or there is no such column.
func (r *result) at(row int, column string) string {
	for i, c := range r.columns {
		if c == column && r.rows[row][i] != nil {
			return *r.rows[row][i]
		}
	}
	return ""
}

// number is a field as a number, 0 if it is none.
func (r *result) number(row int, column string) float64 {
	x, _ := strconv.ParseFloat(r.at(row, column), 64)
	return x
}
