// Package protocols is the list of the protocols that brunt speaks. It is the only package that
// imports all drivers.
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

// entry is a protocol: the names that plans and flags may call it by, the first being its own.
type entry struct {
	names []string
	open  func() protocol.Driver
	// port completes an address without one; "" where addresses aren't host:port.
	port string
}

// Find returns the driver of a protocol and its own name, or an error that lists the names there
// are.
func Find(name string) (d protocol.Driver, canonical string, err error) {
	for _, e := range entries() {
		if slices.Contains(e.names, strings.ToLower(name)) {
			return e.open(), e.names[0], nil
		}
	}
	return nil, "", fmt.Errorf("unknown protocol %q; brunt speaks %s", name, strings.Join(Names(), ", "))
}

// Names are the protocols' own names.
func Names() []string {
	var out []string
	for _, e := range entries() {
		out = append(out, e.names[0])
	}
	return out
}

// Port is the protocol's usual port, or "" where addresses aren't host:port.
func Port(name string) string {
	for _, e := range entries() {
		if slices.Contains(e.names, strings.ToLower(name)) {
			return e.port
		}
	}
	return ""
}

// Embedded reports whether the protocol's server runs inside brunt, so that its address is a
// file's path.
func Embedded(name string) bool {
	_, canonical, err := Find(name)
	return err == nil && slices.Contains([]string{"sqlite", "bbolt", "badger", "pebble"}, canonical)
}

// entries are the protocols in the order of the documentation.
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
