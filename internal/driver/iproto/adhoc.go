package iproto

import (
	"context"

	"brunt/internal/driver"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a request ready that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, r *driver.Request) error {
	p := &driver.Program{Requests: []driver.Request{*r}}
	if err := check(p); err != nil {
		return err
	}
	list, err := compile(ctx, c, c.options, p)
	if err != nil {
		return err
	}
	if r.ID < len(c.statements) {
		c.statements[r.ID] = list[0]
	} else {
		c.statements = append(c.statements, list[0])
	}
	return nil
}
