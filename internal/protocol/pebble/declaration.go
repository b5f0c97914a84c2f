package pebble

import "brunt/internal/protocol"

// Declaration declares the protocol "pebble".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:    []string{"pebble"},
		Open:     func() protocol.Driver { return New() },
		Embedded: true,
		Records:  protocol.RecordsByVerb,
	}
}
