package iproto

import (
	"context"
	"errors"

	"github.com/tarantool/go-tarantool/v2"

	"brunt/internal/driver"
	"brunt/internal/gen"
)

// What follows is for others who speak the protocol over the library's connections.

// AppendValue writes a value in the format that Tarantool has for its kind; JSON is sent as text.
func AppendValue(dst []byte, v *gen.Value) ([]byte, *driver.Error) { return appendValue(dst, v) }

// ReadExtension sets v to a value of one of Tarantool's MessagePack extensions: a decimal, UUID or time.
// ok is false for others.
func ReadExtension(v *gen.Value, kind byte, b []byte) (ok bool) { return extension(v, kind, b) }

// ServerError is an error that the server answered with.
func ServerError(code uint32, message string) *driver.Error { return serverError(code, message) }

// Connect opens a connection of the library within Target.ConnectTimeout and says in the words of people
// why it couldn't.
func Connect(ctx context.Context, t driver.Target, o tarantool.Opts) (*tarantool.Connection, *driver.Error) {
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
func Unanswered(ctx context.Context, r *driver.Request, err error) *driver.Error {
	var client tarantool.ClientError
	if !errors.As(err, &client) {
		return driver.Unanswered(ctx, r, err, "")
	}
	switch client.Code {
	case tarantool.ErrTimeouted:
		return driver.Late(r)
	case tarantool.ErrConnectionNotReady, tarantool.ErrRateLimited:
		return &driver.Error{Class: driver.Connect, Text: "it wasn't sent: " + driver.Line(client.Msg, ""), Err: err}
	case tarantool.ErrProtocolError:
		return &driver.Error{Class: driver.Protocol, Text: driver.Line(client.Msg, ""), Fatal: true, Err: err}
	}
	return driver.Unanswered(ctx, r, err, "")
}
