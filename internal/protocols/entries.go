package protocols

import (
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
