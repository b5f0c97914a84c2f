// Package protocoltest holds protocols to their contract in tests: the same requests over every way of driving a
// codec and over other client libraries, and scans of one answer cut into pieces in every way.
package protocoltest

import (
	"context"
	"net"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// TB is what the helpers need of a test.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Take opens a blocking connection over a driver's codec that reads at most piece bytes at a time, so that answers
// arrive torn.
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

// Pieces is a connection that is read in small pieces.
type Pieces struct {
	net.Conn
	Most int // bytes that one read takes at most
}

// Read implements io.Reader.
func (p Pieces) Read(b []byte) (int, error) { return p.Conn.Read(b[:min(len(b), p.Most)]) }

// Within returns a context for one request.
func Within(t TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
