package mongodb

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/driver/kv"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a request ready that isn't part of the session's program.
func (c *conn) Add(_ context.Context, req *driver.Request) (err error) {
	c.requests, err = kv.Add(c.requests, req)
	return err
}
