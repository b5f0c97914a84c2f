//go:build !unix

package socket

import "net"

// Peek always reports false: this system can't check for input without waiting.
func Peek(net.Conn) (waiting bool, err error) { return false, nil }
