// Package sqlite runs SQLite inside the process, in the library tier only. It uses connections of
// modernc.org/sqlite directly, one per session, without a pool.
//
// The address is the path of a file, or ":memory:" (":memory:name" if there are several) for an in-memory
// database that all sessions of the process share and that exists as long as a Driver that has used it.
//
// Transactions begin with BEGIN IMMEDIATE: they take the write lock at once and wait for it up to busy_timeout.
// A deferred transaction could fail half-way with an SQLITE_BUSY that waiting can't resolve. Begin's text
// "deferred" or "exclusive" selects another mode. All isolation levels are satisfied, because SQLite's
// transactions are serializable.
package sqlite

import (
	"brunt/internal/base/sqltext"
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"

	"brunt/internal/protocol"
	"brunt/internal/protocol/sqlconn"

	"modernc.org/sqlite"
)

// Driver is the protocol "sqlite". It is safe for concurrent use.
type Driver struct {
	library sqlite.Driver

	mu      sync.Mutex
	anchors map[string]sqldriver.Conn // keep in-memory databases alive

	// loading serializes loads. SQLite has one writer at a time, and writers that wait for its lock poll for it; on
	// a busy machine, one could miss the lock until its busy_timeout ends.
	loading sync.Mutex
}

var (
	_ protocol.Driver      = (*Driver)(nil)
	_ protocol.AdminDriver = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name returns "sqlite".
func (*Driver) Name() string { return "sqlite" }

// Close releases the in-memory databases. Open sessions keep theirs alive.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all error
	for _, c := range d.anchors {
		all = errors.Join(all, c.Close())
	}
	d.anchors = nil
	return all
}

// Dial opens a session and prepares the program's statements. An error is a *protocol.Error: of class Connect if
// the file could not be opened, Client if the program or an option is invalid, Server if SQLite refused a
// statement.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	s, err := d.open(ctx, t)
	if err != nil {
		return nil, err
	}
	c := &conn{session: s, statements: make([]statement, len(p.Requests))}
	for i := range p.Requests {
		if err := c.statements[i].prepare(s, &p.Requests[i], false); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Describe returns SQLite's version and the sessions' pragmas.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	s, err := d.open(ctx, t)
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	defer s.Close()
	info := protocol.ServerInfo{Product: "SQLite", Settings: map[string]string{}}
	if info.Version, err = s.word(ctx, "SELECT sqlite_version()"); err != nil {
		return info, failure(ctx, err)
	}
	for _, o := range options() {
		if value, err := s.word(ctx, "PRAGMA "+o); err == nil {
			info.Settings[o] = value
		}
	}
	return info, nil
}

// session is one connection.
type session struct {
	connection
	closed bool
}

// connection is the interface required of the library's connections.
type connection interface {
	sqlconn.Connection
	ColumnInfo(query string) ([]sqlite.ColumnInfo, error)
}

// Close ends the session; it is safe to call twice.
func (s *session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.connection.Close()
}

const memory = ":memory:"

// open opens a session and sets its pragmas.
func (d *Driver) open(ctx context.Context, t protocol.Target) (*session, error) {
	pragmas, err := pragmasOf(t)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &protocol.Error{Class: protocol.Connect, Fatal: true, Err: err,
			Text: fmt.Sprintf("can't open %s: %v", t.Address, err)}
	}
	name, err := d.name(t.Address)
	if err != nil {
		return nil, err
	}
	c, oerr := d.library.Open(name)
	if oerr != nil {
		return nil, openError(t.Address, oerr)
	}
	s := &session{connection: c.(connection)}
	// Changing the journal mode needs exclusive access to the file, so sessions do it one after another.
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range pragmas {
		if err := p.set(ctx, s); err != nil {
			s.Close()
			err.Text = fmt.Sprintf("can't open %s: %s", t.Address, err.Text)
			return nil, err
		}
	}
	return s, nil
}

func openError(address string, err error) *protocol.Error {
	e := failure(context.Background(), err)
	e.Class, e.Fatal = protocol.Connect, true
	e.Text = fmt.Sprintf("can't open %s: %s; check that its folder exists and is writable", address, e.Text)
	return e
}

// name returns the library's name for a database. It opens an anchor for an in-memory database.
func (d *Driver) name(address string) (string, error) {
	switch {
	case address == "":
		return "", protocol.Bad("no address given; write the path of a file or :memory:")
	case strings.ContainsRune(address, 0):
		return "", protocol.Bad("the address holds a zero byte")
	case !strings.HasPrefix(address, memory):
		return "file:" + escape(address), nil
	}
	name := "file:/brunt-" + escape(strings.TrimPrefix(address, memory)) + "?vfs=memdb"
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.anchors[address] != nil {
		return name, nil
	}
	c, err := d.library.Open(name)
	if err != nil {
		return "", openError(address, err)
	}
	if d.anchors == nil {
		d.anchors = map[string]sqldriver.Conn{}
	}
	d.anchors[address] = c
	return name, nil
}

// escape escapes a path for SQLite's URI file names (sqlite.org/uri.html).
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// quoteTable quotes the name of a table. There are no schemas: a name may have dots.
func quoteTable(name string) string {
	if parts := sqltext.Path(name); len(parts) == 1 {
		name = parts[0]
	}
	return sqltext.Quote(name)
}

// loadParameters is the number of parameters in one INSERT; more parameters don't make it faster.
const loadParameters = 900

// Admin opens a set-up session. Each chunk is loaded in one transaction.
func (d *Driver) Admin(ctx context.Context, t protocol.Target) (protocol.Admin, error) {
	s, err := d.open(ctx, t)
	if err != nil {
		return nil, err
	}
	return sqlconn.NewAdmin(s, sqlconn.Dialect{
		Quote: sqltext.Quote, Table: quoteTable, Begin: "BEGIN IMMEDIATE", Replace: "INSERT OR REPLACE",
		Parameters: loadParameters,
		Argument:   argument,
		Turn:       &d.loading,
	}), nil
}

// Failure classifies an error that the library returned.
func (*session) Failure(ctx context.Context, err error) *protocol.Error { return failure(ctx, err) }
