package loop

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// detach takes the socket out of a connection of package net: it returns a descriptor of its own
// for it, non-blocking and closed on exec, and closes c, which ends the runtime's interest in the
// socket but not the connection. c must be plain TCP or a Unix socket.
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
