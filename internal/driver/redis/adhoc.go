package redis

import (
	"context"

	"brunt/internal/driver"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a command ready that isn't part of the session's program.
func (c *conn) Add(_ context.Context, req *driver.Request) error {
	r, err := prepareOne(req)
	if err != nil {
		return driver.Refused(req, "%v", err)
	}
	if req.ID < len(c.requests) {
		c.requests[req.ID] = r
	} else {
		c.requests = append(c.requests, r)
	}
	return nil
}
