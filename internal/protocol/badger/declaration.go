package badger

import "brunt/internal/protocol"

// Declaration declares the protocol "badger".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:    []string{"badger"},
		Open:     func() protocol.Driver { return New() },
		Embedded: true,
		Records:  protocol.RecordsByVerb,
	}
}
