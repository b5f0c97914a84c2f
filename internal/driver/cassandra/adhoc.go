package cassandra

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/driver/kv"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a request ready that isn't part of the session's program.
func (c *conn) Add(_ context.Context, req *driver.Request) error {
	all, err := kv.Add(c.requests, req)
	if err != nil {
		return err
	}
	c.requests = all
	statement := statementOf(&all[req.ID])
	if req.ID < len(c.statements) {
		c.statements[req.ID] = statement
	} else {
		c.statements = append(c.statements, statement)
	}
	return nil
}
