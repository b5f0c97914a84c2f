package echo

import "brunt/internal/protocol"

// Declaration declares the protocol "echo".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"echo"},
		Open:  func() protocol.Driver { return Driver{} },
		Port:  "7",
	}
}
