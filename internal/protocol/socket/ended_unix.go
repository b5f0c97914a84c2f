//go:build unix

package socket

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Peek reports, without waiting, whether bytes have arrived. It returns an error if none can arrive any more:
// io.EOF if the other side has closed the connection.
func Peek(c net.Conn) (waiting bool, err error) {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = over.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return false, nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false, err
	}
	n := 0
	var failure error
	// Not raw.Read, which would wait for a goroutine that is reading.
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, failure = unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	switch {
	case err != nil:
		return false, err
	case failure == unix.EAGAIN, failure == unix.EINTR:
		return false, nil
	case failure != nil:
		return false, failure
	case n == 0:
		return false, io.EOF
	}
	return true, nil
}
