// Package protocols lists the protocols that brunt supports. It is the only package that imports all drivers.
package protocols

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/badger"
	"brunt/internal/protocol/bbolt"
	"brunt/internal/protocol/cassandra"
	"brunt/internal/protocol/dynamodb"
	"brunt/internal/protocol/echo"
	"brunt/internal/protocol/etcd"
	httpproto "brunt/internal/protocol/http"
	"brunt/internal/protocol/iproto"
	"brunt/internal/protocol/mongodb"
	"brunt/internal/protocol/mysql"
	"brunt/internal/protocol/noop"
	"brunt/internal/protocol/pebble"
	"brunt/internal/protocol/postgres"
	"brunt/internal/protocol/redis"
	"brunt/internal/protocol/sqlite"
)

// entry is a protocol and the names by which plans and flags may refer to it. The first name is the canonical one.
type entry struct {
	names []string
	open  func() protocol.Driver
	// port is appended to an address without a port. It is "" for protocols whose addresses aren't host:port.
	port string
}

// Find returns the driver of a protocol and its canonical name. For an unknown name it returns an error that lists the
// known names.
func Find(name string) (d protocol.Driver, canonical string, err error) {
	for _, e := range entries() {
		if slices.Contains(e.names, strings.ToLower(name)) {
			return e.open(), e.names[0], nil
		}
	}
	return nil, "", fmt.Errorf("unknown protocol %q; brunt speaks %s", name, strings.Join(Names(), ", "))
}

// Has reports whether brunt supports a protocol.
func Has(name string) bool {
	_, _, err := Find(name)
	return err == nil
}

// Names returns the canonical names of the protocols.
func Names() []string {
	var out []string
	for _, e := range entries() {
		out = append(out, e.names[0])
	}
	return out
}

// Port returns the protocol's default port, or "" if its addresses aren't host:port.
func Port(name string) string {
	for _, e := range entries() {
		if slices.Contains(e.names, strings.ToLower(name)) {
			return e.port
		}
	}
	return ""
}

// Embedded reports whether the protocol's server runs inside brunt. Its address is then the path of a file.
func Embedded(name string) bool {
	_, canonical, err := Find(name)
	return err == nil && slices.Contains([]string{"sqlite", "bbolt", "badger", "pebble"}, canonical)
}

// entries returns the protocols in the order of the documentation.
func entries() []entry {
	return []entry{
		{[]string{"pg", "pgwire", "postgres", "postgresql"}, func() protocol.Driver { return postgres.New() }, "5432"},
		{[]string{"mysql", "mariadb", "tidb"}, func() protocol.Driver { return mysql.New() }, "3306"},
		{[]string{"sqlite", "sqlite3"}, func() protocol.Driver { return sqlite.New() }, ""},
		{[]string{"iproto", "tarantool"}, func() protocol.Driver { return iproto.New() }, "3301"},
		{[]string{"redis", "resp"}, func() protocol.Driver { return redis.New() }, "6379"},
		{[]string{"http"}, func() protocol.Driver { return httpproto.New() }, "80"},
		{[]string{"https"}, func() protocol.Driver { return httpproto.NewSecure() }, "443"},
		{[]string{"etcd"}, func() protocol.Driver { return etcd.New() }, "2379"},
		{[]string{"mongodb", "mongo", "ferretdb"}, func() protocol.Driver { return mongodb.New() }, "27017"},
		{[]string{"cassandra", "scylla"}, func() protocol.Driver { return cassandra.New() }, "9042"},
		{[]string{"dynamodb"}, func() protocol.Driver { return dynamodb.New() }, "8000"},
		{[]string{"bbolt", "bolt", "boltdb"}, func() protocol.Driver { return bbolt.New() }, ""},
		{[]string{"badger"}, func() protocol.Driver { return badger.New() }, ""},
		{[]string{"pebble"}, func() protocol.Driver { return pebble.New() }, ""},
		{[]string{"echo"}, func() protocol.Driver { return echo.Driver{} }, "7"},
		{[]string{"noop"}, func() protocol.Driver { return noop.Driver{} }, ""},
	}
}
