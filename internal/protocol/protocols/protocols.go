// Package protocols lists the protocols that this program supports: brunt's own, and those that a program built with
// brunt has registered. It is the only package that imports all drivers.
package protocols

import (
	"brunt/internal/protocol"
	"brunt/internal/protocol/badger"
	"brunt/internal/protocol/bbolt"
	"brunt/internal/protocol/cassandra"
	"brunt/internal/protocol/dynamodb"
	"brunt/internal/protocol/echo"
	"brunt/internal/protocol/etcd"
	"brunt/internal/protocol/http"
	"brunt/internal/protocol/iproto"
	"brunt/internal/protocol/mongodb"
	"brunt/internal/protocol/mysql"
	"brunt/internal/protocol/noop"
	"brunt/internal/protocol/pebble"
	"brunt/internal/protocol/postgres"
	"brunt/internal/protocol/redis"
	"brunt/internal/protocol/sqlite"
)

// own returns brunt's own protocols in the order of the documentation. To add one, add a line.
func own() []protocol.Declaration {
	return []protocol.Declaration{
		postgres.Declaration(),
		mysql.Declaration(),
		sqlite.Declaration(),
		iproto.Declaration(),
		redis.Declaration(),
		http.Declaration(),
		http.SecureDeclaration(),
		etcd.Declaration(),
		mongodb.Declaration(),
		cassandra.Declaration(),
		dynamodb.Declaration(),
		bbolt.Declaration(),
		badger.Declaration(),
		pebble.Declaration(),
		echo.Declaration(),
		noop.Declaration(),
	}
}

// linked are the protocols of this program. It is one list for the whole process, like those of database/sql and of
// k6's modules, because the packages that register a protocol are linked in without being called, and because plans,
// flags, scripts and workers must all know the same names.
var linked = NewList(own()...)

// Register adds a protocol to those of this program. It fails if the declaration is incomplete, or if one of its names
// is taken; the error is one line that says what to change. It is safe for concurrent use.
func Register(d protocol.Declaration) error { return linked.Add(d) }

// Find returns the protocol that has a name, which may be an alias. For an unknown name it returns the zero value, and
// an error that lists the known names and says how to link others.
func Find(name string) (protocol.Declaration, error) { return linked.Find(name) }

// Of returns what Find does, and the zero value for an unknown name.
func Of(name string) protocol.Declaration {
	d, _ := linked.Find(name)
	return d
}

// Has reports whether the program has a protocol.
func Has(name string) bool {
	_, err := linked.Find(name)
	return err == nil
}

// All returns the protocols, brunt's own first, then the registered ones in the order of registration.
func All() []protocol.Declaration { return linked.All() }

// Names returns the canonical names of the protocols, in the order of All.
func Names() []string { return linked.Names() }
