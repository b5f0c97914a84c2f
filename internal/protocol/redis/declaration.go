package redis

import "brunt/internal/protocol"

// Declaration declares the protocol "redis".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"redis", "resp"},
		Open:  func() protocol.Driver { return New() },
		Port:  "6379",
	}
}
