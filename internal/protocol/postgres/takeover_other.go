//go:build !linux

package postgres

import (
	"context"

	"brunt/internal/protocol"
)

// Takes refuses: event loops are Linux's.
func (*Driver) Takes(protocol.Target, *protocol.Program) (why string, ok bool) {
	return "event loops need Linux", false
}

// Takeover always fails here.
func (*Driver) Takeover(context.Context, protocol.Target, *protocol.Program) (protocol.CodecConn, error) {
	return protocol.CodecConn{}, protocol.Bad("event loops need Linux")
}
