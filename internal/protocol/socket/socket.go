// Package socket opens TCP connections and says for people why it couldn't.
package socket

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Network is "unix" for an address that is a path, of a socket in the file system, else "tcp".
func Network(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix"
	}
	return "tcp"
}

// Dial opens a plain connection to host:port or to a socket's path. ctx bounds it. The error says
// where and what to do, in one line. The way is that of the context; see With.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	return wayOf(ctx).dial(ctx, address)
}

// Host returns the host of an address, without the port; the path of a Unix socket as it is.
func Host(address string) string {
	if Network(address) == "tcp" {
		if host, _, err := net.SplitHostPort(address); err == nil {
			return host
		}
	}
	return address
}

// WithoutZone returns a host or host:port without the zone of an IPv6 address, which means something on this machine
// only: servers aren't told it (RFC 6874, 4), and certificates don't have it.
func WithoutZone(host string) string {
	address, zone, ok := strings.Cut(host, "%")
	if !ok || !strings.Contains(address, ":") {
		return host
	}
	if _, port, bracketed := strings.Cut(zone, "]"); bracketed {
		return address + "]" + port
	}
	return address
}

// Secure is Dial with TLS, or Dial alone if config is nil. The name that the server's certificate must have is the
// address' host unless config says another.
func Secure(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return Dial(ctx, address)
	}
	plain, err := Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = WithoutZone(Host(address))
	}
	c := tls.Client(plain, config)
	if err := c.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, Explain(ctx, address, err)
	}
	return c, nil
}

// Reach makes sure that something takes connections at an address; see Dial.
func Reach(ctx context.Context, address string) error {
	c, err := Dial(ctx, address)
	if err == nil {
		c.Close()
	}
	return err
}

// Ended reports whether the other side has closed a connection, or has sent something over it: for protocols whose
// servers send nothing between requests, except that they are about to close the connection.
func Ended(c net.Conn) bool {
	waiting, err := Peek(c)
	return waiting || err != nil
}

// CloseWrite ends the sending side of a connection, if its kind has one, within a time.
func CloseWrite(c net.Conn, within time.Duration) {
	for {
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = c.SetWriteDeadline(time.Now().Add(within))
			_ = half.CloseWrite() // a connection that has ended already has no side left
			return
		}
		inner, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		c = inner.NetConn()
	}
}

// Closed reports whether an error says that the other side has closed a connection.
func Closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// NoAnswer is what Explain says of a connection that wasn't answered in time.
const NoAnswer = "no answer in time"

// Explain says why a connection to an address could not be made.
func Explain(ctx context.Context, address string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("can't connect to %s: %w; is the server running there?", address, syscall.ECONNREFUSED)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded),
		errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("can't connect to %s: %s; is the server up and reachable?", address, NoAnswer)
	case errors.Is(err, fs.ErrNotExist) && Network(address) == "unix":
		return fmt.Errorf("can't connect to %s: there is no such socket; is the server running, and configured to make it?",
			address)
	case Closed(err):
		return fmt.Errorf("%s closes connections at once; is the server running behind it? Does it expect TLS, or none?", address)
	case errors.As(err, &dns):
		return fmt.Errorf("can't connect to %s: the name can't be resolved; check the address", address)
	}
	return fmt.Errorf("can't connect to %s: %w", address, err)
}

// Meter counts the bytes received over connections. Its zero value is ready for use; it is safe for
// concurrent use.
type Meter struct {
	received atomic.Int64
	ended    atomic.Bool
}

// Ended reports whether the other side has closed one of the connections, as far as their reader has noticed.
func (m *Meter) Ended() bool { return m.ended.Load() }

// Received is how many bytes have been received so far.
func (m *Meter) Received() int64 { return m.received.Load() }

// Conn returns c with what is read from it counted.
func (m *Meter) Conn(c net.Conn) net.Conn { return &meteredConn{Conn: c, m: m} }

// Reader returns r with what is read from it counted.
func (m *Meter) Reader(r io.Reader) io.Reader { return meteredReader{r, m} }

type meteredConn struct {
	net.Conn
	m *Meter
}

// NetConn returns the connection itself.
func (c *meteredConn) NetConn() net.Conn { return c.Conn }

// Read implements io.Reader.
func (c *meteredConn) Read(b []byte) (int, error) { return meteredReader{c.Conn, c.m}.Read(b) }

type meteredReader struct {
	r io.Reader
	m *Meter
}

// Read implements io.Reader.
func (r meteredReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.m.received.Add(int64(n))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		r.m.ended.Store(true)
	}
	return n, err
}
