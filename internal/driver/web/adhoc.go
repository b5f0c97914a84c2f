package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"brunt/internal/driver"
	"brunt/internal/gen"
)

var _ driver.AdHoc = (*conn)(nil)

// Add makes a request ready that isn't part of the session's program. Other sessions' programs stay as
// they are.
func (c *conn) Add(_ context.Context, req *driver.Request) error {
	r, err := c.driver.prepareOne(c.target, c.plan.options, req)
	if err != nil {
		return driver.Refused(req, "%v", err)
	}
	own := *c.plan
	own.requests = driver.Put(slices.Clone(own.requests), req.ID, r)
	for len(c.seen) < len(own.requests) {
		c.seen = append(c.seen, 0)
	}
	own.origins = originsOf(own.requests)
	c.plan = &own
	return nil
}

// give passes an answer to Reply.Each: one row of its status, header and body.
func (c *conn) give(response *http.Response, body []byte, reply *driver.Reply) {
	header := make(map[string]string, len(response.Header))
	for name := range response.Header {
		header[name] = response.Header.Get(name)
	}
	var row [3]gen.Value
	row[0].SetInt(int64(response.StatusCode))
	row[1].Kind = gen.JSON
	row[1].B, _ = json.Marshal(header) // texts only
	row[2].SetString(string(body))
	reply.Each([]string{"status", "headers", "body"}, row[:])
}
