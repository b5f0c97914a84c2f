package postgres

import (
	"context"

	"brunt/internal/driver"

	"github.com/jackc/pgx/v5/pgconn"
)

// admin is a session for set-up.
type admin struct {
	pg       *pgconn.PgConn
	secret   string
	picodata bool
	noCopy   bool // the server has refused COPY before
}

// Admin opens a session for set-up within Target.ConnectTimeout. Its statements and loads last as
// long as their contexts let them.
func (d *Driver) Admin(ctx context.Context, t driver.Target) (driver.Admin, error) {
	bounded, cancel := t.Connecting(ctx)
	defer cancel()
	pg, _, err := connect(bounded, t)
	if err != nil {
		return nil, err
	}
	a := &admin{pg: pg, secret: t.Password}
	a.picodata = describeServer(bounded, pg).Product == "Picodata"
	a.noCopy = a.picodata
	return a, nil
}

// Exec runs a statement by the simple protocol.
func (a *admin) Exec(ctx context.Context, statement string) (int64, error) {
	results, err := a.pg.Exec(ctx, statement).ReadAll()
	if err != nil {
		return 0, a.failure(ctx, err)
	}
	n := int64(0)
	for _, r := range results {
		n += affected(r.CommandTag.String())
	}
	return n, nil
}

// Query runs a statement by the simple protocol; texts are as the server writes them. An error of
// row's ends the query and is returned as it is.
func (a *admin) Query(ctx context.Context, statement string, row func(values []*string) error) error {
	results := a.pg.Exec(ctx, statement)
	var refused error
	for results.NextResult() {
		rows := results.ResultReader()
		for rows.NextRow() {
			if refused != nil {
				continue
			}
			values := make([]*string, len(rows.Values()))
			for i, b := range rows.Values() {
				if b != nil {
					s := string(b)
					values[i] = &s
				}
			}
			refused = row(values)
		}
	}
	if err := results.Close(); err != nil {
		return a.failure(ctx, err)
	}
	return refused
}

// Close ends the session; it is safe to call twice.
func (a *admin) Close() error {
	if a.pg.IsClosed() {
		return nil
	}
	return closeNow(a.pg)
}

func (a *admin) failure(ctx context.Context, err error) *driver.Error {
	return libraryError(ctx, nil, err, a.pg.IsClosed(), a.secret)
}
