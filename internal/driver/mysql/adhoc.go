package mysql

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/driver/sqlconn"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a statement ready that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, req *driver.Request) error {
	var st statement
	if refused := st.prepare(ctx, c.session, req); refused != nil {
		refused.Text = "request \"" + req.Name + "\": " + refused.Text
		return refused
	}
	c.statements = sqlconn.Put(c.statements, req.ID, st, func(old *statement) { old.Close() })
	return nil
}
