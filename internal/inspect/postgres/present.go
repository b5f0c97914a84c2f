package postgres

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"brunt/internal/sqltext"
)

// present chooses arguments for a statement whose own aren't known: what a row of its tables holds in
// the columns that they are compared with. nil means that there is no such row.
func (s *session) present(ctx context.Context, r *request, generic *node, types *result) []*string {
	out := make([]*string, len(types.rows))
	columns := map[string]map[string][]int{} // by table: by column: which parameters
	tables := tablesOf(generic)
	generic.walk(func(n *node, _ int) {
		for _, c := range n.conditions() {
			if c.param < 1 || c.param > len(out) || tables[c.alias] == "" {
				continue
			}
			table := tables[c.alias]
			if columns[table] == nil {
				columns[table] = map[string][]int{}
			}
			columns[table][c.column] = append(columns[table][c.column], c.param-1)
		}
	})
	for table, wanted := range columns {
		if !s.row(ctx, table, wanted, out) {
			return nil
		}
	}
	places := placesOf(r.text)
	for i := range out {
		if out[i] != nil {
			continue
		}
		value, ok := usual(types.at(i, "type"))
		switch {
		case places[i+1] == "LIMIT" && r.statement.Calls > 0:
			value, ok = strconv.Itoa(max(int(math.Ceil(r.statement.Rows/r.statement.Calls)), 1)), true
		case places[i+1] == "OFFSET":
			value, ok = "0", true
		}
		if !ok {
			return nil
		}
		out[i] = &value
	}
	return out
}

// conditions are all that a node holds rows to.
func (n *node) conditions() []condition {
	var out []condition
	for _, text := range []string{n.Filter, n.IndexCond, n.RecheckCond, n.HashCond, n.MergeCond, n.JoinFilter} {
		out = append(out, conditions(text)...)
	}
	return out
}

// tablesOf are the tables of a plan by their aliases, with their schemas, quoted.
func tablesOf(root *node) map[string]string {
	out := map[string]string{}
	root.walk(func(n *node, _ int) {
		if n.Relation == "" {
			return
		}
		name := sqltext.Quote(n.Relation)
		if n.Schema != "" {
			name = sqltext.Quote(n.Schema) + "." + name
		}
		out[n.Alias] = name
	})
	return out
}

// row takes a row's values for the parameters that its columns are compared with.
func (s *session) row(ctx context.Context, table string, wanted map[string][]int, out []*string) bool {
	var list, full []string
	for c := range wanted {
		list = append(list, sqltext.Quote(c)+"::text as "+sqltext.Quote(c))
		full = append(full, sqltext.Quote(c)+" is not null")
	}
	// A sample of pages first: a table's first row is often its oldest, and unlike the others.
	for _, sample := range []string{" tablesample system (1)", ""} {
		r, err := s.query(ctx, fmt.Sprintf("select %s from %s%s where %s limit 1", strings.Join(list, ", "), table, sample, strings.Join(full, " and ")))
		if err != nil || len(r.rows) == 0 {
			continue
		}
		for k, c := range r.columns {
			for _, p := range wanted[c] {
				out[p] = r.rows[0][k]
			}
		}
		return true
	}
	return false
}

// placesOf says which parameters stand right after LIMIT or OFFSET, by their numbers.
func placesOf(text string) map[int]string {
	out := map[int]string{}
	last := ""
	for _, t := range sqltext.Split(text) {
		if t.Kind == sqltext.Space {
			continue
		}
		if n, ok := t.Parameter(); ok && (last == "LIMIT" || last == "OFFSET") {
			out[n] = last
		}
		last = strings.ToUpper(t.Text)
	}
	return out
}

// usual is a value of a type, where any will do.
func usual(kind string) (value string, ok bool) {
	switch base, _, _ := strings.Cut(kind, "("); base {
	case "smallint", "integer", "bigint", "numeric", "real", "double precision":
		return "1", true
	case "text", "character varying", "character", "\"char\"", "name", "unknown":
		return "x", true
	case "boolean":
		return "true", true
	case "date", "timestamp without time zone", "timestamp with time zone":
		return "2024-01-01", true
	case "uuid":
		return "00000000-0000-0000-0000-000000000000", true
	case "json", "jsonb":
		return "{}", true
	}
	return "", false
}
