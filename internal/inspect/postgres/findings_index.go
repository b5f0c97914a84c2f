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
		return message.New("find.seq-scan.advice", table, message.Text("columns", strings.Join(equal, ", ")))
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
		case k.cast != "" && key != "":
			if !c.immutable(k, n.table()) {
				index = message.Message{}
			}
			return message.New("find.seq-scan.cast", message.Text("column", k.column), message.Text("cast", k.cast),
				message.Text("type", c.catalog.columns[n.table()+"."+k.column].kind), message.Nested("index", index))
		case k.expression != "" && key != "" && c.immutable(k, n.table()):
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
	table := message.Text("table", shown(n.table()))
	key := quoteWhereNeeded(k.column)
	if k.expression != "" {
		key = "(" + k.expression + ")"
	}
	if k.operator == "~~" && (beginning(k.literal) != "" || k.param > 0) && c.immutable(k, n.table()) {
		return message.New("find.seq-scan.like", table, message.Text("key", key+patternClass))
	}
	return message.New("find.seq-scan.pattern", table, message.Text("key", key))
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
