// Package tpc has what the benchmarks of the Transaction Processing Performance Council share: tables as their
// specifications describe them, for each system that understands SQL; loading them in parallel so that a load that was
// killed goes on; constants that are stored with the data; conditions that the data must satisfy; and sessions that
// execute transactions statement by statement. The benchmarks are in packages tpcb and tpcc.
package tpc

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Table is a table of a benchmark.
type Table struct {
	Name    string // in lower case
	Columns []Column
	Keys    []string // columns of the primary key; none: the table has no key where the system allows it
	// Needed is the column that is added as primary key, with numbers from 1, on systems whose tables need one. It is
	// only for tables without Keys.
	Needed  string
	Indexes []Index
	Rows    uint64
	// Row sets the values of row number row, one for each of Columns. It must be safe for concurrent use.
	Row func(values []gen.Value, row uint64)
}

// Index is a secondary index.
type Index struct {
	Name    string
	Columns []string
}

// Column is a column of a table. All columns may be null only if Null is set.
type Column struct {
	Name string
	Type Type
	Size int // characters of Char and Text; digits of Money and Fraction
	Null bool
}

// Type is the type of a column.
type Type uint8

// The types.
const (
	Int      Type = iota // 32 bits
	Long                 // 64 bits
	Char                 // exactly Size characters
	Text                 // up to Size characters
	Money                // Size digits, two of them after the point
	Fraction             // Size digits, all of them after the point
	Date                 // date and time
)

// columnTypes are the names of types in the order of protocol.Flavor: PostgreSQL, Picodata, Tarantool, SQLite, MySQL.
// %d is the size.
var columnTypes = map[Type][5]string{
	Int:      {"INTEGER", "INTEGER", "INTEGER", "INTEGER", "INT"},
	Long:     {"BIGINT", "INTEGER", "INTEGER", "INTEGER", "BIGINT"},
	Char:     {"CHAR(%d)", "TEXT", "STRING", "TEXT", "CHAR(%d)"},
	Text:     {"VARCHAR(%d)", "TEXT", "STRING", "TEXT", "VARCHAR(%d)"},
	Money:    {"NUMERIC(%d,2)", "DECIMAL", "NUMBER", "NUMERIC", "DECIMAL(%d,2)"},
	Fraction: {"NUMERIC(%d,%[1]d)", "DECIMAL", "NUMBER", "NUMERIC", "DECIMAL(%d,%[1]d)"},
	Date:     {"TIMESTAMPTZ", "DATETIME", "INTEGER", "TEXT", "DATETIME(6)"},
}

// loadTypes are the types as a loader knows them.
var loadTypes = map[Type]gen.Type{
	Int: gen.TypeInteger, Long: gen.TypeInteger, Char: gen.TypeString, Text: gen.TypeString, Money: gen.TypeDecimal,
	Fraction: gen.TypeDecimal, Date: gen.TypeDatetime,
}

func (c *Column) definition(f protocol.Flavor) string {
	name := columnTypes[c.Type][f]
	if strings.Contains(name, "%") {
		name = fmt.Sprintf(name, c.Size)
	}
	if !c.Null {
		name += " NOT NULL"
	}
	return c.Name + " " + name
}

// needsKeys reports whether each table of a system must have a primary key.
func needsKeys(f protocol.Flavor) bool {
	return f == protocol.FlavorPicodata || f == protocol.FlavorTarantool
}

// For returns the table as it is on a system: with the needed key, if it has none.
func (t *Table) For(f protocol.Flavor) *Table {
	if len(t.Keys) > 0 || t.Needed == "" || !needsKeys(f) {
		return t
	}
	out := *t
	out.Columns = append(slices.Clone(t.Columns), Column{Name: t.Needed, Type: Long})
	out.Keys = []string{t.Needed}
	last := len(t.Columns)
	out.Row = func(values []gen.Value, row uint64) {
		t.Row(values[:last], row)
		values[last].SetInt(int64(row) + 1)
	}
	return &out
}

// Create returns the statement that creates the table. Names aren't quoted, so that statements needn't quote them
// either: Tarantool stores them in upper case. withKey is ignored by systems whose tables need a key.
func (t *Table) Create(f protocol.Flavor, withKey bool) string {
	var parts []string
	for i := range t.Columns {
		parts = append(parts, t.Columns[i].definition(f))
	}
	if len(t.Keys) > 0 && (withKey || f != protocol.FlavorPostgreSQL) {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(t.Keys, ", ")+")")
	}
	return "CREATE TABLE " + t.Name + " (" + strings.Join(parts, ", ") + ")" + t.tail(f)
}

// tail returns what follows the columns. Picodata's tables are distributed by their first key column, which is the
// warehouse or branch, so that most transactions stay on one node. Texts are ASCII.
func (t *Table) tail(f protocol.Flavor) string {
	switch f {
	case protocol.FlavorPicodata:
		return " DISTRIBUTED BY (" + t.Keys[0] + ") WAIT APPLIED GLOBALLY"
	case protocol.FlavorMySQL:
		return " ENGINE=InnoDB CHARACTER SET ascii COLLATE ascii_bin"
	case protocol.FlavorSQLite:
		if len(t.Keys) > 1 {
			return " WITHOUT ROWID"
		}
	}
	return ""
}

// AddKey returns the statement that adds the primary key to a table that was created without one, if the
// system has created it so; otherwise "".
func (t *Table) AddKey(f protocol.Flavor) string {
	if f != protocol.FlavorPostgreSQL || len(t.Keys) == 0 {
		return ""
	}
	return "ALTER TABLE " + t.Name + " ADD PRIMARY KEY (" + strings.Join(t.Keys, ", ") + ")"
}

// Create returns the statement that creates the index on a table.
func (x *Index) Create(table string) string {
	return "CREATE INDEX " + x.Name + " ON " + table + " (" + strings.Join(x.Columns, ", ") + ")"
}

// stored returns a name as a system stores it that isn't quoted in statements.
func stored(f protocol.Flavor, name string) string {
	if f == protocol.FlavorTarantool {
		return strings.ToUpper(name)
	}
	return name
}

// columns returns the columns as a loader needs them.
func (t *Table) columns(f protocol.Flavor) []protocol.Column {
	out := make([]protocol.Column, len(t.Columns))
	for i := range t.Columns {
		out[i] = protocol.Column{Name: stored(f, t.Columns[i].Name), Type: string(loadTypes[t.Columns[i].Type])}
	}
	return out
}

// keys returns the columns of the primary key as they are stored.
func (t *Table) keys(f protocol.Flavor) []string {
	var out []string
	for _, k := range t.Keys {
		out = append(out, stored(f, k))
	}
	return out
}
