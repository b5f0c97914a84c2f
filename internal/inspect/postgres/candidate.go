package postgres

import (
	"cmp"
	"slices"
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
