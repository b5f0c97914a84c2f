// Package cassandra links the protocol of Cassandra and ScyllaDB: cassandra.
package cassandra

import (
	declared "brunt/internal/protocol/cassandra"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
