package protocol

import (
	"context"

	"brunt/internal/load/gen"
)

// Admin is a set-up session: it runs DDL, queries the server's state and loads tables. Drivers whose protocol
// can do this implement AdminDriver.
type Admin interface {
	// Exec runs one statement of DDL or DML without parameters and returns the rows affected.
	Exec(ctx context.Context, statement string) (affected int64, err error)
	// Query runs a statement and calls row with each row's values as text (nil for null).
	Query(ctx context.Context, statement string, row func(values []*string) error) error
	// Load inserts the rows of one chunk of a table by the fastest method that the server has (COPY, multi-row
	// INSERT, pipelined requests). It returns the number of rows inserted. With replace, existing rows with the same
	// keys are replaced: loading a chunk twice doesn't fail and leaves exactly the rows of the chunk.
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
	Rows    uint64   // number of rows
	Row     func(values []gen.Value, row uint64)
	// Frozen says that the caller has created or emptied the table in a transaction that is under way, so that PostgreSQL
	// can load the rows as ones that everybody may see (COPY FREEZE). Other protocols ignore it.
	Frozen bool
	// Progress, if not nil, is called from time to time with the number of rows that the server has accepted since
	// the last call.
	Progress func(rows uint64)
}

// Names returns the names of the columns.
func (c *Chunk) Names() []string {
	names := make([]string, len(c.Columns))
	for i := range c.Columns {
		names[i] = c.Columns[i].Name
	}
	return names
}

// Column is a column as a loader needs it: its name, and the plan's name for its type in lower case (integer,
// unsigned, double, decimal, string, boolean, datetime, uuid, json).
type Column struct {
	Name string
	Type string
}

// AdHoc is implemented by sessions of the library tier that accept requests which weren't part of the program
// when the session was opened. Scripts need this.
type AdHoc interface {
	Conn
	// Add prepares a request. r.ID is either the number of requests that the session has so far, or the ID of an
	// existing request, which r replaces. r must not change afterwards. An error is an *Error.
	Add(ctx context.Context, r *Request) error
}

// Put stores what a session has prepared for the request with the given ID: it overwrites element id, or appends
// if there is none yet. It returns the slice.
func Put[T any](all []T, id int, one T) []T {
	if id < len(all) {
		all[id] = one
		return all
	}
	return append(all, one)
}

// Checker is implemented by protocols whose sessions prepare a statement only when they first send it, and so
// don't learn earlier whether the server accepts it.
type Checker interface {
	// Check asks the server, before the load, whether it accepts the statements of a program, except those with
	// ExpectError. An error is an *Error; if the server refuses a statement, its class is Server and its text names
	// the statement. progress, if not nil, is called with the number of statements done and the total.
	Check(ctx context.Context, t Target, p *Program, progress func(done, all int)) error
}

// Expander is implemented by protocols whose servers form clusters.
type Expander interface {
	// Expand returns the addresses of the cluster that the target belongs to. Each has the target's credentials and
	// options; the target's own address is included as it was given. For a target that isn't part of a cluster,
	// Expand returns the target alone. An error is an *Error.
	Expand(ctx context.Context, t Target) ([]Target, error)
}

// KeyValueAdmin is implemented by drivers that can create the storage for records with a key and named fields: a
// table, a keyspace, a bucket, an index. It is called once before a load, never while requests are in flight.
//
// Requests to such storage have the verbs Read, Scan, Insert, Update and Delete (or are statements, if the
// driver accepts SQL). Text is the table and Fields are the names of the fields. The parameters are the key and,
// for Insert and Update, one value for each of Fields; for Scan, the first key and the count. A Read or Scan
// without Fields returns all fields. Captures name fields. A Read that doesn't find its key sets Reply.Missing
// and doesn't fail. The Text of a Batch is one of these verbs in lower case, a space, and the table.
type KeyValueAdmin interface {
	// Prepare creates whatever is missing for a table with the given fields, each of at most fieldLength bytes. With
	// drop, it first removes what the table holds. An error is an *Error.
	Prepare(ctx context.Context, t Target, table string, fields []string, fieldLength int, drop bool) error
}
