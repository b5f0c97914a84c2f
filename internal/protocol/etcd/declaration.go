package etcd

import "brunt/internal/protocol"

// Declaration declares the protocol "etcd".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:   []string{"etcd"},
		Open:    func() protocol.Driver { return New() },
		Port:    "2379",
		Records: protocol.RecordsByVerb,
	}
}
