package postgres

import (
	"context"
	"fmt"
	"io"
	"time"

	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Takes refuses programs with verbs that the protocol lacks.
func (*Driver) Takes(_ protocol.Target, p *protocol.Program) (why string, ok bool) {
	if refused := planned(p).refused; refused != nil {
		return refused.Text, false
	}
	return "", true
}

// Open opens and prepares a session with the library, as Dial does, and then takes the connection from the
// library.
func (d *Driver) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	pg, statements, err := open(ctx, t, p)
	if err != nil {
		return protocol.CodecConn{}, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	fail := func(what string, err error) (protocol.CodecConn, error) {
		pg.Conn().Close()
		return protocol.CodecConn{}, &protocol.Error{Class: protocol.Connect, Fatal: true, Err: err,
			Text: protocol.Line(fmt.Sprintf("can't take over the connection to %s: %s: %v", t.Address, what, err), t.Password)}
	}
	if err := pg.SyncConn(ctx); err != nil { // nothing may remain in the library's buffer
		return fail("settle it", err)
	}
	hijacked, err := pg.Hijack()
	if err != nil {
		return fail("hijack", err)
	}
	if err := hijacked.Conn.SetDeadline(time.Time{}); err != nil {
		return fail("settle it", err)
	}
	own := &codec{statements: statements, secret: t.Password, program: planned(p)}
	return protocol.CodecConn{Net: hijacked.Conn, Codec: own, Cancel: canceler(hijacked, t.Way != nil)}, nil
}

// canceler returns a function that sends a CancelRequest for a session, or nil if the server gave no key for it.
// The server closes the request's connection once it has signalled the session. detour says that connections take
// another way to the server, for instance a proxy: the session's remote address isn't the server's then.
func canceler(h *pgconn.HijackedConn, detour bool) func(ctx context.Context) {
	if h.PID == 0 && len(h.SecretKey) == 0 {
		return nil // the server gave no key to cancel by
	}
	pid, key, dial := h.PID, h.SecretKey, h.Config.DialFunc // copy only these fields, because every session keeps them
	network, address := h.Conn.RemoteAddr().Network(), h.Conn.RemoteAddr().String()
	if detour || network == "unix" { // the server's name for its socket may be relative
		network, address = pgconn.NetworkAddress(h.Config.Host, h.Config.Port)
	}
	return func(ctx context.Context) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return
		}
		defer c.Close()
		stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
		defer stop()
		request, _ := (&pgproto3.CancelRequest{ProcessID: pid, SecretKey: key}).Encode(nil)
		if _, err := c.Write(request); err == nil {
			io.Copy(io.Discard, c)
		}
	}
}
