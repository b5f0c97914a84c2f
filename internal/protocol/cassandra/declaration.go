package cassandra

import "brunt/internal/protocol"

// Declaration declares the protocol "cassandra".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:   []string{"cassandra", "scylla"},
		Open:    func() protocol.Driver { return New() },
		Port:    "9042",
		Records: protocol.RecordsByVerb,
	}
}
