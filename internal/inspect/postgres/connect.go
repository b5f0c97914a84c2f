// Package postgres inspects PostgreSQL 13 and later: its statistics views, the wait events of its sessions, the
// plans of its statements, and the findings that follow from them. It doesn't write, unless it is told to execute
// statements that write, which it rolls back.
//
// All numeric columns of a view are read, whatever they are, since they differ between versions: new columns are
// recorded without changes here. Only the columns that findings need are known by name.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/secret"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	applicationName = "brunt-inspect"
	tag             = "/* brunt:inspect */" // part of each of the inspector's statements, to recognize them
	leastVersion    = 130000
)

// sessionSettings are the settings of the inspector's session. Settings that its user isn't allowed to change are
// skipped.
var sessionSettings = [...]string{
	"statement_timeout = '5s'", "lock_timeout = '1s'", "default_transaction_read_only = on", "jit = off",
	"pg_stat_statements.track = 'none'", "auto_explain.log_min_duration = -1", "client_min_messages = 'error'",
}

// session is a connection that counts its queries.
type session struct {
	conn    *pgconn.PgConn
	version int // server_version_num
	// database is the OID of the database.
	database string
	queries  int
	// replicasAt is when samples last asked for replicas.
	replicasAt time.Duration
	secrets    []string
	known      map[string]string // names of prepared statements, by text
}

// result is the answer to a query, with its fields as texts; nil is null.
type result struct {
	columns []string
	numeric []bool
	rows    [][]*string
}

// parseDSN parses a connection string: a URL or name=value pairs, as in libpq.
func parseDSN(dsn string) (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		if parse, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
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

// nameOf returns the name of a server for users, without secrets.
func nameOf(c *pgconn.Config) string {
	address := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if strings.HasPrefix(c.Host, "/") {
		address = c.Host
	}
	return "pg " + address + "/" + c.Database
}

// connect opens a session. Its errors are one line, without secrets.
func connect(ctx context.Context, c *pgconn.Config) (*session, error) {
	s := &session{secrets: []string{c.Password}}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, s.clean(err)
	}
	s.conn = conn
	for _, setting := range sessionSettings {
		_ = conn.Exec(ctx, "set "+setting).Close() // settings that this user may not change are skipped
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
	if s.database, err = s.text(ctx, "select oid from pg_database where datname = current_database()"); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() {
	if s != nil && s.conn != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // don't wait for a server that no longer reads
		_ = s.conn.Close(ctx)
		s.conn = nil
	}
}

// clean returns an error of the server on one line, without secrets.
func (s *session) clean(err error) error {
	var e *pgconn.PgError
	// The library's text contains the address twice and is long.
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return fmt.Errorf("can't connect: %w; is the server running there?", op.Err)
	}
	if errors.As(err, &e) {
		return &serverError{e.Code, secret.Redact(e.Message, s.secrets) + " (" + e.Code + ")", int(e.Position)}
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	return errors.New(secret.Text(secret.Redact(text, s.secrets)))
}

// serverError is an error that the server reported.
type serverError struct {
	code, text string
	position   int // position of a character in the statement, from 1; 0 if not known
}

func (e *serverError) Error() string { return e.text }

// denied reports whether an error means that the user lacks a right.
func denied(err error) bool {
	var e *serverError
	return errors.As(err, &e) && e.code == "42501"
}

// query sends a query. It inserts the tag into the first "select".
func (s *session) query(ctx context.Context, sql string) (*result, error) {
	return s.plain(ctx, strings.Replace(sql, "select ", "select "+tag+" ", 1))
}

// again sends a query that is sent often. It prepares the query, because planning queries on statistics views takes
// ten times as long as executing them.
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
	// 26000: a pooler has switched to another server session.
	if e, ok := errors.AsType[*serverError](err); ok && e.code == "26000" {
		return s.query(ctx, sql)
	}
	return r, err
}

// plain sends sql unchanged and returns the result of its last statement.
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

// text sends a query and returns the first field of its answer, or "" if there is none or it is null.
func (s *session) text(ctx context.Context, sql string) (string, error) {
	r, err := s.query(ctx, sql)
	if err != nil || len(r.rows) == 0 || len(r.rows[0]) == 0 || r.rows[0][0] == nil {
		return "", err
	}
	return *r.rows[0][0], nil
}

// isNumber reports whether a type is numeric: int8, int2, int4, float4, float8 or numeric.
func isNumber(oid uint32) bool { return slices.Contains([]uint32{20, 21, 23, 700, 701, 1700}, oid) }

// at returns a field as text; "" if it is null or there is no such column.
func (r *result) at(row int, column string) string {
	for i, c := range r.columns {
		if c == column && r.rows[row][i] != nil {
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
