package http

import "brunt/internal/protocol"

// Declaration declares the protocol "http".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"http"},
		Open:  func() protocol.Driver { return New() },
		Port:  "80",
	}
}

// SecureDeclaration declares the protocol "https".
func SecureDeclaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"https"},
		Open:  func() protocol.Driver { return NewSecure() },
		Port:  "443",
	}
}
