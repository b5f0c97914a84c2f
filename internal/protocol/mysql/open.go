package mysql

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"brunt/internal/base/sqltext"
	"brunt/internal/protocol"
)

var _ protocol.CodecDriver = (*Driver)(nil)

// Takes refuses what only the library does: TLS, requests on records, and captured values.
func (*Driver) Takes(t protocol.Target, p *protocol.Program) (why string, ok bool) {
	if t.TLS != nil {
		return "TLS needs the library tier", false
	}
	for i := range p.Requests {
		r := &p.Requests[i]
		switch {
		case r.Verbatim && (len(r.Params) == 0 || r.Unnamed):
			return "a statement whose text is an argument has that argument first, and is sent as text", false
		case r.CaptureAll != protocol.NoRow && r.CaptureAll != protocol.AllRows:
			return "columns of one row can't be captured as a whole", false
		case len(r.Capture) > 0:
			return "values of answers are captured by the library tier", false
		case r.Verb == protocol.Begin && strings.TrimSpace(r.Text) != "":
			return "transactions with an isolation level need the library tier", false
		case r.Verb != protocol.SQL && !r.Frames():
			return "requests on records need the library tier", false
		}
	}
	return "", true
}

// byCodec reports whether only the codec can send a request, whether from event loops or not.
func byCodec(r protocol.Request) bool { return r.Verbatim || r.CaptureAll != protocol.NoRow }

// Open opens a session with the library, takes the connection from it, and prepares the program.
func (d *Driver) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	s, refused := open(ctx, t)
	if refused != nil {
		return protocol.CodecConn{}, refused
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	if err := s.numbered(ctx); err != nil {
		s.Close()
		return protocol.CodecConn{}, err
	}
	if err := s.first(ctx, t); err != nil {
		s.Close()
		return protocol.CodecConn{}, err
	}
	link, number := s.link, s.number
	s.wire.leave()
	s.Close() // of the library's state only
	c := &codec{secret: t.Password, link: s.wire.capabilities(), statements: make([]codecStatement, len(p.Requests))}
	if deadline, ok := ctx.Deadline(); ok {
		link.SetDeadline(deadline)
	}
	if err := c.prepare(ctx, link, p); err != nil {
		link.Close()
		return protocol.CodecConn{}, err
	}
	link.SetDeadline(time.Time{})
	return protocol.CodecConn{Net: link, Codec: c, Cancel: func(ctx context.Context) { d.kill(ctx, t, number) }}, nil
}

// wire is the connection that the library has. It notes what client and server agree on, and once the session has
// left it, the library writes and closes nothing.
type wire struct {
	net.Conn
	sent []byte // the beginning of what the client has sent: its answer to the server's greeting
	left bool
}

// Offsets in the client's first packet, after its header.
const (
	flagsAt     = packetHeader
	extendedAt  = packetHeader + 28 // MariaDB's further flags
	helloLength = packetHeader + 32

	clientMySQL        = 1       // the server isn't MariaDB, or says so
	clientDeprecateEOF = 1 << 24 // see capabilities
	clientMetadata     = 1 << 4  // of MariaDB's further flags: see capabilities
)

func (w *wire) Write(b []byte) (int, error) {
	if w.left {
		return len(b), nil
	}
	if len(w.sent) < helloLength {
		w.sent = append(w.sent, b[:min(len(b), helloLength-len(w.sent))]...)
	}
	return w.Conn.Write(b)
}

// Close closes the connection unless the session has left it.
func (w *wire) Close() error {
	if w.left {
		return nil
	}
	return w.Conn.Close()
}

// SetDeadline has no effect once the session has left.
func (w *wire) SetDeadline(t time.Time) error {
	if w.left {
		return nil
	}
	return w.Conn.SetDeadline(t)
}

// NetConn returns the connection itself.
func (w *wire) NetConn() net.Conn { return w.Conn }

// leave takes the connection from the library.
func (w *wire) leave() { w.left = true }

// capabilities returns what client and server have agreed on.
func (w *wire) capabilities() (c capabilities) {
	if len(w.sent) < helloLength {
		return c
	}
	flags := binary.LittleEndian.Uint32(w.sent[flagsAt:])
	c.deprecateEOF = flags&clientDeprecateEOF != 0
	c.cacheMetadata = flags&clientMySQL == 0 && binary.LittleEndian.Uint32(w.sent[extendedAt:])&clientMetadata != 0
	return c
}

// prepare prepares the requests of a program.
func (c *codec) prepare(ctx context.Context, link net.Conn, p *protocol.Program) error {
	if _, err := c.exchange(ctx, link, packet(comPing, ""), nil); err != nil {
		return err
	}
	for i := range p.Requests {
		if err := c.prepareOne(ctx, link, &p.Requests[i], &c.statements[i]); err != nil {
			err.Text = fmt.Sprintf("request %q: %s", p.Requests[i].Name, err.Text)
			return err
		}
	}
	return nil
}

func (c *codec) prepareOne(ctx context.Context, link net.Conn, r *protocol.Request,
	st *codecStatement) *protocol.Error {
	st.kind = r.Kind()
	switch r.Verb {
	case protocol.Begin:
		st.query = packet(comQuery, "START TRANSACTION")
		return nil
	case protocol.Commit:
		st.query = packet(comQuery, "COMMIT")
		return nil
	case protocol.Rollback:
		st.query = packet(comQuery, "ROLLBACK")
		return nil
	}
	st.all = r.CaptureAll == protocol.AllRows
	if r.Verbatim {
		st.verbatim, st.params = true, len(r.Params)
		return nil
	}
	text, order, refused := questionMarks(r.Text, len(r.Params))
	if refused != nil {
		return refused
	}
	st.order, st.params = order, len(r.Params)
	asText := func() {
		if len(order) == 0 {
			st.query = packet(comQuery, text)
			return
		}
		st.pieces = splitAtMarks(text)
	}
	if r.Simple || st.all { // prepared statements answer in another form
		asText()
		return nil
	}
	var reply protocol.Reply
	st.id, refused = c.exchange(ctx, link, packet(comPrepare, text), &reply)
	switch {
	case refused == nil && int(reply.Affected) != len(order):
		return protocol.Bad("the server sees %d parameters in the statement, the plan gives %d", reply.Affected, len(order))
	case refused != nil && r.ExpectError && refused.Class == protocol.Server && !refused.Fatal:
		asText()
		return nil
	}
	return refused
}

// splitAtMarks splits a statement at its question marks outside of quotes and comments.
func splitAtMarks(text string) (pieces []string) {
	piece := ""
	for _, t := range sqltext.Split(text) {
		if t.Kind == sqltext.Mark {
			pieces, piece = append(pieces, piece), ""
			continue
		}
		piece += t.Text
	}
	return append(pieces, piece)
}

// exchange sends a packet and reads the answer to COM_PING (prepared is nil) or COM_STMT_PREPARE, of which it returns
// the statement's number and, as prepared.Affected, that of its parameters.
func (c *codec) exchange(ctx context.Context, link net.Conn, out []byte, prepared *protocol.Reply) (id uint32,
	refused *protocol.Error) {
	lost := func(err error) (uint32, *protocol.Error) {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return 0, protocol.ConnectError("the connection broke while statements were prepared: "+
			protocol.Line(err.Error(), c.secret), "", err)
	}
	stop := context.AfterFunc(ctx, func() { link.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := link.Write(out); err != nil {
		return lost(err)
	}
	b, err := readPacket(link)
	if err != nil {
		return lost(err)
	}
	var reply protocol.Reply
	switch {
	case len(b) > 0 && b[0] == headerERR:
		if v := c.failed(b, &reply); v != "" {
			return lost(errors.New(string(v)))
		}
		return 0, reply.Failure.Err()
	case prepared == nil:
		if _, v := c.first(b, &reply); v != "" {
			return lost(errors.New(string(v)))
		}
		c.answer = answer{}
		return 0, nil
	case len(b) < 9 || b[0] != headerOK:
		return lost(errors.New(string(violated)))
	}
	columns, params := binary.LittleEndian.Uint16(b[5:]), binary.LittleEndian.Uint16(b[7:])
	prepared.Affected = int64(params)
	follow := 0
	for _, n := range []uint16{params, columns} {
		if follow += int(n); n > 0 && !c.link.deprecateEOF {
			follow++
		}
	}
	id = binary.LittleEndian.Uint32(b[1:])
	for range follow {
		if _, err := readPacket(link); err != nil {
			return lost(err)
		}
	}
	return id, nil
}

// readPacket reads a packet.
func readPacket(r io.Reader) ([]byte, error) {
	var header [packetHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	b := make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
	_, err := io.ReadFull(r, b)
	return b, err
}

// kill makes the server stop what it is running for a session that was given up. It reports whether the server was
// asked: there may be no connection free for that. Killing the connection, and not only its statement, has an effect
// whether the statement has begun or not.
func (d *Driver) kill(ctx context.Context, t protocol.Target, number string) bool {
	s, refused := open(ctx, t)
	if refused != nil {
		return false
	}
	defer s.Close()
	s.ExecContext(ctx, "KILL "+number, nil) // an error says that the session is gone, or that it can't be killed
	return true
}
