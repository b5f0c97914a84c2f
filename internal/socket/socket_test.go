package socket_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"brunt/internal/socket"

	"golang.org/x/sys/unix"
)

func TestTakeKeepsTheConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := socket.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	fd, err := socket.Take(c)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := c.Write([]byte("x")); err == nil {
		t.Error("the connection still writes")
	}
	b := make([]byte, 4)
	if _, err := unix.Read(fd, b); err != unix.EAGAIN {
		t.Errorf("reading nothing: got %v, want EAGAIN", err)
	}
	if _, err := unix.Write(fd, []byte("ping")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(peer, b); err != nil || string(b) != "ping" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestTakeRefusesWhatHasNoSocket(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	if _, err := socket.Take(a); err == nil || !strings.Contains(err.Error(), "it has none") {
		t.Errorf("pipe: got %v", err)
	}
	if _, err := socket.Take(tls.Client(a, &tls.Config{})); err == nil {
		t.Error("TLS: no error")
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
