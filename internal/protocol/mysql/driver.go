// Package mysql speaks the protocol of MySQL, MariaDB and TiDB. The library tier uses connections of go-sql-driver
// directly, one per session, without a pool. Event loops take over such a connection once it is authenticated, and have
// a codec for statements; see Takes. Statements are prepared once per session; $1, $2 … are replaced by question marks,
// in any order.
//
// Requests on records become statements on a table with the key YCSB_KEY. As with go-ycsb, an insert leaves an
// existing record unchanged. A batch of updates inserts the records that don't exist.
//
// Options of a target set variables of its sessions:
//
//	sql_mode   the server's own by default; ANSI_QUOTES lets "name" quote names
//	time_zone  "+00:00" by default
//	init       statements that sessions of a load send first when they connect, a line each
package mysql

import (
	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/socket"
	"brunt/internal/protocol/sqlconn"

	"github.com/go-sql-driver/mysql"
)

// Driver is the protocol "mysql". It is safe for concurrent use.
type Driver struct{ stopping chan struct{} }

var (
	_ protocol.AdminDriver   = (*Driver)(nil)
	_ protocol.KeyValueAdmin = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{make(chan struct{}, stopsAtOnce)} }

// Name returns "mysql".
func (*Driver) Name() string { return "mysql" }

// session is one connection.
type session struct {
	sqlconn.Connection
	secret   string
	received socket.Meter
	link     net.Conn
	wire     *wire
	number   string // the server's connection id, once it has been asked for
	closed   bool
}

// open connects and authenticates within Target.ConnectTimeout.
func open(ctx context.Context, t protocol.Target) (*session, *protocol.Error) {
	options := protocol.OptionsOf("mysql", t)
	mode, zone := options.Text("sql_mode", ""), options.Text("time_zone", "+00:00")
	options.Text(protocol.InitOption, "") // see first
	if refused := options.Done(); refused != nil {
		return nil, refused
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	s := &session{secret: t.Password}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName, c.TLS = "tcp", t.Address, t.User, t.Password, t.Database, t.TLS
	c.Logger, c.InterpolateParams, c.ClientFoundRows = &mysql.NopLogger{}, true, true
	c.Params = map[string]string{"time_zone": sqltext.QuoteText(zone)}
	if mode != "" {
		c.Params["sql_mode"] = sqltext.QuoteText(mode)
	}
	var refusedAt error
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if socket.Network(t.Address) == "unix" {
			address = t.Address
		}
		nc, err := socket.Dial(ctx, address)
		if err != nil {
			refusedAt = err
			return nil, err
		}
		s.link, s.wire = nc, &wire{Conn: s.received.Conn(nc)}
		return s.wire, nil
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, protocol.Bad("%s", protocol.Line(err.Error(), t.Password))
	}
	conn, err := connector.Connect(ctx)
	switch {
	case refusedAt != nil:
		return nil, protocol.ConnectError(refusedAt.Error(), "", refusedAt)
	case err != nil:
		return nil, refusal(ctx, t, err)
	}
	s.Connection = conn.(sqlconn.Connection)
	return s, nil
}

// first sends the statements that a session of a load begins with.
func (s *session) first(ctx context.Context, t protocol.Target) *protocol.Error {
	for statement := range protocol.FirstStatements(t) {
		if _, err := s.ExecContext(ctx, statement, nil); err != nil {
			return refusal(ctx, t, err)
		}
	}
	return nil
}

// refusal returns the failure to open a session.
func refusal(ctx context.Context, t protocol.Target, err error) *protocol.Error {
	var answer *mysql.MySQLError
	if !errors.As(err, &answer) {
		if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return protocol.ConnectError(socket.Explain(ctx, t.Address, context.DeadlineExceeded).Error(), "", err)
		}
		if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, sqldriver.ErrBadConn) || socket.Closed(err) {
			return protocol.ConnectError(socket.Explain(ctx, t.Address, io.EOF).Error(), "", err)
		}
		return protocol.ConnectError(fmt.Sprintf("can't connect to %s: %s; does a MySQL or MariaDB listen there?", t.Address,
			protocol.Line(err.Error(), t.Password)), "", err)
	}
	hint := ""
	switch answer.Number {
	case 1044, 1045, 1698:
		hint = "; check user and password"
	case 1049:
		hint = "; check the database's name"
	case 1040, 1203:
		hint = "; raise the server's max_connections or use fewer sessions"
	}
	text := fmt.Sprintf("can't connect to %s: %s%s", t.Address, protocol.Line(answer.Message, t.Password), hint)
	return protocol.ConnectError(text, fmt.Sprint(answer.Number), err)
}

// Close ends the session; it is safe to call twice.
func (s *session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.Connection.Close()
}

// Dial opens a session and prepares the program's statements. An error is a *protocol.Error: of class Connect if
// no session could be opened, Client if the program or an option is invalid, Server if the server refused a
// statement.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	if slices.ContainsFunc(p.Requests, byCodec) {
		if why, ok := d.Takes(t, p); !ok {
			return nil, protocol.Bad("requests whose text or columns are known only when they are sent: %s", why)
		}
		c, err := blocking.Dial(ctx, d, t, p)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	s, refused := open(ctx, t)
	if refused != nil {
		return nil, refused
	}
	c := &conn{session: s, statements: make([]statement, len(p.Requests)),
		stop: func() <-chan struct{} { return d.stop(t, s.number) }}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	if err := s.numbered(ctx); err != nil {
		c.Close()
		return nil, err
	}
	if err := s.first(ctx, t); err != nil {
		c.Close()
		return nil, err
	}
	for i := range p.Requests {
		if err := c.statements[i].prepare(ctx, s, &p.Requests[i]); err != nil {
			c.Close()
			err.Text = fmt.Sprintf("request %q: %s", p.Requests[i].Name, err.Text)
			return nil, err
		}
	}
	return c, nil
}

// settings selects the variables that affect performance.
const settings = `SHOW VARIABLES WHERE Variable_name IN ('innodb_buffer_pool_size', 'innodb_flush_log_at_trx_commit',
 'innodb_doublewrite', 'innodb_log_file_size', 'sync_binlog', 'log_bin', 'max_connections', 'transaction_isolation', 'tx_isolation', 'sql_mode')`

// Describe returns the server's version and variables.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	a, err := d.Admin(ctx, t)
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	defer a.Close()
	info := protocol.ServerInfo{Product: "MySQL", Settings: map[string]string{}}
	err = a.Query(ctx, "SELECT VERSION()", func(v []*string) error {
		info.Version, _, _ = strings.Cut(*v[0], "-")
		for _, fork := range []string{"MariaDB", "TiDB"} {
			if _, version, ok := strings.Cut(*v[0], fork+"-v"); ok {
				info.Product, info.Version = fork, version
			} else if strings.Contains(*v[0], fork) {
				info.Product = fork
			}
		}
		return nil
	})
	if err != nil {
		return info, err
	}
	return info, a.Query(ctx, settings, func(v []*string) error {
		if v[1] != nil {
			info.Settings[*v[0]] = *v[1]
		}
		return nil
	})
}

// Prepare creates a table with the key YCSB_KEY and a column for each field, named in capitals, as YCSB's
// clients do.
func (d *Driver) Prepare(ctx context.Context, t protocol.Target, table string, fields []string, fieldLength int,
	drop bool) error {
	a, err := d.Admin(ctx, t)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := createDatabase(ctx, a, table); err != nil {
		return err
	}
	if drop {
		if _, err := a.Exec(ctx, "DROP TABLE IF EXISTS "+quoteTable(table)); err != nil {
			return err
		}
	}
	kind := fmt.Sprintf("VARCHAR(%d)", max(fieldLength, 1))
	if fieldLength*max(len(fields), 1) > 16000 { // a row's columns may have 65 535 bytes in total, four per character
		kind = "LONGTEXT"
	}
	statement := "CREATE TABLE IF NOT EXISTS " + quoteTable(table) + " (" + keyColumn + " VARCHAR(255) PRIMARY KEY"
	for _, f := range fields {
		statement += ", " + quote(strings.ToUpper(f)) + " " + kind
	}
	_, err = a.Exec(ctx, statement+")")
	return err
}

// createDatabase creates the database that a table's name begins with, if it is missing.
func createDatabase(ctx context.Context, a protocol.Admin, table string) error {
	path := sqltext.Path(table)
	if len(path) == 1 {
		return nil
	}
	there := false
	err := a.Query(ctx, "SELECT 1 FROM information_schema.schemata WHERE schema_name = "+sqltext.QuoteText(path[0]),
		func([]*string) error { there = true; return nil })
	if err != nil || there {
		return err
	}
	_, err = a.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quote(path[0]))
	return err
}

// quoteTable quotes the name of a table, which may begin with that of its database.
func quoteTable(name string) string {
	path := sqltext.Path(name)
	for i := range path {
		path[i] = quote(path[i])
	}
	return strings.Join(path, ".")
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Admin opens a set-up session. Each chunk is loaded in one transaction.
func (d *Driver) Admin(ctx context.Context, t protocol.Target) (protocol.Admin, error) {
	s, refused := open(ctx, t)
	if refused != nil {
		return nil, refused
	}
	return s.admin(), nil
}

// loadParameters is the number of parameters in one INSERT; the protocol allows at most 65 535.
const loadParameters = 4000

func (s *session) admin() protocol.Admin {
	return sqlconn.NewAdmin(s, sqlconn.Dialect{
		Quote: quote, Table: quoteTable, Begin: "START TRANSACTION", Replace: "REPLACE", Parameters: loadParameters,
		Argument: func(v *gen.Value) (sqldriver.Value, *protocol.Error) { return argument(v), nil },
	})
}

// Failure classifies an error that the library returned for something that isn't a request of a program.
func (s *session) Failure(ctx context.Context, err error) *protocol.Error {
	return s.failure(ctx, nil, err)
}
