// Package grpc calls methods of gRPC servers (protocol.GRPC) with a codec of its own over package http2: on event loops
// without TLS, and over blocking connections with TLS. Any number of calls may be in flight on a connection.
//
// Methods are described by the server's reflection service (grpc.reflection.v1 or v1alpha), by .proto files, or by
// descriptor sets. Messages are JSON (protobuf's JSON mapping) with parameters. They are compiled once: a request is
// then an append of constant bytes and arguments.
//
// Options of a target:
//
//	proto        comma-separated .proto files that describe the methods
//	import       comma-separated folders in which they, and what they import, are looked for
//	protoset     comma-separated files with a FileDescriptorSet. Without proto and protoset, the server is asked.
//	authority    the :authority of requests, if it isn't the address
//	reflect.NAME a value of metadata that the server's reflection service is asked with, and nothing else
//	reflect_port the port of the reflection service, if it isn't that of the address
//	compression  "gzip": messages are compressed, and answers may be; "off" (default)
//	codec        "off": always use the library tier; "on" (default)
//
// Captures are paths of fields of the answer's first message, such as user.emails.0.address.
package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/status"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/grpc/methods"
	"brunt/internal/protocol/http2"
	"brunt/internal/protocol/socket"
)

// Driver is the protocol "grpc". It is safe for concurrent use.
type Driver struct{}

var (
	_ protocol.Driver      = (*Driver)(nil)
	_ protocol.CodecDriver = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name returns "grpc".
func (*Driver) Name() string { return "grpc" }

// Takes reports whether the codec can run the program over this target.
func (d *Driver) Takes(t protocol.Target, p *protocol.Program) (why string, ok bool) {
	o, refused := check(t, p)
	switch {
	case refused != nil:
		return refused.Text, false
	case !o.codec:
		return "option codec=off", false
	}
	return "", true
}

// Dial opens a blocking session.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	c, err := blocking.Dial(ctx, d, t, p)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Open connects, with TLS if the target has it, and exchanges settings.
func (d *Driver) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	plan, refused := prepare(ctx, t, p)
	if refused != nil {
		return protocol.CodecConn{}, refused
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	nc, err := socket.Secure(ctx, t.Address, secured(t))
	if err != nil {
		return protocol.CodecConn{}, protocol.Unconnected(err)
	}
	c := newCodec(plan)
	extra, err := c.Greet(ctx, nc)
	if wrong, ok := errors.AsType[http2.Mismatch](err); ok {
		without := ", and without TLS"
		if t.TLS != nil {
			without = ""
		}
		err = fmt.Errorf("%w; is it a gRPC server%s?", wrong, without)
	}
	if err != nil {
		nc.Close()
		return protocol.CodecConn{}, protocol.Unconnected(socket.Explain(ctx, t.Address, err))
	}
	return protocol.CodecConn{Net: nc, Codec: c, Extra: extra}, nil
}

// secured returns the TLS configuration of connections; nil for none.
func secured(t protocol.Target) *tls.Config {
	if t.TLS == nil {
		return nil
	}
	config := t.TLS.Clone()
	config.NextProtos = []string{"h2"}
	return config
}

// Describe asks the server for its services and its health.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	o, refused := check(t, &protocol.Program{})
	if refused != nil {
		return protocol.ServerInfo{}, refused
	}
	c, err := d.Open(ctx, t, &protocol.Program{})
	switch {
	case err == nil:
		c.Net.Close()
	case protocol.AsError(err).Class == protocol.Connect:
		return protocol.ServerInfo{}, err
	}
	info := protocol.ServerInfo{Product: "gRPC server", Settings: map[string]string{}}
	_, names, err := methods.Reflect(methods.With(ctx, o.reflection), o.asked(t), o.authority, nil)
	switch {
	case err == nil:
		info.Settings["services"] = strings.Join(names, ", ")
	case status.Code(err) == methods.Unknown:
		info.Settings["services"] = "unknown: the server has no reflection"
	}
	info.Settings["health"] = methods.HealthOf(ctx, t, o.authority)
	return info, nil
}
