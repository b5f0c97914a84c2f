package kv

import (
	"context"

	"brunt/internal/driver"
)

// Add understands a request more, for driver.AdHoc: one whose ID is that of one of all takes its place.
func Add(all []Request, req *driver.Request) ([]Request, error) {
	r, refused := Parse(req)
	if refused != nil {
		return all, driver.Refused(req, "%s", refused.Text)
	}
	if req.ID < len(all) {
		all[req.ID] = r
		return all, nil
	}
	return append(all, r), nil
}

var _ driver.AdHoc = (*Session)(nil)

// Add makes a request ready that isn't part of the session's program.
func (s *Session) Add(_ context.Context, req *driver.Request) (err error) {
	s.requests, err = Add(s.requests, req)
	return err
}
