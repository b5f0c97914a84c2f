// Package postgres speaks PostgreSQL's frontend/backend protocol, version 3, to PostgreSQL and to
// servers that answer like it (Picodata, CockroachDB, YugabyteDB). Connections are made and
// authenticated by pgconn. The library tier stays on pgconn; the codec tier takes its socket.
//
// The formats of messages are those of "Frontend/Backend Protocol" in PostgreSQL's manual; the
// binary formats of values are those of the server's receive functions.
package postgres

import (
	"context"
	"time"

	"brunt/internal/driver"
	"brunt/internal/socket"
	"brunt/internal/wire"

	"github.com/jackc/pgx/v5/pgconn"
)

// Driver is the protocol "pg". It is immutable and safe for concurrent use.
type Driver struct{}

var (
	_ driver.Driver      = (*Driver)(nil)
	_ driver.AdminDriver = (*Driver)(nil)
	_ driver.Checker     = (*Driver)(nil)
	_ wire.Protocol      = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name is "pg".
func (*Driver) Name() string { return "pg" }

// Dial opens a session within Target.ConnectTimeout and prepares the program's statements; of more than a
// thousand each is prepared with its first request. An error is an *driver.Error: of class Connect if no session could be opened, Client if the
// program can't be done by this protocol, and as the server's code says if it refused a statement.
func (d *Driver) Dial(ctx context.Context, t driver.Target, p *driver.Program) (driver.Conn, error) {
	pg, statements, received, err := open(ctx, t, p)
	if err != nil {
		return nil, err
	}
	return &conn{pg: pg, statements: statements, received: received, secret: t.Password}, nil
}

// open connects and prepares; the connection is closed if the latter fails.
func open(ctx context.Context, t driver.Target, p *driver.Program) (*pgconn.PgConn, []*statement, *socket.Meter, error) {
	all := planned(p)
	if all.refused != nil {
		return nil, nil, nil, all.refused
	}
	if all.many() {
		if e := all.describe(ctx, t, nil); e != nil {
			return nil, nil, nil, e
		}
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	pg, received, err := connect(ctx, t)
	if err != nil {
		return nil, nil, nil, err
	}
	statements := all.session()
	if !all.many() {
		if _, e := prepare(ctx, pg, t.Password, statements, (*statement).name); e != nil {
			closeNow(pg)
			return nil, nil, nil, e
		}
	}
	return pg, statements, received, nil
}

// connect opens a session; ctx bounds it.
func connect(ctx context.Context, t driver.Target) (*pgconn.PgConn, *socket.Meter, error) {
	config, received, err := configure(t)
	if err != nil {
		return nil, nil, err
	}
	pg, cerr := pgconn.ConnectConfig(ctx, config)
	if cerr != nil {
		return nil, nil, connectError(ctx, t, cerr)
	}
	return pg, received, nil
}

// closeNow ends a session without waiting for the server for longer than a second.
func closeNow(pg *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return pg.Close(ctx)
}
