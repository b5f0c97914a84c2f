// Package socket opens TCP connections and hands their sockets over from the Go runtime to a loop
// that polls them by itself.
package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Dial opens a plain connection to host:port. ctx bounds it. The error says where and what to do,
// in one line.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, Explain(ctx, address, err)
	}
	return c, nil
}

// Explain says why a connection to an address could not be made.
func Explain(ctx context.Context, address string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("can't connect to %s: connection refused; is the server running there?", address)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("can't connect to %s: no answer in time; is the server up and reachable?", address)
	case errors.As(err, &dns):
		return fmt.Errorf("can't connect to %s: the name can't be resolved; check the address", address)
	}
	return fmt.Errorf("can't connect to %s: %w", address, err)
}

// Take gives up a connection and returns its socket, connected and non-blocking. The connection
// can't be used any more, whether Take succeeds or not. Bytes that a reader has buffered are the
// caller's concern.
func Take(c net.Conn) (fd int, err error) {
	defer c.Close()
	s, ok := c.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("take the socket of a %T: it has none", c)
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("take the socket: %w", err)
	}
	fd = -1
	var dup error
	if err := raw.Control(func(p uintptr) { fd, dup = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, fmt.Errorf("take the socket: %w", err)
	}
	if dup != nil {
		return -1, fmt.Errorf("take the socket: %w", os.NewSyscallError("fcntl", dup))
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("take the socket: %w", os.NewSyscallError("fcntl", err))
	}
	return fd, nil
}
