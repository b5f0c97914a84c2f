package socket

import (
	"io"
	"net"
	"sync/atomic"
)

// Meter counts the bytes received over connections. Its zero value is ready for use; it is safe for
// concurrent use.
type Meter struct{ received atomic.Int64 }

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
	return n, err
}
