package sql

import (
	"strings"
	"time"

	"brunt/internal/gen"
	"brunt/internal/plan"
)

// MarkerTable is the table in which brunt notes what it created and filled, one row a table.
const MarkerTable = "brunt_tables"

// markerColumns are its columns, all texts; the first is the key.
func markerColumns() []string {
	return []string{"name", "origin", "state", "seed", "row_count", "plan", "brunt", "since"}
}

// Marker is a row of MarkerTable: what brunt knows of one table.
type Marker struct {
	Name   string
	Origin string // "created" by brunt, or somebody else's that it has "filled"
	State  string // "unfinished" or "complete"
	Seed   string // in decimal; its rows are of this seed
	Rows   string // in decimal; that the plan had for it
	Plan   string // differs when rows would
	Brunt  string // version of the program
	Since  string // RFC 3339, UTC
}

func (m *Marker) values() []*string {
	return []*string{&m.Name, &m.Origin, &m.State, &m.Seed, &m.Rows, &m.Plan, &m.Brunt, &m.Since}
}

// Read takes a row of ReadMarkers; null is "".
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

// CreateMarkers writes the statement that creates MarkerTable. On Picodata it is global, so that
// every node can read it while others are down.
func (f Flavor) CreateMarkers() string {
	text, _, _ := f.CreateTable(markerTable(), nil) // its columns are of a type that every flavor has
	return text
}

// DropMarkers writes the statement that drops MarkerTable, which has been seen to be empty. It is ""
// for Picodata, where a change of the schema waits for every node. PostgreSQL looks once more under
// a lock, for another brunt may have begun to use it.
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

// ReadMarkers writes the query for all markers; see Marker.Read.
func (f Flavor) ReadMarkers() string {
	return "SELECT " + f.quoteAll(markerColumns()) + " FROM " + f.quote(MarkerTable)
}

// AddMarker writes the statement that adds a table's marker, which must not be there.
func (f Flavor) AddMarker(m *Marker) string {
	var values []string
	for _, v := range m.values() {
		values = append(values, f.text(*v))
	}
	return "INSERT INTO " + f.quote(MarkerTable) + " (" + f.quoteAll(markerColumns()) + ") VALUES (" +
		strings.Join(values, ", ") + ")"
}

// FinishMarkers writes the statement that says that tables are complete.
func (f Flavor) FinishMarkers(tables []string) string {
	return "UPDATE " + f.quote(MarkerTable) + " SET " + f.quote("state") + " = 'complete'" + f.markersOf(tables)
}

// RemoveMarkers writes the statement that removes tables' markers.
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

// CountRows writes a query whose one value is the number of table's rows.
func (f Flavor) CountRows(table string) string { return "SELECT COUNT(*) FROM " + f.quote(table) }

// HasTable writes a query whose one value is 1 if table exists and 0 otherwise.
func (f Flavor) HasTable(table string) string {
	switch f.product {
	case Picodata:
		return `SELECT COUNT(*) FROM "_pico_table" WHERE "name" = ` + f.text(table)
	case Tarantool:
		return `SELECT COUNT(*) FROM "_space" WHERE "name" = ` + f.text(table)
	case SQLite:
		return "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = " + f.text(table)
	case MySQL:
		return "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = " +
			f.text(table)
	}
	return "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass(" + f.text(f.quote(table)) +
		") AND relkind IN ('r', 'p')"
}

// SelectAll writes a query for columns of all of table's rows, in any order.
func (f Flavor) SelectAll(table string, columns []string) string {
	return "SELECT " + f.quoteAll(columns) + " FROM " + f.quote(table)
}

// SelectByKey writes a query for columns of the rows whose column key lies between two values, both
// included, in any order.
func (f Flavor) SelectByKey(table string, columns []string, key string, lo, hi *gen.Value) string {
	return f.SelectAll(table, columns) + " WHERE " + f.quote(key) + " BETWEEN " + f.Literal(lo) + " AND " + f.Literal(hi)
}

// SelectIn writes a query for columns of the rows that have one of values in the column key, in any
// order.
func (f Flavor) SelectIn(table string, columns []string, key string, values []gen.Value) string {
	literals := make([]string, len(values))
	for i := range values {
		literals[i] = f.Literal(&values[i])
	}
	return f.SelectAll(table, columns) + " WHERE " + f.quote(key) + " IN (" + strings.Join(literals, ", ") + ")"
}

// MostRows is how many rows of so many columns one query may ask for; 0 means any number. Picodata
// executes at most 45 000 steps of its virtual machine a statement (sql_vdbe_opcode_max): about
// columns + 5 a row, and more to find it by its key. It moves at most 5000 rows (sql_motion_row_max).
func (f Flavor) MostRows(columns int) uint64 {
	const steps, most = 45_000, 5000
	if f.product != Picodata {
		return 0
	}
	return uint64(min(max(steps/(2*(columns+12)), 1), most))
}

// Transactions reports whether what is between BEGIN and COMMIT is done as a whole or not at all.
// Picodata accepts both and undoes nothing.
func (f Flavor) Transactions() bool { return f.product != Picodata }

// Analyze writes the statement that makes the planner's statistics of table again; "" where the server has
// none or keeps them by itself. Cheap: PostgreSQL and MySQL read a sample of the rows.
func (f Flavor) Analyze(table string) string {
	switch f.product {
	case PostgreSQL, SQLite:
		return "ANALYZE " + f.quote(table)
	case MySQL:
		return "ANALYZE TABLE " + f.quote(table)
	}
	return ""
}

// Greatest writes a query whose one value is the greatest that table has in column, null without rows.
func (f Flavor) Greatest(table, column string) string {
	return "SELECT MAX(" + f.quote(column) + ") FROM " + f.quote(table)
}
