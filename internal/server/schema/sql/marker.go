package sql

import (
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

// MarkerTable is the table in which brunt records the tables that it created and filled, one row per table.
const MarkerTable = "brunt_tables"

// markerColumns returns the names of its columns. All are texts; the first is the key.
func markerColumns() []string {
	return []string{"name", "origin", "state", "seed", "row_count", "plan", "brunt", "since"}
}

// Marker is a row of MarkerTable. It describes one table.
type Marker struct {
	Name   string
	Origin string // "created": by brunt; "filled": created by someone else and filled by brunt
	State  string // "unfinished" or "complete"
	Seed   string // the seed of the rows, decimal
	Rows   string // the number of rows in the plan, decimal
	Plan   string // fingerprint that changes when the rows change
	Brunt  string // version of brunt
	Since  string // time in RFC 3339, UTC
}

func (m *Marker) values() []*string {
	return []*string{&m.Name, &m.Origin, &m.State, &m.Seed, &m.Rows, &m.Plan, &m.Brunt, &m.Since}
}

// Read sets m to a row of ReadMarkers. Null becomes "".
func (m *Marker) Read(row []*string) {
	for i, v := range m.values() {
		if i < len(row) && row[i] != nil {
			*v = *row[i]
		}
	}
}

func markerTable() *plan.Table {
	const longest, timeout = 255, 10 * time.Second
	t := &plan.Table{Name: MarkerTable, PrimaryKeys: []string{"name"}, Global: true, Timeout: timeout}
	for _, name := range markerColumns() {
		s := plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeString, HasRange: true, IntHi: longest}}
		t.Columns = append(t.Columns, plan.Column{Name: name, ValueSpec: s})
	}
	return t
}

// CreateMarkers returns the statement that creates MarkerTable. On Picodata the table is global, so that each node can
// read it while other nodes are down.
func (f Flavor) CreateMarkers() string {
	text, _, _ := f.CreateTable(markerTable(), nil) // never fails: all flavors have the type of the columns
	return text
}

// DropMarkers returns the statement that drops MarkerTable once it is empty. It returns "" for Picodata, where a change
// of the schema waits for every node. The statement for PostgreSQL checks under a lock that the table is still empty,
// because another brunt process may have begun to use it.
func (f Flavor) DropMarkers() string {
	switch {
	case f.product == Picodata:
		return ""
	case f.product == PostgreSQL && !f.keyFirst:
		name := f.quote(MarkerTable)
		return "DO $$ BEGIN LOCK TABLE " + name + "; IF NOT EXISTS (SELECT FROM " + name + ") THEN DROP TABLE " + name +
			"; END IF; END $$"
	}
	return f.DropTable(markerTable())
}

// ReadMarkers returns the query for all markers, whose rows Marker.Read takes.
func (f Flavor) ReadMarkers() string {
	return "SELECT " + f.quoteAll(markerColumns()) + " FROM " + f.quote(MarkerTable)
}

// AddMarker returns the statement that inserts a table's marker, which must not exist yet.
func (f Flavor) AddMarker(m *Marker) string {
	var values []string
	for _, v := range m.values() {
		values = append(values, f.text(*v))
	}
	return "INSERT INTO " + f.quote(MarkerTable) + " (" + f.quoteAll(markerColumns()) + ") VALUES (" +
		strings.Join(values, ", ") + ")"
}

// FinishMarkers returns the statement that marks tables as complete.
func (f Flavor) FinishMarkers(tables []string) string {
	return "UPDATE " + f.quote(MarkerTable) + " SET " + f.quote("state") + " = 'complete'" + f.markersOf(tables)
}

// RemoveMarkers returns the statement that deletes the markers of tables.
func (f Flavor) RemoveMarkers(tables []string) string {
	return "DELETE FROM " + f.quote(MarkerTable) + f.markersOf(tables)
}

func (f Flavor) markersOf(tables []string) string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = f.text(t)
	}
	return " WHERE " + f.quote("name") + " IN (" + strings.Join(names, ", ") + ")"
}

// CountRows returns a query whose single value is the number of rows in table.
func (f Flavor) CountRows(table string) string { return "SELECT COUNT(*) FROM " + f.quoteTable(table) }

// HasTable returns a query whose single value is 1 if table exists, and 0 otherwise.
func (f Flavor) HasTable(table string) string {
	schema, name := f.path(table)
	switch f.product {
	case Picodata:
		return `SELECT COUNT(*) FROM "_pico_table" WHERE "name" = ` + f.text(name)
	case Tarantool:
		return `SELECT COUNT(*) FROM "_space" WHERE "name" = ` + f.text(name)
	case SQLite:
		return "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = " + f.text(name)
	case MySQL:
		in := "DATABASE()"
		if schema != "" {
			in = f.text(schema)
		}
		return "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = " + in + " AND table_name = " +
			f.text(name)
	}
	return "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass(" + f.text(f.quoteTable(table)) +
		") AND relkind IN ('r', 'p')"
}

// SelectAll returns a query for columns of all rows in table, in any order.
func (f Flavor) SelectAll(table string, columns []string) string {
	return "SELECT " + f.quoteAll(columns) + " FROM " + f.quoteTable(table)
}

// SelectByKey returns a query for columns of the rows whose column key is between lo and hi, both included, in any
// order.
func (f Flavor) SelectByKey(table string, columns []string, key string, lo, hi *gen.Value) string {
	return f.SelectAll(table, columns) + " WHERE " + f.quote(key) + " BETWEEN " + f.Literal(lo) + " AND " + f.Literal(hi)
}

// SelectIn returns a query for columns of the rows whose column key has one of the values, in any order.
func (f Flavor) SelectIn(table string, columns []string, key string, values []gen.Value) string {
	literals := make([]string, len(values))
	for i := range values {
		literals[i] = f.Literal(&values[i])
	}
	return f.SelectAll(table, columns) + " WHERE " + f.quote(key) + " IN (" + strings.Join(literals, ", ") + ")"
}

// MostRows returns how many rows with this number of columns a query may return; 0 means no limit. Picodata executes up
// to 45 000 steps of its virtual machine per statement (sql_vdbe_opcode_max). A row takes about columns + 5 steps, and
// more if it is found by its key. A statement moves up to 5000 rows (sql_motion_row_max).
func (f Flavor) MostRows(columns int) uint64 {
	const steps, most = 45_000, 5000
	if f.product != Picodata {
		return 0
	}
	return uint64(min(max(steps/(2*(columns+12)), 1), most))
}

// Transactions reports whether the product has atomic transactions. Picodata accepts BEGIN and COMMIT, but doesn't undo
// anything on ROLLBACK.
func (f Flavor) Transactions() bool { return f.product != Picodata }

// Analyze returns the statement that updates the planner's statistics of table, or "" if the server has none or updates
// them by itself. The statement is cheap: PostgreSQL and MySQL read a sample of the rows.
func (f Flavor) Analyze(table string) string {
	switch f.product {
	case PostgreSQL, SQLite:
		return "ANALYZE " + f.quoteTable(table)
	case MySQL:
		return "ANALYZE TABLE " + f.quoteTable(table)
	}
	return ""
}

// Greatest returns a query whose single value is the greatest value of a column, or null if the table is empty.
func (f Flavor) Greatest(table, column string) string {
	return "SELECT MAX(" + f.quote(column) + ") FROM " + f.quoteTable(table)
}
