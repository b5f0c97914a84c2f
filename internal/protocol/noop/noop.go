// Package noop is a protocol that answers at once, without a server. It shows the cost of the generator itself:
// choosing operations, generating arguments, keeping time and recording.
//
// Options of a target, for tests:
//
//	delay        time that every request takes, such as "5ms"
//	delay_up_to  every request takes a random time from delay up to this
package noop

import (
	"context"
	"math/rand/v2"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Driver is the protocol "noop". It has no codec, because there are no sockets for event loops.
type Driver struct{}

var _ protocol.Driver = Driver{}

// Name returns "noop".
func (Driver) Name() string { return "noop" }

// Dial opens a session. It accepts any address and any program.
func (Driver) Dial(ctx context.Context, t protocol.Target, _ *protocol.Program) (protocol.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, &protocol.Error{Class: protocol.Connect, Text: err.Error(), Fatal: true, Err: err}
	}
	read := protocol.OptionsOf("noop", t)
	delay, upTo := read.Duration("delay", 0), read.Duration("delay_up_to", 0)
	if refused := read.Done(); refused != nil {
		return nil, refused
	}
	c := conn{delay, max(delay, upTo)}
	return c, nil
}

// Describe reports that there is no server.
func (Driver) Describe(context.Context, protocol.Target) (protocol.ServerInfo, error) {
	return protocol.ServerInfo{Product: "noop (no server)"}, nil
}

// conn is a session whose requests take from least to most.
type conn struct{ least, most time.Duration }

// wait waits for the duration of a request. It returns false if ctx ended first.
func (c conn) wait(ctx context.Context) bool {
	d := c.least
	if c.most > c.least {
		d += time.Duration(rand.Int64N(int64(c.most - c.least)))
	}
	return protocol.Sleep(ctx, d)
}

// Do succeeds. The captured values are the request's first parameters.
func (c conn) Do(ctx context.Context, _ *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	if !c.wait(ctx) {
		reply.Failure = protocol.Failure{Class: protocol.Timeout, Text: "the operation's time was up before it was done"}
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
