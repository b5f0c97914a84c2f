package mysql

import (
	"context"
	sqldriver "database/sql/driver"

	"brunt/internal/driver"
	"brunt/internal/driver/sqlconn"
	"brunt/internal/gen"
)

// Admin opens a session for set-up. Chunks are loaded in one transaction each.
func (d *Driver) Admin(ctx context.Context, t driver.Target) (driver.Admin, error) {
	s, refused := open(ctx, t)
	if refused != nil {
		return nil, refused
	}
	return s.admin(), nil
}

// loadParameters is how many parameters one INSERT has; the protocol takes at most 65 535.
const loadParameters = 4000

func (s *session) admin() driver.Admin {
	return sqlconn.NewAdmin(s, sqlconn.Dialect{
		Quote: quote, Begin: "START TRANSACTION", Replace: "REPLACE", Parameters: loadParameters,
		Argument: func(v *gen.Value) (sqldriver.Value, *driver.Error) { return argument(v), nil },
	})
}

// Failure classifies what the library returned outside of programs.
func (s *session) Failure(ctx context.Context, err error) *driver.Error {
	return s.failure(ctx, nil, err)
}
