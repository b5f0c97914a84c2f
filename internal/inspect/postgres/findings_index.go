package postgres

import (
	"context"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/render/message"
)

// adviseIndex says what would speed up the scan of a whole table: an index on the compared columns, or why such an
// index doesn't help and what does. filter is the condition of the scan.
func (c *caseFile) adviseIndex(n *node, filter string) message.Message {
	table := message.Text("table", shown(n.table()))
	all := conditions(filter)
	var equal []string
	for i := range all {
		k := &all[i]
		c.catalog.settle(k, n.table())
		if k.operator == "=" && k.otherColumn == "" && k.expression == "" {
			once(&equal, k.column)
		}
	}
	if len(equal) > 0 {
		c.wants(n.table(), equal[0])
		return message.Sentences(c.misordered(n.table(), equal),
			message.New("find.seq-scan.advice", table, message.Text("columns", strings.Join(equal, ", "))))
	}
	for i := range all {
		k := &all[i]
		key := k.indexed()
		index := message.New("find.seq-scan.expression", table, message.Text("key", key))
		switch {
		case k.otherColumn != "":
		case k.varies && c.immutable(k, n.table()):
			return message.New("find.seq-scan.varies", table, message.Text("key", "("+k.expression+")"))
		case k.operator == "~~" || k.operator == "~~*":
			return c.advisePattern(k, n)
		case c.catalog.inverted(k, n.table()) != "" && c.can(n.table(), "using gin ("+keyOf(k)+")"):
			return message.New("find.seq-scan.inverted", table, message.Text("key", keyOf(k)))
		case k.cast != "" && key != "":
			if !c.immutable(k, n.table()) || !c.can(n.table(), "("+key+")") {
				index = message.Message{}
			}
			return message.New("find.seq-scan.cast", message.Text("column", k.column), message.Text("cast", k.cast),
				message.Text("type", c.catalog.columns[n.table()+"."+k.column].kind), message.Nested("index", index))
		case k.expression != "" && key != "" && c.immutable(k, n.table()) && c.can(n.table(), "("+key+")"):
			return message.Sentences(index, message.New("find.seq-scan.prove"))
		}
	}
	for _, sides := range disjunctions(filter) {
		if keys := c.keysOf(sides, n.table()); len(keys) > 0 {
			return message.New("find.seq-scan.either", table, message.Text("keys", "("+strings.Join(keys, "), (")+")"))
		}
	}
	return message.New("find.seq-scan.no-index")
}

// advisePattern says which index serves a condition with LIKE.
func (c *caseFile) advisePattern(k *condition, n *node) message.Message {
	table, key := message.Text("table", shown(n.table())), keyOf(k)
	if !c.immutable(k, n.table()) {
		return message.New("find.seq-scan.no-index")
	}
	var out []message.Message
	if k.operator == "~~" && (beginning(k.literal) != "" || k.param > 0) && c.can(n.table(), "("+key+patternClass+")") {
		out = append(out, message.New("find.seq-scan.like", table, message.Text("key", key+patternClass)))
	}
	if beginning(k.literal) == "" && c.can(n.table(), "using gin ("+key+trigramClass+")") {
		out = append(out, message.New("find.seq-scan.pattern", table, message.Text("key", key)))
	}
	if len(out) == 0 {
		return message.New("find.seq-scan.no-index")
	}
	return message.Sentences(out...)
}

// keyOf returns the column or the expression that a condition compares, as the key of an index.
func keyOf(k *condition) string {
	if k.expression != "" {
		return "(" + k.expression + ")"
	}
	return quoteWhereNeeded(k.column)
}

// can reports whether the server accepts an index. on is what follows the table's name in CREATE INDEX.
func (c *caseFile) can(table, on string) bool {
	if c.possible == nil {
		return true
	}
	key := table + " " + on
	if _, ok := c.tried[key]; !ok {
		if c.tried == nil {
			c.tried = map[string]bool{}
		}
		c.tried[key] = c.possible(table, on)
	}
	return c.tried[key]
}

// wants notes that a finding advises to have an index that begins with a column, so that no other finding advises to
// drop one.
func (c *caseFile) wants(table, column string) { once(&c.wanted, table+" "+bare(column)) }

// misordered says that an index on the table has a compared column, but not as its first one, so that a comparison of
// this column alone can't use it.
func (c *caseFile) misordered(table string, equal []string) message.Message {
	for i := range c.catalog.indexes {
		f := &c.catalog.indexes[i]
		keys := f.keysOf()
		if f.table != table || len(keys) < 2 || slices.ContainsFunc(equal, func(e string) bool { return bare(e) == keys[0] }) {
			continue
		}
		for _, e := range equal {
			if slices.Contains(keys[1:], bare(e)) {
				return message.New("find.seq-scan.misordered", message.Text("index", shown(f.name)), message.Text("column", e),
					message.Text("first", keys[0]))
			}
		}
	}
	return message.Message{}
}

// keysOf returns the keys of the missing indexes that would serve all sides of a disjunction; none if some side
// can't be served.
func (c *caseFile) keysOf(sides []condition, table string) (keys []string) {
	for i := range sides {
		k := &sides[i]
		c.catalog.settle(k, table)
		key := k.indexed()
		if key == "" || k.otherColumn != "" || k.alias != sides[0].alias || !c.immutable(k, table) {
			return nil
		}
		if !c.catalog.indexed(table, key) {
			once(&keys, key)
		}
	}
	return keys
}

// steady lists types whose casts and operators don't depend on settings, unlike those of time types.
var steady = []string{"smallint", "integer", "bigint", "numeric", "text", "character varying", "character", "uuid",
	"boolean", "json", "jsonb"}

// immutable reports whether the compared expression may be indexed, that is, whether it is immutable.
func (c *caseFile) immutable(k *condition, table string) bool {
	if k.expression == "" {
		return true
	}
	for _, f := range functionsIn(k.expression) {
		if !c.steadyFunctions[f] {
			return false
		}
	}
	return slices.Contains(steady, c.catalog.columns[table+"."+k.column].kind)
}

// functionsIn returns the names of the functions that an expression calls.
func functionsIn(expression string) (names []string) {
	words := sqltext.Split(expression)
	for i := range words {
		if named(words[i]) && i+1 < len(words) && words[i+1].IsSign("(") && (i == 0 || words[i-1].Kind != sqltext.Cast) {
			once(&names, unquote(words[i]))
		}
	}
	return names
}

// steadyFunctions returns for each function in the conditions of the plans whether all functions of that name are
// immutable.
func (s *session) steadyFunctions(ctx context.Context, plans []queryPlan) (map[string]bool, error) {
	var names []string
	for i := range plans {
		if plans[i].root == nil {
			continue
		}
		plans[i].root.walk(func(n *node, _ int) {
			all := conditions(n.Filter)
			for _, sides := range disjunctions(n.Filter) {
				all = append(all, sides...)
			}
			for _, k := range all {
				for _, f := range functionsIn(k.expression) {
					once(&names, sqltext.QuoteText(f))
				}
			}
		})
	}
	out := map[string]bool{}
	if len(names) == 0 {
		return out, nil
	}
	r, err := s.query(ctx, "select proname::text as name, bool_and(provolatile = 'i') as steady from pg_proc where proname in ("+
		strings.Join(names, ", ")+") group by 1")
	if err != nil {
		return nil, err
	}
	for i := range r.rows {
		out[r.at(i, "name")] = r.at(i, "steady") == "t"
	}
	return out, nil
}
