package mysql

import (
	"context"

	"brunt/internal/driver"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a statement ready that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, req *driver.Request) error {
	var st statement
	if refused := st.prepare(ctx, c.session, req); refused != nil {
		refused.Text = "request \"" + req.Name + "\": " + refused.Text
		return refused
	}
	if req.ID == len(c.statements) {
		c.statements = append(c.statements, st)
		return nil
	}
	if old := c.statements[req.ID].Prepared; old != nil {
		_ = old.Close() // it isn't used again
	}
	c.statements[req.ID] = st
	return nil
}
