package loop

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// detach detaches the socket from a connection of package net. It returns a new descriptor for the socket, non-blocking
// and closed on exec, and closes c. This unregisters the socket from the runtime's poller, but does not close the
// connection. c must be plain TCP or a Unix socket.
func detach(c net.Conn) (fd int, err error) {
	raw, ok := c.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("take over a connection: %T has no socket of its own (TLS?)", c)
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("take over a connection: %w", err)
	}
	var dupErr error
	err = control.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil {
		err = dupErr
	}
	if err != nil {
		return -1, fmt.Errorf("take over a connection: %w", err)
	}
	if err = unix.SetNonblock(fd, true); err == nil {
		err = c.Close()
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("take over a connection: %w", err)
	}
	return fd, nil
}
