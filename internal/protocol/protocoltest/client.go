// Package protocoltest checks in tests that protocols fulfil their contract. It sends the same requests over
// each way of driving a codec and over other client libraries, and scans answers that are cut into pieces in
// every way.
package protocoltest

import (
	"context"
	"net"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// TB is the part of testing.TB that the helpers need.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// errorTB is the part of testing.TB that helpers need which report several failures.
type errorTB interface {
	TB
	Errorf(format string, args ...any)
}

// Take opens a blocking connection over a driver's codec. Each read returns at most piece bytes, so that answers
// arrive in pieces.
func Take(t TB, d protocol.CodecDriver, target protocol.Target, program *protocol.Program, piece int) *blocking.Conn {
	t.Helper()
	if why, ok := d.Takes(target, program); !ok {
		t.Fatalf("the codec doesn't take the program: %s", why)
	}
	o, err := d.Open(context.Background(), target, program)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	o.Net = Pieces{o.Net, piece}
	c := blocking.New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// Pieces is a connection whose reads return few bytes.
type Pieces struct {
	net.Conn
	Most int // maximum number of bytes per read
}

// Read implements io.Reader.
func (p Pieces) Read(b []byte) (int, error) { return p.Conn.Read(b[:min(len(b), p.Most)]) }

// Within returns a context with timeout d.
func Within(t TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
