package sqlite

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/driver/sqlconn"
	"brunt/internal/sqltext"
)

// loadParameters is how many parameters one INSERT has; more don't make it faster.
const loadParameters = 900

// Admin opens a session for set-up. Chunks are loaded in one transaction each.
func (d *Driver) Admin(ctx context.Context, t driver.Target) (driver.Admin, error) {
	s, err := d.open(ctx, t)
	if err != nil {
		return nil, err
	}
	return sqlconn.NewAdmin(s, sqlconn.Dialect{
		Quote: sqltext.Quote, Begin: "BEGIN IMMEDIATE", Replace: "INSERT OR REPLACE", Parameters: loadParameters, Argument: argument,
	}), nil
}

// Failure classifies what the library returned.
func (*session) Failure(ctx context.Context, err error) *driver.Error { return failure(ctx, err) }
