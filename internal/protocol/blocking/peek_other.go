//go:build !unix

package blocking

import "net"

// peek always reports false: this system can't check for input without waiting.
func peek(net.Conn) (waiting bool, err error) { return false, nil }
