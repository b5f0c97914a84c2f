package iproto

import (
	"context"
	"errors"
	"io"

	"brunt/internal/gen"
	"brunt/internal/protocol"

	iproto "github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// conn is a session of the library tier.
type conn struct {
	library    *tarantool.Connection
	statements []statement
	options    options
	buffer     []byte
}

// quiet keeps the library from writing to standard error; failures reach the caller anyway.
type quiet struct{}

// Report implements tarantool.Logger.
func (quiet) Report(tarantool.ConnLogKind, *tarantool.Connection, ...any) {}

func dialLibrary(ctx context.Context, t protocol.Target) (*conn, *protocol.Error) {
	c, err := Connect(ctx, t, tarantool.Opts{SkipSchema: true, Concurrency: 1})
	return &conn{library: c}, err
}

// Connect opens a connection of the library within Target.ConnectTimeout and says in the words of people
// why it couldn't.
func Connect(ctx context.Context, t protocol.Target, o tarantool.Opts) (*tarantool.Connection, *protocol.Error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	o.Logger = quiet{}
	c, err := tarantool.Connect(ctx, tarantool.NetDialer{Address: t.Address, User: t.User, Password: t.Password}, o)
	if err == nil {
		return c, nil
	}
	// The library's texts say little: a connection of our own finds out what is wrong.
	l, failure := dialLink(ctx, t)
	if failure != nil {
		return nil, failure
	}
	l.Close()
	return nil, connectError(ctx, t, err)
}

// Unanswered is the failure of a request that the library has no answer to. r says what it may have done.
func Unanswered(ctx context.Context, r *protocol.Request, err error) *protocol.Error {
	var client tarantool.ClientError
	if !errors.As(err, &client) {
		return protocol.Unanswered(ctx, r, err, "")
	}
	switch client.Code {
	case tarantool.ErrTimeouted:
		return protocol.Late(r)
	case tarantool.ErrConnectionNotReady, tarantool.ErrRateLimited:
		return &protocol.Error{Class: protocol.Connect, Text: "it wasn't sent: " + protocol.Line(client.Msg, ""), Err: err}
	case tarantool.ErrProtocolError:
		return &protocol.Error{Class: protocol.Protocol, Text: protocol.Line(client.Msg, ""), Fatal: true, Err: err}
	}
	return protocol.Unanswered(ctx, r, err, "")
}

// raw is a request whose body is ready.
type raw struct {
	kind byte
	body []byte
}

var _ tarantool.Request = raw{}

// Type implements tarantool.Request.
func (r raw) Type() iproto.Type { return iproto.Type(r.kind) }

// Body implements tarantool.Request.
func (r raw) Body(_ tarantool.SchemaResolver, e *msgpack.Encoder) error {
	return e.Encode(msgpack.RawMessage(r.body))
}

// Ctx implements tarantool.Request. There is none: the caller waits with its own.
func (raw) Ctx() context.Context { return nil }

// Async implements tarantool.Request.
func (raw) Async() bool { return false }

// Response implements tarantool.Request.
func (raw) Response(header tarantool.Header, body io.Reader) (tarantool.Response, error) {
	b, err := io.ReadAll(body)
	return &rawResponse{header, b}, err
}

// rawResponse is an answer whose body hasn't been read.
type rawResponse struct {
	header tarantool.Header
	body   []byte
}

// Header implements tarantool.Response.
func (r *rawResponse) Header() tarantool.Header { return r.header }

// Decode implements tarantool.Response; nobody calls it.
func (r *rawResponse) Decode() ([]any, error) { return nil, errors.New("the answer is raw") }

// DecodeTyped implements tarantool.Response; nobody calls it.
func (r *rawResponse) DecodeTyped(any) error { return errors.New("the answer is raw") }

func (r *rawResponse) code() uint32 {
	if r.header.Error == iproto.ER_UNKNOWN {
		return 0
	}
	return errorBit | uint32(r.header.Error)
}

// exchange sends a request through the library and waits.
func (c *conn) exchange(ctx context.Context, req *protocol.Request, r raw) (*rawResponse, *protocol.Error) {
	future := c.library.Do(r)
	select {
	case <-future.WaitChan():
	case <-ctx.Done():
		c.Close()
		return nil, protocol.Unanswered(ctx, req, ctx.Err(), "")
	}
	response, err := future.GetResponse()
	if err == nil {
		return response.(*rawResponse), nil
	}
	var client tarantool.ClientError
	if errors.As(err, &client) && c.library.ClosedNow() {
		switch client.Code {
		case tarantool.ErrConnectionClosed, tarantool.ErrConnectionNotReady, tarantool.ErrConnectionShutdown:
			return nil, &protocol.Error{Class: protocol.UnknownOutcome, Text: "the connection is closed: " + protocol.Line(client.Msg, ""), Fatal: true, Err: err}
		}
	}
	return nil, Unanswered(ctx, req, err)
}

func (c *conn) ask(ctx context.Context, kind byte, request []byte) (uint32, []byte, *protocol.Error) {
	r, err := c.exchange(ctx, nil, raw{kind, request})
	if err != nil {
		return 0, nil, err
	}
	return r.code(), r.body, nil
}

// frameSize is what every Tarantool puts before an answer's body: five bytes of length and a
// header of three keys in formats of fixed size (iproto_reply's layout). The library keeps only
// the body.
const frameSize = 5 + 23

// Do executes a request of the program.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	s := &c.statements[req.ID]
	if c.library.ClosedNow() {
		reply.Fail(&protocol.Error{Class: protocol.Connect, Text: "the connection is closed", Fatal: true})
		return
	}
	for n := 0; ; n++ {
		body := c.execute(ctx, req, s, args, reply)
		if !reply.Again || n == againAtMost {
			if body != nil && reply.Each != nil {
				s.each(body, reply.Each)
			}
			return
		}
		reply.Reset(len(req.Capture))
	}
}

// againAtMost bounds how often a statement is prepared again for one request.
const againAtMost = 8

// execute sends a request, after preparing a stale statement again, and reads its answer, whose body it
// returns.
func (c *conn) execute(ctx context.Context, req *protocol.Request, s *statement, args []gen.Value, reply *protocol.Reply) (body []byte) {
	if s.mustRenew() {
		r, err := c.exchange(ctx, req, raw{typePrepare, s.renewal})
		if err == nil {
			err = s.renewed(r.body, r.code())
		}
		if err != nil {
			reply.Fail(err)
			return nil
		}
	}
	var err *protocol.Error
	if c.buffer, err = s.appendBody(c.buffer[:0], args); err != nil {
		reply.Fail(err)
		return nil
	}
	r, err := c.exchange(ctx, req, raw{s.code, c.buffer})
	if err != nil {
		reply.Fail(err)
		return nil
	}
	if s.answer(r.body, r.code(), reply) != fine {
		reply.Fail(protocolError("an answer makes no sense"))
		return nil
	}
	reply.BytesIn = int64(frameSize + len(r.body))
	return r.body
}

var _ protocol.AdHoc = (*conn)(nil)

// Add makes a request ready that isn't part of the session's program.
func (c *conn) Add(ctx context.Context, r *protocol.Request) error {
	p := &protocol.Program{Requests: []protocol.Request{*r}}
	if err := check(p); err != nil {
		return err
	}
	list, err := compile(ctx, c, c.options, p)
	if err != nil {
		return err
	}
	c.statements = protocol.Put(c.statements, r.ID, list[0])
	return nil
}

// Close ends the session; it is safe to call twice.
func (c *conn) Close() error {
	if c.library.ClosedNow() {
		return nil
	}
	err := c.library.Close()
	var client tarantool.ClientError
	if errors.As(err, &client) && client.Code == tarantool.ErrConnectionClosed {
		return nil
	}
	return err
}
