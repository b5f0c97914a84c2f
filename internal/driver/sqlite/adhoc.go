package sqlite

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/driver/sqlconn"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a statement ready that isn't part of the session's program.
func (c *conn) Add(_ context.Context, req *driver.Request) error {
	var st statement
	if err := st.prepare(c.session, req); err != nil {
		return err
	}
	c.statements = sqlconn.Put(c.statements, req.ID, st, func(old *statement) { old.Close() })
	return nil
}
