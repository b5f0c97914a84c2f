package grpc

import "brunt/internal/protocol"

// Declaration declares the protocol "grpc".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"grpc"},
		Open:  func() protocol.Driver { return New() },
		Port:  "50051",
	}
}
