package iproto

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/wire"
)

var _ wire.Unordered = (*Driver)(nil)

// Unordered marks the protocol: a server works on the requests of one connection concurrently and
// answers a quick one before a slow one that was sent earlier.
func (*Driver) Unordered() {}

// Takes refuses what Dial refuses too.
func (*Driver) Takes(t driver.Target, p *driver.Program) (why string, ok bool) {
	if _, err := admit(t, p); err != nil {
		return err.Text, false
	}
	return "", true
}

// Takeover opens and prepares a session over a plain connection within Target.ConnectTimeout, then
// gives up its socket.
func (d *Driver) Takeover(ctx context.Context, t driver.Target, p *driver.Program) (wire.Session, error) {
	o, err := admit(t, p)
	if err != nil {
		return wire.Session{}, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	l, err := dialLink(ctx, t)
	if err != nil {
		return wire.Session{}, err
	}
	defer l.Close()
	statements, err := compile(ctx, l, o, p)
	if err != nil {
		return wire.Session{}, err
	}
	extra, _ := l.in.Peek(l.in.Buffered())
	fd, detach := wire.Detach(l.conn)
	if detach != nil {
		return wire.Session{}, connectError(ctx, t, detach)
	}
	return wire.Session{FD: fd, Codec: &codec{statements: statements, sent: l.sync, answered: l.sync}, Extra: extra}, nil
}
