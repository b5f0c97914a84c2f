// Package noop is a protocol that answers at once, without a server. It shows what the generator
// itself costs: choosing operations, making arguments, keeping time and recording.
package noop

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/gen"
)

// Driver is the protocol. It has no sockets, so that there is nothing for an event loop to drive.
type Driver struct{}

var _ driver.Driver = Driver{}

// Name is "noop".
func (Driver) Name() string { return "noop" }

// Dial opens a session, whatever the target and the program.
func (Driver) Dial(ctx context.Context, _ driver.Target, _ *driver.Program) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, &driver.Error{Class: driver.Connect, Text: err.Error(), Fatal: true, Err: err}
	}
	return conn{}, nil
}

// Describe says that there is no server.
func (Driver) Describe(context.Context, driver.Target) (driver.ServerInfo, error) {
	return driver.ServerInfo{Product: "noop (no server)"}, nil
}

type conn struct{}

// Do succeeds. Captured values are the request's first parameters.
func (conn) Do(ctx context.Context, _ *driver.Request, args []gen.Value, reply *driver.Reply) {
	if ctx.Err() != nil {
		reply.Failure = driver.Failure{Class: driver.Timeout, Text: "the operation's time was up before it began"}
		return
	}
	reply.Rows = 1
	for i := range reply.Captured {
		if i < len(args) {
			reply.Captured[i].Set(&args[i])
		}
	}
}

// Close does nothing.
func (conn) Close() error { return nil }
