package protocol

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Abandoning is how long a server is asked to stop what it does for a connection that has been given up.
const Abandoning = 3 * time.Second

// Pauses between the requests to stop.
const (
	askAgain     = 50 * time.Millisecond // the first; each is twice as long as the one before
	askAgainMost = time.Second
	askWithin    = 2 * time.Second // the longest time that one of them takes
)

// Abandonable is a connection that may be abandoned: a net.Conn, or a file of its socket.
type Abandonable interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}

// Abandon closes a connection on which an answer is missing, and makes the server stop the work for it: it calls cancel
// until the server has ended the connection or ctx ends. Once isn't enough. PostgreSQL ignores a request to cancel if
// it hasn't begun the statement yet ("Canceling Requests in Progress" in its manual: nothing tells the client whether
// it had an effect), and MySQL may have no connection free. The server must have been told that c ends, so that it
// closes c after the statement.
func Abandon(ctx context.Context, c Abandonable, cancel func(context.Context)) {
	defer c.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for err := os.ErrDeadlineExceeded; errors.Is(err, os.ErrDeadlineExceeded); { // of an operation that was interrupted
			_ = c.SetReadDeadline(time.Time{})
			_, err = io.Copy(io.Discard, c)
		}
	}()
	for pause := askAgain; ; pause = min(2*pause, askAgainMost) {
		within, done := context.WithTimeout(ctx, askWithin)
		cancel(within)
		done()
		t := time.NewTimer(pause)
		select {
		case <-ended:
		case <-ctx.Done():
		case <-t.C:
			continue
		}
		t.Stop()
		return
	}
}

// Lingering is implemented by connections that may go on asking the server to stop after they have been closed.
type Lingering interface {
	// Lingers returns a channel that is closed when the server has been asked to stop, or nil if it needn't be. It is
	// called by the goroutine that uses the connection, after a fatal failure.
	Lingers() <-chan struct{}
}

// Lingers returns when a connection that failed has nothing left to do; see Lingering.
func Lingers(c Conn) <-chan struct{} {
	if l, ok := c.(Lingering); ok {
		return l.Lingers()
	}
	return nil
}
