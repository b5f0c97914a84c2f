package postgres

import (
	"context"

	"brunt/internal/driver"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a statement ready that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, req *driver.Request) error {
	st, why := planOne(req)
	if why != "" {
		return driver.Refused(req, "%s", why)
	}
	replaces := req.ID < len(c.statements)
	if replaces && c.statements[req.ID].prepared != nil {
		if err := c.pg.Deallocate(ctx, st.name()); err != nil {
			return libraryError(ctx, nil, err, c.pg.IsClosed(), c.secret)
		}
	}
	if refused := st.prepare(ctx, c.pg, c.secret); refused != nil {
		return refused
	}
	if replaces {
		c.statements[req.ID] = st
	} else {
		c.statements = append(c.statements, st)
	}
	return nil
}
