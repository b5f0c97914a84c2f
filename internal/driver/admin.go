package driver

import (
	"context"

	"brunt/internal/gen"
)

// Admin is a session for set-up: DDL, queries about state, and filling tables. Drivers whose
// protocol can do this implement AdminDriver.
type Admin interface {
	// Exec runs one statement of DDL or DML without parameters and returns the rows affected.
	Exec(ctx context.Context, statement string) (affected int64, err error)
	// Query runs a statement and calls row with each row's values as text (nil for null).
	Query(ctx context.Context, statement string, row func(values []*string) error) error
	// Load inserts the rows of one chunk of a table in the fastest way that the server has (COPY,
	// multi-row INSERT, pipelined requests). Loading the same chunk again must not fail because
	// rows exist already when replace is true: it leaves exactly the rows given.
	Load(ctx context.Context, chunk *Chunk, replace bool) (rows int64, err error)
	Close() error
}

// AdminDriver opens Admin sessions.
type AdminDriver interface {
	Driver
	Admin(ctx context.Context, t Target) (Admin, error)
}

// Chunk is a contiguous range of rows of one table, generated as it is sent.
type Chunk struct {
	Table   string   // unquoted
	Columns []Column // in the table's order
	Keys    []string // primary key columns, unquoted
	First   uint64   // number of the first row
	Rows    uint64   // how many
	Row     func(values []gen.Value, row uint64)
	// Progress, if not nil, is told now and then of further rows that the server has taken.
	Progress func(rows uint64)
}

// Column is a column as a loader needs it: its name and its plan type's name in lower case
// (integer, unsigned, double, decimal, string, boolean, datetime, uuid, json).
type Column struct {
	Name string
	Type string
}
