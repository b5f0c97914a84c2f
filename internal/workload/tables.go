package workload

import (
	"fmt"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/plan"
)

// tables makes and remembers the generators of the plan's columns. It is used while compiling
// only, by one goroutine.
type tables struct {
	plan *plan.Plan
	made map[columnKey]gen.Generator // nil while being made
}

type columnKey struct{ table, column string }

func newTables(p *plan.Plan) *tables {
	return &tables{plan: p, made: map[columnKey]gen.Generator{}}
}

func (t *tables) find(table, column string) (*plan.Table, *plan.Column) {
	for i := range t.plan.Tables {
		tb := &t.plan.Tables[i]
		if tb.Name != table {
			continue
		}
		for k := range tb.Columns {
			if tb.Columns[k].Name == column {
				return tb, &tb.Columns[k]
			}
		}
		return tb, nil
	}
	return nil, nil
}

// lookup is a gen.Lookup over the plan's tables.
func (t *tables) lookup(table, column string) (gen.Generator, uint64, error) {
	tb, col := t.find(table, column)
	if tb == nil {
		return nil, 0, fmt.Errorf("no table %q to refer to; add it to tables_schema", table)
	}
	if col == nil {
		return nil, 0, fmt.Errorf("no column %q in table %q to refer to; name one of its columns", column, table)
	}
	g, err := t.column(tb, col)
	return g, tb.Rows, err
}

func (t *tables) column(tb *plan.Table, col *plan.Column) (gen.Generator, error) {
	key := columnKey{tb.Name, col.Name}
	if g, seen := t.made[key]; seen {
		if g == nil {
			return nil, fmt.Errorf("column %q of table %q refers to itself in a circle; break the circle", col.Name, tb.Name)
		}
		return g, nil
	}
	t.made[key] = nil
	stream := gen.NewStream(t.plan.Seed, "table", tb.Name, col.Name)
	if col.SameRow != "" {
		stream = gen.NewStream(t.plan.Seed, "table", tb.Name, "row", col.SameRow)
	}
	g, err := gen.New(&col.Spec, stream, tb.Rows, t.lookup)
	if err != nil {
		delete(t.made, key)
		return nil, fmt.Errorf("table %q, column %q: %w", tb.Name, col.Name, err)
	}
	t.made[key] = g
	return g, nil
}

// resolve follows references to the spec that the values really have.
func (t *tables) resolve(s *gen.Spec) *gen.Spec {
	for range t.columns() + 1 {
		if s.Type != gen.TypeReference {
			return s
		}
		_, col := t.find(s.Table, s.Column)
		if col == nil {
			return s
		}
		s = &col.Spec
	}
	return s
}

// columns bounds the length of a chain of references.
func (t *tables) columns() int {
	n := 0
	for i := range t.plan.Tables {
		n += len(t.plan.Tables[i].Columns)
	}
	return n
}

func (t *tables) kind(s *gen.Spec) gen.Kind { return t.resolve(s).Kind() }

// typeName is the plan type of a column's values in lower case, as a loader needs it.
func (t *tables) typeName(s *gen.Spec) string {
	s = t.resolve(s)
	switch s.Type {
	case gen.TypeConstant:
	case gen.TypeOneOf:
		return string(gen.TypeString)
	default:
		return string(s.Type)
	}
	switch s.Kind() {
	case gen.Int:
		return string(gen.TypeInteger)
	case gen.Uint:
		return string(gen.TypeUnsigned)
	case gen.Float:
		return string(gen.TypeDouble)
	case gen.Bool:
		return string(gen.TypeBoolean)
	case gen.Datetime:
		return string(gen.TypeDatetime)
	}
	return string(gen.TypeString)
}

// Rows returns a function that fills values with row number row of a table, in column order,
// and the table's columns as a loader needs them. values must be at least as long as columns;
// the function is safe for concurrent use with different values and allocates nothing once they
// have been used before. A column that refers to another has that column's type. Errors name the
// table and column.
func Rows(p *plan.Plan, table *plan.Table) (row func(values []gen.Value, row uint64), columns []driver.Column, err error) {
	t := newTables(p)
	generators := make([]gen.Generator, len(table.Columns))
	columns = make([]driver.Column, len(table.Columns))
	for i := range table.Columns {
		col := &table.Columns[i]
		if generators[i], err = t.column(table, col); err != nil {
			return nil, nil, fmt.Errorf("make rows: %w", err)
		}
		columns[i] = driver.Column{Name: col.Name, Type: t.typeName(&col.Spec)}
	}
	return func(values []gen.Value, row uint64) {
		for i, g := range generators {
			g.Value(&values[i], row)
		}
	}, columns, nil
}
