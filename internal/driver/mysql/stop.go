package mysql

import (
	"context"
	"strconv"
	"time"

	"brunt/internal/driver"
)

const (
	// stopWithin bounds how long a server is asked to stop a statement.
	stopWithin = 2 * time.Second
	// stopsAtOnce bounds how many servers' connections are taken for that at a time.
	stopsAtOnce = 8
)

// numbered asks the server for the session's number, by which it can be stopped.
func (s *session) numbered(ctx context.Context) error {
	return s.admin().Query(ctx, "SELECT CONNECTION_ID()", func(v []*string) error {
		s.number = *v[0]
		return nil
	})
}

// stop has the server stop what it does for a session that was given up: it wouldn't notice the
// connection's end before the statement's. It doesn't wait for that.
func (d *Driver) stop(t driver.Target, number string) {
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		select {
		case d.stopping <- struct{}{}:
			defer func() { <-d.stopping }()
		case <-ctx.Done():
			return
		}
		if s, refused := open(ctx, t); refused == nil {
			defer s.Close()
			s.ExecContext(ctx, "KILL "+number, nil)
		}
	}()
}
