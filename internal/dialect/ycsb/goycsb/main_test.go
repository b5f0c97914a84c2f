// Package goycsb_test tests brunt in the way that YCSB and go-ycsb are used, against real servers.
package goycsb_test

import (
	"testing"

	"brunt/test/shell"
	"brunt/test/testserver"
)

// servers are shared: tests have databases, tables or numbers of databases of their own.
var servers testserver.Pool

// pooled runs the tests and stops the servers.
type pooled struct{ m *testing.M }

func (p pooled) Run() int { return servers.Run(p.m) }

func TestMain(m *testing.M) { shell.Main(pooled{m}, 2) }

// ferretDB returns the shared FerretDB.
func ferretDB(t *testing.T) *testserver.Server {
	return servers.Get(t, "ferretdb", func(t testserver.TB) *testserver.Server { return testserver.FerretDB(t) })
}

// tarantool returns the shared Tarantool.
func tarantool(t *testing.T) *testserver.Server {
	return servers.Get(t, "tarantool", func(t testserver.TB) *testserver.Server { return testserver.Tarantool(t) })
}

// dynamoDB returns the shared DynamoDB.
func dynamoDB(t *testing.T) *testserver.Server {
	return servers.Get(t, "dynamodb", func(t testserver.TB) *testserver.Server { return testserver.DynamoDB(t) })
}
