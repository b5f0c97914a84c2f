package bbolt

import "brunt/internal/protocol"

// Declaration declares the protocol "bbolt".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:    []string{"bbolt", "bolt", "boltdb"},
		Open:     func() protocol.Driver { return New() },
		Embedded: true,
		Records:  protocol.RecordsByVerb,
	}
}
