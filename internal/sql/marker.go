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
		return "DO $$ BEGIN LOCK TABLE " + name + "; IF NOT EXISTS (SELECT FROM " + name + ") THEN DROP TABLE " + name + "; END IF; END $$"
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
	return "INSERT INTO " + f.quote(MarkerTable) + " (" + f.quoteAll(markerColumns()) + ") VALUES (" + strings.Join(values, ", ") + ")"
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
