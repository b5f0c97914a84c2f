package iproto

import "brunt/internal/protocol"

// Declaration declares the protocol "iproto".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"iproto", "tarantool"},
		Open:  func() protocol.Driver { return New() },
		Port:  "3301",
	}
}
