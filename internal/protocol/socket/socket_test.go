package socket_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

func TestDialConnects(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := socket.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.RemoteAddr().String() != l.Addr().String() {
		t.Errorf("connected to %v", c.RemoteAddr())
	}
}

// TestNobodyThere: the cause is kept, so that failures to connect have a code.
func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = socket.Dial(t.Context(), l.Addr().String())
	if e := protocol.Unconnected(err); e.Code != protocol.RefusedCode || e.Class != protocol.Connect {
		t.Errorf("%+v", e)
	}
	if e := protocol.ConnectError("no", "53300", err); e.Code != "53300" {
		t.Errorf("the server's own code became %q", e.Code)
	}
	gone, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, err = socket.Dial(gone, l.Addr().String())
	if e := protocol.Unconnected(err); e.Code != "" {
		t.Errorf("%+v", e)
	}
}

func TestDialExplains(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, c := range []struct {
		ctx           context.Context
		address, want string
	}{
		{t.Context(), closed, "can't connect to " + closed + ": connection refused; is the server running there?"},
		{late, closed, "no answer in time"},
	} {
		if _, err := socket.Dial(c.ctx, c.address); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.address, err, c.want)
		}
	}
}
