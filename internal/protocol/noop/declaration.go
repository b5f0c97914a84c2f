package noop

import "brunt/internal/protocol"

// Declaration declares the protocol "noop".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:   []string{"noop"},
		Open:    func() protocol.Driver { return Driver{} },
		Records: protocol.RecordsByVerb,
	}
}
