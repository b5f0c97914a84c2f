package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/sqltext"
)

// candidate is an index that a statement's plan asks for.
type candidate struct {
	table   string   // with its schema, quoted
	columns []string // quoted, with DESC where the order wants it
	where   string   // of a partial index; "" for a whole one
}

func (c *candidate) key() string {
	return c.table + " (" + strings.Join(c.columns, ", ") + ") " + c.where
}

// on is what follows CREATE INDEX … ON.
func (c *candidate) on() string {
	text := c.table + " (" + strings.Join(c.columns, ", ") + ")"
	if c.where != "" {
		text += " where " + c.where
	}
	return text
}

// wish is what a plan does with the rows of one of its tables.
type wish struct {
	table   string
	equal   []string // columns compared with one value, or with another table's column
	ranged  []string // columns compared otherwise
	order   []string // that rows are wanted in
	partial []string // conditions that are the same at each call
}

const mostColumns = 4

// candidates are the indexes that might serve a plan: each column compared, all that are compared
// together, with the order wanted behind them, and partial ones for conditions that never change.
func candidates(root *node, distinct func(table, column string) float64) []candidate {
	var out []candidate
	seen := map[string]bool{}
	add := func(c candidate) {
		if len(c.columns) > 0 && len(c.columns) <= mostColumns && !seen[c.key()] {
			seen[c.key()] = true
			out = append(out, c)
		}
	}
	for _, w := range wishes(root) {
		equal := slices.Clone(w.equal)
		slices.SortStableFunc(equal, func(a, b string) int { return cmp.Compare(distinct(w.table, b), distinct(w.table, a)) })
		for _, c := range append(slices.Clone(equal), w.ranged...) {
			add(candidate{w.table, quoted(c), ""})
		}
		all := quoted(equal...)
		add(candidate{w.table, all, ""})
		for _, c := range w.ranged {
			add(candidate{w.table, append(slices.Clone(all), quoted(c)...), ""})
		}
		ordered := append(slices.Clone(all), w.order...)
		if len(w.order) > 0 {
			add(candidate{w.table, ordered, ""})
			add(candidate{w.table, w.order, ""})
		}
		if where := strings.Join(w.partial, " and "); where != "" {
			for _, columns := range [][]string{ordered, all, quoted(w.ranged...), w.order} {
				add(candidate{w.table, columns, where})
			}
			for _, c := range w.partial {
				if k := conditions(c); len(k) == 1 && len(ordered) == 0 {
					add(candidate{w.table, quoted(k[0].column), where})
				}
			}
		}
	}
	return out
}

func quoted(columns ...string) []string {
	out := make([]string, 0, len(columns))
	for _, c := range columns {
		out = append(out, quoteWhereNeeded(c))
	}
	return out
}

// quoteWhereNeeded quotes a name unless everybody would write it without.
func quoteWhereNeeded(name string) string {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return sqltext.Quote(name)
		}
	}
	return name
}

// wishes reads a plan: one wish for each of its tables.
func wishes(root *node) []wish {
	tables := tablesOf(root)
	by := map[string]*wish{}
	get := func(alias string) *wish {
		if tables[alias] == "" {
			return nil
		}
		if by[alias] == nil {
			by[alias] = &wish{table: tables[alias]}
		}
		return by[alias]
	}
	root.walk(func(n *node, _ int) {
		for _, c := range n.conditions() {
			if w := get(c.alias); w != nil {
				w.take(&c)
			}
			if w := get(c.otherAlias); w != nil && c.operator == "=" {
				once(&w.equal, c.otherColumn)
			}
		}
		if strings.HasSuffix(n.Type, "Sort") {
			if alias, order := orderOf(n.SortKey); alias != "" {
				if w := get(alias); w != nil && w.order == nil {
					w.order = order
				}
			}
		}
	})
	var out []wish
	for _, w := range by {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b wish) int { return cmp.Compare(a.table, b.table) })
	return out
}

// take notes a condition on the wish's table.
func (w *wish) take(c *condition) {
	constant := c.literal != "" || strings.HasPrefix(c.operator, "IS ")
	if constant {
		once(&w.partial, withoutAlias(c))
	}
	switch c.operator {
	case "=":
		once(&w.equal, c.column)
	case "<", ">", "<=", ">=":
		once(&w.ranged, c.column)
	}
}

// withoutAlias is a condition as a partial index has it.
func withoutAlias(c *condition) string {
	column := quoteWhereNeeded(c.column)
	switch {
	case c.operator == "IS TRUE":
		return column
	case c.operator == "IS FALSE":
		return "not " + column
	case strings.HasPrefix(c.operator, "IS "):
		return column + " " + strings.ToLower(c.operator)
	}
	return column + " " + c.operator + " " + c.literal
}

func once(list *[]string, s string) {
	if s != "" && !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// orderOf reads the keys of a sort, if all are columns of one table.
func orderOf(keys []string) (alias string, order []string) {
	for _, k := range keys {
		var words []sqltext.Token
		for _, t := range sqltext.Split(k) {
			if t.Kind != sqltext.Space {
				words = append(words, t)
			}
		}
		down := ""
		if n := len(words); n > 1 && words[n-1].Is("DESC") {
			words, down = words[:n-1], " desc"
		}
		a, column, ok := columnOf(words)
		if !ok || alias != "" && a != alias {
			return "", nil
		}
		alias, order = a, append(order, quoteWhereNeeded(column)+down)
	}
	return alias, order
}

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
		r, err := s.query(ctx, fmt.Sprintf("select %s from %s%s where %s limit 1", strings.Join(list, ", "), table, sample,
			strings.Join(full, " and ")))
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
