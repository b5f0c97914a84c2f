//go:build !linux

package protocol

import (
	"errors"
	"net"
)

// Detach returns an error: event loops, which take sockets over, need Linux.
func Detach(net.Conn) (fd int, err error) {
	return -1, errors.New("event loops need Linux")
}
