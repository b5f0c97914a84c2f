// Package all links all protocols that brunt comes with. It is the only package that imports all drivers: a program
// that doesn't import it contains only those that it names.
package all

import (
	"brunt/internal/protocol"
	"brunt/internal/protocol/badger"
	"brunt/internal/protocol/bbolt"
	"brunt/internal/protocol/cassandra"
	"brunt/internal/protocol/dynamodb"
	"brunt/internal/protocol/echo"
	"brunt/internal/protocol/etcd"
	"brunt/internal/protocol/grpc"
	"brunt/internal/protocol/http"
	"brunt/internal/protocol/iproto"
	"brunt/internal/protocol/mongodb"
	"brunt/internal/protocol/mysql"
	"brunt/internal/protocol/noop"
	"brunt/internal/protocol/pebble"
	"brunt/internal/protocol/postgres"
	"brunt/internal/protocol/protocols"
	"brunt/internal/protocol/redis"
	"brunt/internal/protocol/sqlite"
)

func init() { protocols.Link(own()...) }

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
		grpc.Declaration(),
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
