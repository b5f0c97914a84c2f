package dynamodb

import "brunt/internal/protocol"

// Declaration declares the protocol "dynamodb".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:   []string{"dynamodb"},
		Open:    func() protocol.Driver { return New() },
		Port:    "8000",
		Records: protocol.RecordsByVerb,
	}
}
