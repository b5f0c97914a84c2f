package datagen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/plan/workload"
)

// about holds the options that a script gives in addition to the columns.
type about struct {
	seed uint64
	rows uint64 // rows of the table; 0: no limit
	name string // generators with different names are independent
}

func readAbout(a *bind.Args, at int, seed uint64) about {
	s := a.Settings(at, "the options", "seed", "rows", "name")
	return about{
		seed: uint64(s.Whole("seed", 0, 1<<63-1, int64(seed&(1<<63-1)))),
		rows: uint64(s.Whole("rows", 0, 1<<62, 0)),
		name: s.Text("name", "values"),
	}
}

// column is a column of a table as plans write it (docs/plan.md), without its name.
type column struct {
	name string
	spec map[string]any
}

// generator(spec, options) generates single values. spec is a column as in a plan, or the name of a type.
func (i *instance) generator(a *bind.Args) (any, error) {
	spec := map[string]any{}
	switch x := a.Plain(0).(type) {
	case string:
		spec["type"] = x
	case map[string]any:
		spec = x
	default:
		a.Fault(0, "what values", "a type's name, or an object with the keys of a column in a plan")
	}
	o := readAbout(a, 1, i.seed)
	if err := a.Err(); err != nil {
		return nil, err
	}
	columns := []column{{"value", spec}}
	s, err := i.columns(columns, o)
	if err != nil {
		return nil, fmt.Errorf("datagen.generator: %w", err)
	}
	return i.handle("datagen.generator()", s, i.value), nil
}

// rows(columns, options) generates objects. columns has a spec for each key.
func (i *instance) rows(a *bind.Args) (any, error) {
	specs, ok := a.Plain(0).(map[string]any)
	if !ok || len(specs) == 0 {
		a.Fault(0, "the columns", "an object with a spec for each of its keys")
	}
	o := readAbout(a, 1, i.seed)
	if err := a.Err(); err != nil {
		return nil, err
	}
	var columns []column
	for _, name := range a.At(0).ToObject(i.vu.Runtime()).Keys() {
		spec, ok := specs[name].(map[string]any)
		if text, isText := specs[name].(string); isText {
			spec, ok = map[string]any{"type": text}, true
		}
		if !ok {
			a.Failf("column %q isn't a type's name or an object with the keys of a column in a plan", name)
			return nil, a.Err()
		}
		columns = append(columns, column{name, spec})
	}
	s, err := i.columns(columns, o)
	if err != nil {
		return nil, fmt.Errorf("datagen.rows: %w", err)
	}
	return i.handle("datagen.rows()", s, i.object), nil
}

// table(file, table, options) generates the rows of a plan's table, the same that brunt schema up inserts.
func (i *instance) table(a *bind.Args) (any, error) {
	file, name := a.Text(0, "the plan's file"), a.Text(1, "the table")
	o := a.Settings(2, "the options", "seed")
	seed := o.Whole("seed", 0, 1<<63-1, 0)
	if err := a.Err(); err != nil {
		return nil, err
	}
	s, err := i.get(fmt.Sprintf("table %q %q %v %d", file, name, o.Has("seed"), seed), func() (*source, error) {
		data, err := i.vu.File(file)
		if err != nil {
			return nil, err
		}
		p, err := planfile.Read(file, data)
		if err != nil {
			return nil, err
		}
		if o.Has("seed") {
			p.Seed = uint64(seed)
		}
		at := slices.IndexFunc(p.Tables, func(t plan.Table) bool { return t.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("plan %s has no table %q", file, name)
		}
		return of(p, &p.Tables[at])
	})
	if err != nil {
		return nil, fmt.Errorf("datagen.table: %w", err)
	}
	return i.handle("datagen.table()", s, i.object), nil
}

// columns returns the source of the columns. All who ask for the same columns share it.
func (i *instance) columns(columns []column, o about) (*source, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "columns %+v", o)
	for _, c := range columns {
		text, err := bind.JSON(c.spec)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		fmt.Fprintf(&key, " %q %s", c.name, text)
	}
	return i.get(key.String(), func() (*source, error) { return fromColumns(columns, o) })
}

// fromColumns makes a source of columns. It writes them as a plan in JSON, which is valid YAML, and reads that.
func fromColumns(columns []column, o about) (*source, error) {
	list := make([]map[string]any, len(columns))
	for k, c := range columns {
		list[k] = maps.Clone(c.spec)
		list[k]["name"] = c.name
	}
	text, err := json.Marshal(map[string]any{
		"config_name": o.name, "seed": o.seed,
		"tables_schema": []any{map[string]any{"name": o.name, "row_count": o.rows, "columns": list}},
	})
	if err != nil {
		return nil, err
	}
	p, err := planfile.Read("", text)
	if err != nil {
		return nil, plan.FirstProblem(err)
	}
	return of(p, &p.Tables[0])
}

func of(p *plan.Plan, t *plan.Table) (*source, error) {
	row, columns, err := workload.Rows(p, t)
	if err != nil {
		return nil, err
	}
	s := &source{row: row, rows: t.Rows}
	for _, c := range columns {
		s.columns = append(s.columns, c.Name)
	}
	return s, nil
}
