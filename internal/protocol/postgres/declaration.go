package postgres

import "brunt/internal/protocol"

// Declaration declares the protocol "pg".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"pg", "pgwire", "postgres", "postgresql"},
		Open:  func() protocol.Driver { return New() },
		Port:  "5432",
	}
}
