// Package postgres speaks PostgreSQL's frontend/backend protocol, version 3, to PostgreSQL and to
// servers that answer like it (Picodata, CockroachDB, YugabyteDB). Connections are made and
// authenticated by pgconn. The library tier stays on pgconn; the codec tier takes its socket.
//
// The formats of messages are those of "Frontend/Backend Protocol" in PostgreSQL's manual; the
// binary formats of values are those of the server's receive functions.
package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"brunt/internal/driver"
	"brunt/internal/wire"

	"github.com/jackc/pgx/v5/pgconn"
)

// Driver is the protocol "pg". It is immutable and safe for concurrent use.
type Driver struct{}

var (
	_ driver.Driver      = (*Driver)(nil)
	_ driver.AdminDriver = (*Driver)(nil)
	_ wire.Protocol      = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name is "pg".
func (*Driver) Name() string { return "pg" }

// Names are all names by which plans may call the protocol.
func (*Driver) Names() []string { return []string{"pg", "pgwire"} }

// defaultConnectTimeout holds where Target.ConnectTimeout is 0.
const defaultConnectTimeout = 5 * time.Second

// Dial opens a session within Target.ConnectTimeout and prepares the program's statements. An
// error is an *driver.Error: of class Connect if no session could be opened, Client if the
// program can't be done by this protocol, and as the server's code says if it refused a statement.
func (d *Driver) Dial(ctx context.Context, t driver.Target, p *driver.Program) (driver.Conn, error) {
	pg, statements, counter, err := open(ctx, t, p)
	if err != nil {
		return nil, err
	}
	return newConn(pg, statements, counter, t.Password), nil
}

// open connects and prepares; the connection is closed if the latter fails.
func open(ctx context.Context, t driver.Target, p *driver.Program) (*pgconn.PgConn, []statement, *readCounter, error) {
	statements, refused := plan(p)
	if refused != nil {
		return nil, nil, nil, refused
	}
	timeout := connectTimeout(t)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pg, counter, err := connect(ctx, t)
	if err != nil {
		return nil, nil, nil, err
	}
	for i := range statements {
		if e := statements[i].prepare(ctx, pg, t.Password); e != nil {
			closeNow(pg)
			return nil, nil, nil, e
		}
	}
	return pg, statements, counter, nil
}

func connectTimeout(t driver.Target) time.Duration {
	if t.ConnectTimeout <= 0 {
		return defaultConnectTimeout
	}
	return t.ConnectTimeout
}

// connect opens a session; ctx bounds it.
func connect(ctx context.Context, t driver.Target) (*pgconn.PgConn, *readCounter, error) {
	config, counter, err := configure(t)
	if err != nil {
		return nil, nil, err
	}
	pg, cerr := pgconn.ConnectConfig(ctx, config)
	if cerr != nil {
		return nil, nil, connectError(ctx, t, cerr)
	}
	return pg, counter, nil
}

// closeNow ends a session without waiting for the server for longer than a second.
func closeNow(pg *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return pg.Close(ctx)
}

// verbName is a verb as people write it.
func verbName(v driver.Verb) string {
	names := map[driver.Verb]string{
		driver.SQL: "SQL", driver.Begin: "BEGIN", driver.Commit: "COMMIT", driver.Rollback: "ROLLBACK",
		driver.Call: "call", driver.Eval: "eval", driver.Select: "select", driver.Insert: "insert",
		driver.Replace: "replace", driver.Update: "update", driver.Upsert: "upsert", driver.Delete: "delete",
		driver.Read: "read", driver.Scan: "scan", driver.Command: "command", driver.HTTP: "http", driver.Batch: "batch",
	}
	if n, ok := names[v]; ok {
		return n
	}
	return fmt.Sprintf("verb %d", v)
}

// oneLine makes text fit for a one-line message: white space is folded, length is bounded, and
// the secret, if it is long enough to be told from ordinary words, is blotted out.
func oneLine(text, secret string) string {
	if len(secret) >= 3 {
		text = strings.ReplaceAll(text, secret, "…")
	}
	text = strings.Join(strings.Fields(text), " ")
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
