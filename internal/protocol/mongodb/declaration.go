package mongodb

import "brunt/internal/protocol"

// Declaration declares the protocol "mongodb".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:   []string{"mongodb", "mongo", "ferretdb"},
		Open:    func() protocol.Driver { return New() },
		Port:    "27017",
		Records: protocol.RecordsByVerb,
	}
}
