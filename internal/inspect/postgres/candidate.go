package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
)

// candidate is an index that could help a statement.
type candidate struct {
	table   string   // with its schema, quoted
	columns []string // quoted columns, with DESC if needed, or expressions; either may have an operator class
	where   string   // condition of a partial index; "" if it isn't partial
	using   string   // access method; "" for a B-tree
	// others are the keys of further indexes on the table that only help together with the first: PostgreSQL
	// combines them for conditions joined by OR.
	others []string
}

func (c *candidate) key() string {
	return c.table + " (" + strings.Join(append([]string{strings.Join(c.columns, ", ")}, c.others...), ") (") + ") " +
		c.where + " " + c.using
}

// on returns, for each index, the text after CREATE INDEX … ON.
func (c *candidate) on() []string {
	text := c.table
	if c.using != "" {
		text += " using " + c.using
	}
	text += " (" + strings.Join(c.columns, ", ") + ")"
	if c.where != "" {
		text += " where " + c.where
	}
	out := []string{text}
	for _, o := range c.others {
		out = append(out, c.table+" ("+o+")")
	}
	return out
}

// special reports whether the index contains an expression or an operator class, not just plain columns.
func (c *candidate) special() bool {
	return c.using != "" || slices.ContainsFunc(append(slices.Clone(c.columns), c.others...), func(k string) bool {
		return strings.Contains(k, "(") || strings.HasSuffix(k, patternClass)
	})
}

// patternClass is the operator class for LIKE with a fixed prefix, which is needed unless the collation is C
// (PostgreSQL's documentation, "Operator Classes and Operator Families").
const patternClass = " text_pattern_ops"

// tableUse describes how a plan uses the rows of one of its tables.
type tableUse struct {
	table       string
	equal       []string   // columns that are compared by = with a value or another table's column
	ranged      []string   // columns that are compared by <, >, <= or >=
	order       []string   // sort order of the rows
	partial     []string   // conditions with constants, which are the same in each call
	expressions []string   // compared functions, operators and casts of columns, with operator classes
	either      [][]string // columns or expressions whose conditions are joined by OR
	inverted    []string   // columns or expressions whose conditions a GIN index serves, with operator classes
}

const mostColumns = 4

// candidates returns the indexes that might help a plan: on each compared column, on all compared columns together,
// with the sort order after them, and partial ones for conditions that never change. distinct returns the number of
// different values of a column.
func candidates(root *node, known *catalog, distinct func(table, column string) float64) []candidate {
	var out []candidate
	seen := map[string]bool{}
	add := func(c candidate) {
		if len(c.columns) > 0 && len(c.columns) <= mostColumns && !seen[c.key()] {
			seen[c.key()] = true
			out = append(out, c)
		}
	}
	for _, w := range tableUses(root, known) {
		for _, e := range w.expressions {
			add(candidate{table: w.table, columns: []string{e}})
		}
		for _, e := range w.inverted {
			add(candidate{table: w.table, columns: []string{e}, using: gin})
		}
		for _, sides := range w.either {
			for _, side := range sides {
				add(candidate{table: w.table, columns: []string{side}})
			}
			add(candidate{table: w.table, columns: sides[:1], others: sides[1:]})
		}
		equal := slices.Clone(w.equal)
		slices.SortStableFunc(equal, func(a, b string) int { return cmp.Compare(distinct(w.table, b), distinct(w.table, a)) })
		for _, c := range append(slices.Clone(equal), w.ranged...) {
			add(candidate{table: w.table, columns: quoted(c)})
		}
		all := quoted(equal...)
		add(candidate{table: w.table, columns: all})
		for _, c := range w.ranged {
			add(candidate{table: w.table, columns: append(slices.Clone(all), quoted(c)...)})
		}
		ordered := append(slices.Clone(all), w.order...)
		if len(w.order) > 0 {
			add(candidate{table: w.table, columns: ordered})
			add(candidate{table: w.table, columns: w.order})
		}
		if where := strings.Join(w.partial, " and "); where != "" {
			for _, columns := range [][]string{ordered, all, quoted(w.ranged...), w.order} {
				add(candidate{table: w.table, columns: columns, where: where})
			}
			for _, c := range w.partial {
				if k := conditions(c); len(k) == 1 && len(ordered) == 0 {
					add(candidate{table: w.table, columns: quoted(k[0].column), where: where})
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

// quoteWhereNeeded quotes a name unless it is valid without quotes.
func quoteWhereNeeded(name string) string {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return sqltext.Quote(name)
		}
	}
	return name
}

// tableUses returns one tableUse for each table of a plan, sorted by table.
func tableUses(root *node, known *catalog) []tableUse {
	tables := tablesOf(root)
	by := map[string]*tableUse{}
	get := func(alias string) *tableUse {
		if tables[alias] == "" {
			return nil
		}
		if by[alias] == nil {
			by[alias] = &tableUse{table: tables[alias]}
		}
		return by[alias]
	}
	root.walk(func(n *node, _ int) {
		for _, text := range []string{n.Filter, n.JoinFilter} {
			for _, sides := range disjunctions(text) {
				for i := range sides {
					known.settle(&sides[i], unquoted(tables[sides[i].alias]))
				}
				if w := get(sides[0].alias); w != nil {
					w.takeEither(sides)
				}
			}
		}
		for _, c := range n.conditions() {
			if w := get(c.alias); w != nil {
				known.settle(&c, unquoted(w.table))
				w.take(&c)
				once(&w.inverted, known.inverted(&c, unquoted(w.table)))
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
	var out []tableUse
	for _, w := range by {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b tableUse) int { return cmp.Compare(a.table, b.table) })
	return out
}

// take adds a condition on the table.
func (w *tableUse) take(c *condition) {
	constant := c.literal != "" || strings.HasPrefix(c.operator, "IS ")
	if constant && c.expression == "" {
		once(&w.partial, withoutAlias(c))
	}
	if key := c.indexed(); key != quoteWhereNeeded(c.column) {
		once(&w.expressions, key)
		once(&w.expressions, strings.TrimSuffix(key, patternClass)) // suffices if the collation is C
	}
	if c.expression != "" && c.cast == "" {
		return
	}
	switch c.operator {
	case "=":
		once(&w.equal, c.column)
	case "<", ">", "<=", ">=":
		once(&w.ranged, c.column)
	}
}

// indexed returns the key of an index that serves the condition, in the syntax of CREATE INDEX; "" if there is
// none.
func (c *condition) indexed() string {
	key := quoteWhereNeeded(c.column)
	if c.expression != "" {
		key = "(" + c.expression + ")"
	}
	if c.varies {
		return ""
	}
	switch c.operator {
	case "=", "<", ">", "<=", ">=":
		return key
	case "~~":
		if beginning(c.literal) != "" {
			return key + patternClass
		}
	}
	return ""
}

// beginning returns the fixed prefix of a LIKE pattern, which is given as a quoted constant.
func beginning(literal string) string {
	text := strings.Trim(literal, "'")
	if i := strings.IndexAny(text, `%_\`); i >= 0 {
		return text[:i]
	}
	return text
}

// takeEither adds a disjunction, if an index can serve each of its sides and all are about the same table.
func (w *tableUse) takeEither(sides []condition) {
	var all []string
	for i := range sides {
		key := sides[i].indexed()
		if key == "" || sides[i].alias != sides[0].alias {
			return
		}
		once(&all, key)
	}
	if len(all) <= mostColumns && !slices.ContainsFunc(w.either, func(o []string) bool { return slices.Equal(o, all) }) {
		w.either = append(w.either, all)
	}
}

// withoutAlias returns a condition in the form needed for a partial index.
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

// orderOf parses the keys of a sort. It returns "" unless all are columns of one table.
func orderOf(keys []string) (alias string, order []string) {
	for _, k := range keys {
		words, down := sqltext.Words(k), ""
		if n := len(words); n > 2 && words[n-2].Is("NULLS") {
			words, down = words[:n-2], " nulls "+strings.ToLower(words[n-1].Text)
		}
		if n := len(words); n > 1 && words[n-1].Is("DESC") {
			words, down = words[:n-1], " desc"+down
		}
		a, column, ok := columnOf(words)
		if !ok || alias != "" && a != alias {
			return "", nil
		}
		alias, order = a, append(order, quoteWhereNeeded(column)+down)
	}
	return alias, order
}

// present chooses arguments for a statement whose own aren't known: values from existing rows, in the columns that
// the parameters are compared with. It returns nil if there is no such row or a parameter has no usual value.
func (s *session) present(ctx context.Context, r *request, generic *node, types []string) []*string {
	out := make([]*string, len(types))
	columns := map[string]map[string][]int{} // table → column or expression → indexes of parameters
	tables := tablesOf(generic)
	patterns := map[int]bool{}
	generic.walk(func(n *node, _ int) {
		for _, c := range n.conditions() {
			if (c.operator == "~~" || c.operator == "~~*") && c.param > 0 {
				patterns[c.param-1] = true
			}
			if c.param < 1 || c.param > len(out) || tables[c.alias] == "" || c.varies {
				continue
			}
			table, of := tables[c.alias], sqltext.Quote(c.column)
			if c.expression != "" {
				of = c.expression
				if calls, err := s.volatile(ctx, of, ""); err != nil || len(calls) > 0 {
					continue // reading it would execute a function that may have side effects
				}
			}
			if columns[table] == nil {
				columns[table] = map[string][]int{}
			}
			columns[table][of] = append(columns[table][of], c.param-1)
		}
	})
	for table, wanted := range columns {
		if !s.row(ctx, table, wanted, out) {
			return nil
		}
	}
	places := placesOf(r.text)
	for i := range out {
		kind := types[i]
		if out[i] != nil {
			switch {
			case strings.HasSuffix(kind, "[]"):
				*out[i] = arrayOf(*out[i])
			case patterns[i]:
				*out[i] = patternOf(*out[i])
			}
			continue
		}
		value, ok := usual(kind)
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

// conditions returns all conditions of a node.
func (n *node) conditions() []condition {
	var out []condition
	for _, text := range []string{n.Filter, n.IndexCond, n.RecheckCond, n.HashCond, n.MergeCond, n.JoinFilter} {
		out = append(out, conditions(text)...)
	}
	return out
}

// tablesOf returns the tables of a plan by alias, quoted and with their schemas.
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

// row sets the parameters in out to the values of one row of a table. wanted maps columns and expressions to the
// indexes of the parameters that they are compared with. It returns false if there is no row without nulls in them.
func (s *session) row(ctx context.Context, table string, wanted map[string][]int, out []*string) bool {
	var list, full, order []string
	for c := range wanted {
		list = append(list, "("+c+")::text")
		full = append(full, "("+c+") is not null")
		order = append(order, c)
	}
	// Try a random sample of pages first: a table's first row is often its oldest and not representative.
	for _, sample := range []string{" tablesample system (1)", ""} {
		r, err := s.query(ctx, fmt.Sprintf("select %s from %s%s where %s limit 1", strings.Join(list, ", "), table, sample,
			strings.Join(full, " and ")))
		if err != nil || len(r.rows) == 0 {
			continue
		}
		for k, c := range order {
			for _, p := range wanted[c] {
				value := *r.rows[0][k]
				out[p] = &value
			}
		}
		return true
	}
	return false
}

// placesOf returns "LIMIT" or "OFFSET" for each parameter, by number, that directly follows that word.
func placesOf(text string) map[int]string {
	out := map[int]string{}
	last := ""
	for _, t := range sqltext.Words(text) {
		if n, ok := t.Parameter(); ok && (last == "LIMIT" || last == "OFFSET") {
			out[n] = last
		}
		last = strings.ToUpper(t.Text)
	}
	return out
}

// arrayOf returns an array literal with one value.
func arrayOf(value string) string {
	return `{"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"}`
}

// patternOf returns a pattern that a value matches: some characters of its middle, with anything around them. The
// server's statistics don't tell which wildcards a service sends; those at both ends are the most common ones.
func patternOf(value string) string {
	const most = 5
	r := []rune(value)
	if n := len(r); n > most {
		r = r[(n-most)/2:][:most]
	}
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(string(r)) + "%"
}

// usual returns an arbitrary value of a type. ok is false for unknown types.
func usual(kind string) (value string, ok bool) {
	if strings.HasSuffix(kind, "[]") {
		return "{}", true
	}
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
	case "interval":
		return "1 day", true
	}
	return "", false
}
