//go:build linux

package main

import (
	"context"

	"brunt/test/testserver"
)

// row is a server with a planted cause of slowness, or a healthy one, and a load.
type row struct {
	System  string // "postgresql"
	Cause   string // short name, unique within the system; healthy rows begin with "healthy"
	Planted string // what is planted, and how: a sentence for the table
	// Want are the ids of findings any of which names the cause. None: the server is healthy, and any finding worse than
	// a hint is false.
	Want []string
	// Says is a text that the finding's subject or evidence must contain, such as the statement; "" for any.
	Says string

	// Server is the name under which rows share a server, and Start starts it.
	Server string
	Start  func(st *stage) *testserver.Server
	// Prepare fills the server and plants what has to be there before the load. It may return a function that undoes it.
	Prepare func(sc *scene) (undo func(), err error)
	// During plants what happens during the load. It returns when ctx ends, or before.
	During func(ctx context.Context, sc *scene)
	// Plan is the YAML of a plan without seed; {length} stands for the load's length.
	Plan string
	// Flags are brunt's flags for the load: where the server is, and --inspect.
	Flags func(sc *scene) []string
}

func (r *row) name() string { return r.System + "/" + r.Cause }

func (r *row) healthy() bool { return len(r.Want) == 0 }

// rows returns all rows, in the order in which they run.
func rows() (all []row) {
	for _, of := range [][]row{
		postgresRows(),
		redisRows(),
		tarantoolRows(),
		picodataRows(),
		etcdRows(),
		mysqlRows(),
		processRows(),
	} {
		all = append(all, of...)
	}
	return all
}
