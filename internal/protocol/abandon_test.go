package protocol_test

import (
	"context"
	"net"
	"testing"
	"time"

	"brunt/internal/protocol"
)

// A server is asked until it has closed the connection, also over a connection whose deadline has passed.
func TestAbandon(t *testing.T) {
	near, far := net.Pipe()
	near.SetDeadline(time.Unix(1, 0)) // of the operation that was given up
	asked := 0
	protocol.Abandon(t.Context(), near, func(ctx context.Context) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("a request to stop has no limit")
		}
		if asked++; asked == 3 {
			far.Close()
		}
	})
	if _, err := near.Write([]byte("x")); asked < 3 || err == nil {
		t.Errorf("asked %d times, want 3 or more; then a write ends with %v", asked, err)
	}
}

// Nobody waits longer than the context for a server that doesn't answer.
func TestAbandonEnds(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	ctx, cancel := context.WithCancel(t.Context())
	protocol.Abandon(ctx, near, func(context.Context) { cancel() })
}
