package dynamodb

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/driver/kv"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a request ready that isn't part of the session's program.
func (c *conn) Add(_ context.Context, req *driver.Request) error {
	r, refused := kv.Parse(req)
	if refused == nil {
		refused = admit(req, &r)
	}
	if refused != nil {
		return refused
	}
	all, err := kv.Add(c.requests, req)
	c.requests = all
	return err
}
