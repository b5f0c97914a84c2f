package protocol

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

// Names are the columns' names.
func (c *Chunk) Names() []string {
	names := make([]string, len(c.Columns))
	for i := range c.Columns {
		names[i] = c.Columns[i].Name
	}
	return names
}

// Column is a column as a loader needs it: its name and its plan type's name in lower case
// (integer, unsigned, double, decimal, string, boolean, datetime, uuid, json).
type Column struct {
	Name string
	Type string
}

// AdHoc is implemented by sessions of the library tier that take requests which weren't part of their
// program when they were opened, as scripts need.
type AdHoc interface {
	Conn
	// Add makes a request ready. Its ID is the number of those that the session knows, or that of one of
	// them, whose place it takes. It must not change afterwards. An error is an *Error.
	Add(ctx context.Context, r *Request) error
}

// Put puts what a session makes of a request at the end of what it has, or in the place of another's.
func Put[T any](all []T, id int, one T) []T {
	if id < len(all) {
		all[id] = one
		return all
	}
	return append(all, one)
}

// Checker is implemented by protocols whose sessions learn only when they send a statement whether the
// server takes it.
type Checker interface {
	// Check asks the server, before the load, whether it takes the statements of a program, those with
	// ExpectError left out. An error is an *Error: of class Server if it refuses one, which the text
	// names. progress, unless it is nil, receives how many of many statements are done.
	Check(ctx context.Context, t Target, p *Program, progress func(done, all int)) error
}

// Expander is implemented by protocols whose servers form clusters.
type Expander interface {
	// Expand returns the addresses of the cluster that a target is a member of, the target's own
	// among them as it was given, with its credentials and options. A target that is no member of a
	// cluster stands for itself. An error is an *Error.
	Expand(ctx context.Context, t Target) ([]Target, error)
}

// KeyValueAdmin is implemented by drivers that can make the storage for records of a key and
// named fields ready: a table, a keyspace, a bucket, an index. It is called once before a load,
// never while requests are under way.
//
// Requests on such storage have the verbs Read, Scan, Insert, Update and Delete (or, where the
// driver takes SQL, statements), Text is the table and Fields are the fields' names. Parameters
// are the key and, for Insert and Update, one value for each of Fields; a Scan's are the first
// key and the count. No Fields in a Read or Scan means all. Captures name fields. A Read that
// finds no such key sets Reply.Missing and doesn't fail. A Batch's Text is one of these verbs in
// lower case, a space, and the table.
type KeyValueAdmin interface {
	// Prepare creates what is missing for a table of the given fields, each of at most
	// fieldLength bytes. drop removes what the table held before. An error is an *Error.
	Prepare(ctx context.Context, t Target, table string, fields []string, fieldLength int, drop bool) error
}
