// Package protocols is the list of the protocols that brunt speaks. It is the only package that
// imports all drivers.
package protocols

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/driver/badger"
	"brunt/internal/driver/bbolt"
	"brunt/internal/driver/cassandra"
	"brunt/internal/driver/dynamodb"
	"brunt/internal/driver/echo"
	"brunt/internal/driver/etcd"
	"brunt/internal/driver/iproto"
	"brunt/internal/driver/mongodb"
	"brunt/internal/driver/mysql"
	"brunt/internal/driver/noop"
	"brunt/internal/driver/pebble"
	"brunt/internal/driver/postgres"
	"brunt/internal/driver/redis"
	"brunt/internal/driver/sqlite"
	"brunt/internal/driver/web"
)

// entry is a protocol: the names that plans and flags may call it by, the first being its own.
type entry struct {
	names []string
	open  func() driver.Driver
	// port completes an address without one; "" where addresses aren't host:port.
	port string
}

// Find returns the driver of a protocol and its own name, or an error that lists the names there
// are.
func Find(name string) (d driver.Driver, canonical string, err error) {
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
		{[]string{"pg", "pgwire", "postgres", "postgresql"}, func() driver.Driver { return postgres.New() }, "5432"},
		{[]string{"mysql", "mariadb", "tidb"}, func() driver.Driver { return mysql.New() }, "3306"},
		{[]string{"sqlite", "sqlite3"}, func() driver.Driver { return sqlite.New() }, ""},
		{[]string{"iproto", "tarantool"}, func() driver.Driver { return iproto.New() }, "3301"},
		{[]string{"redis", "resp"}, func() driver.Driver { return redis.New() }, "6379"},
		{[]string{"http"}, func() driver.Driver { return web.New() }, "80"},
		{[]string{"https"}, func() driver.Driver { return web.NewSecure() }, "443"},
		{[]string{"etcd"}, func() driver.Driver { return etcd.New() }, "2379"},
		{[]string{"mongodb", "mongo", "ferretdb"}, func() driver.Driver { return mongodb.New() }, "27017"},
		{[]string{"cassandra", "scylla"}, func() driver.Driver { return cassandra.New() }, "9042"},
		{[]string{"dynamodb"}, func() driver.Driver { return dynamodb.New() }, "8000"},
		{[]string{"bbolt", "bolt", "boltdb"}, func() driver.Driver { return bbolt.New() }, ""},
		{[]string{"badger"}, func() driver.Driver { return badger.New() }, ""},
		{[]string{"pebble"}, func() driver.Driver { return pebble.New() }, ""},
		{[]string{"echo"}, func() driver.Driver { return echo.Driver{} }, "7"},
		{[]string{"noop"}, func() driver.Driver { return noop.Driver{} }, ""},
	}
}
