package plan

import (
	"time"

	"brunt/internal/gen"
)

// Table is a table to create and fill.
type Table struct {
	Name             string
	Rows             uint64
	Columns          []Column
	PrimaryKeys      []string
	Engine           string   // Picodata, Tarantool: "memtx" or "vinyl"; "" for the server's default
	DistributionKeys []string // Picodata; empty with Global false means the primary key
	Global           bool     // Picodata: DISTRIBUTED GLOBALLY
	Tier             string   // Picodata
	WaitApplied      string   // Picodata: "globally", "locally" or ""
	Unlogged         bool
	Timeout          time.Duration // DDL; 0 means 86400 s
	At               Position
	Where            Places // of its keys; items of lists as "primary_keys[0]"
}

// Column is a column of a table and how its values are made.
type Column struct {
	Name string
	ValueSpec
}

// Index is a secondary index.
type Index struct {
	Name    string
	Table   string
	Columns []string
	Unique  bool
	Type    string // "tree", "hash", "rtree", "bitset"; "" for the server's default
	Options []IndexOption
	Timeout time.Duration
	At      Position
	Where   Places // of its keys; items of lists as "columns_names[0]"
}

// IndexOption is one option of an index in the order written, value as in the file.
type IndexOption struct {
	Name  string
	Value string
}

// ValueSpec says how the values of a column or parameter are made, and where that was said.
type ValueSpec struct {
	gen.Spec
	Nullable bool
	// SameRow: references with one non-empty SameRow within one operation take their values from
	// one row.
	SameRow string
	// Start is where a parameter that is a sequence begins; with StartAfter, Table and Column may name
	// the column whose greatest value is meant.
	Start Start
	At    Position
	Where Places // of its keys
}
