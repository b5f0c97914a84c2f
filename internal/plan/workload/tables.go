package workload

import (
	"cmp"
	"fmt"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// tables creates the generators of the plan's columns, each once. It is used by one goroutine, during compilation only.
type tables struct {
	plan *plan.Plan
	made map[columnKey]gen.Generator
}

type columnKey struct{ table, column string }

func newTables(p *plan.Plan) *tables {
	return &tables{plan: p, made: map[columnKey]gen.Generator{}}
}

// lookup is the gen.Lookup for the plan's tables.
func (t *tables) lookup(table, column string) (gen.Generator, uint64, error) {
	tb, col := plan.FindColumn(t.plan.Tables, table, column)
	g, err := t.column(tb, col)
	return g, tb.Rows, err
}

func (t *tables) column(tb *plan.Table, col *plan.Column) (gen.Generator, error) {
	key := columnKey{tb.Name, col.Name}
	if g := t.made[key]; g != nil {
		return g, nil
	}
	stream := gen.NewStream(t.plan.Seed, "table", tb.Name, col.Name)
	if col.SameRow != "" {
		stream = gen.NewStream(t.plan.Seed, "table", tb.Name, "row", col.SameRow)
	}
	g, err := gen.New(&col.Spec, stream, tb.Rows, t.lookup)
	if err != nil {
		return nil, fmt.Errorf("table %q, column %q: %w", tb.Name, col.Name, err)
	}
	t.made[key] = g
	return g, nil
}

func (t *tables) kind(s *gen.Spec) gen.Kind { return plan.Resolve(s, t.plan.Tables).Kind() }

// typeName returns the plan's type of a column's values, in lower case, as loaders expect it.
func (t *tables) typeName(s *gen.Spec) string {
	return string(cmp.Or(plan.Resolve(s, t.plan.Tables).Holds(), gen.TypeString))
}

// Rows returns a function that fills values with row number row of a table, in the order of the columns, and the
// table's columns as loaders expect them. values must be at least as long as columns. The function is safe for
// concurrent use with different values, and allocates nothing for values that were used before. A column that refers to
// another column has that column's type. The plan must be valid. Errors name the table and the column.
func Rows(p *plan.Plan, table *plan.Table) (row func(values []gen.Value, row uint64), columns []protocol.Column,
	err error) {
	t := newTables(p)
	generators := make([]gen.Generator, len(table.Columns))
	columns = make([]protocol.Column, len(table.Columns))
	for i := range table.Columns {
		col := &table.Columns[i]
		if generators[i], err = t.column(table, col); err != nil {
			return nil, nil, fmt.Errorf("make rows: %w", err)
		}
		columns[i] = protocol.Column{Name: col.Name, Type: t.typeName(&col.Spec)}
	}
	return func(values []gen.Value, row uint64) {
		for i, g := range generators {
			g.Value(&values[i], row)
		}
	}, columns, nil
}
