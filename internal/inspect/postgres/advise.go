package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/record"
	"brunt/internal/sqltext"
)

const (
	mostAdvised   = 50
	mostProposals = 10
	leastSaved    = 0.02 // of all statements' costs, by one index
	alike         = 0.95 // gains that are the same for practical purposes
	leastTable    = 1000 // rows; smaller tables are read whole as fast
	dropIndex     = "DROP INDEX CONCURRENTLY IF EXISTS "
	writeCost     = 0.5 // the planner's units for a row written to one index more: a page that is mostly cached
)

// costed is a statement and what the planner thinks of it.
type costed struct {
	record.Statement
	text       string   // with its constants, if they are known
	arguments  []string // as SQL, which the cost is for; nil: for any
	cost       float64
	root       *node // nil if it can't be explained
	candidates []candidate
}

// advisor weighs indexes. Costs are of plans for any arguments, times the calls.
type advisor struct {
	session    *session
	catalog    catalog
	distinct   map[string]float64 // by table and column
	statements []*costed
	trial      trial
	relations  relations
}

// total is the costs of all statements.
func (a *advisor) total() (sum float64) {
	for _, s := range a.statements {
		sum += s.Calls * s.cost
	}
	return sum
}

// outcome is what a candidate changes.
type outcome struct {
	candidate candidate
	costs     []float64 // of each statement, with it
	gain      float64   // of calls × cost, less what writing to it costs
	sizeB     float64
}

// propose picks the index that saves most, then the one that saves most in addition to it, and so on.
func (a *advisor) propose(ctx context.Context) ([]record.Proposal, error) {
	var out []record.Proposal
	pool := a.pool()
	whole := a.total()
	for len(out) < mostProposals && len(pool) > 0 {
		var all []outcome
		var left []candidate
		for _, c := range pool {
			o, err := a.try(ctx, c)
			if err != nil {
				return out, err
			}
			if o == nil || o.gain < leastSaved*whole {
				continue // it will not save more next to others
			}
			all, left = append(all, *o), append(left, c)
		}
		best := choose(all)
		if best == nil {
			break
		}
		p, err := a.accept(ctx, best, whole, len(out))
		if err != nil {
			return out, err
		}
		out = append(out, *p)
		pool = slices.DeleteFunc(left, func(c candidate) bool { return c.key() == best.candidate.key() })
	}
	return out, nil
}

// choose takes the greatest gain, or, of gains that are nearly as great, the simplest index.
func choose(all []outcome) *outcome {
	if len(all) == 0 {
		return nil
	}
	most := slices.MaxFunc(all, func(a, b outcome) int { return cmp.Compare(a.gain, b.gain) }).gain
	all = slices.DeleteFunc(all, func(o outcome) bool { return o.gain < alike*most })
	best := slices.MinFunc(all, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(len(a.candidate.columns)+len(a.candidate.others),
			len(b.candidate.columns)+len(b.candidate.others)), oneIf(a.candidate.special())-oneIf(b.candidate.special()),
			cmp.Compare(a.sizeB, b.sizeB),
			cmp.Compare(b.gain, a.gain), cmp.Compare(a.candidate.key(), b.candidate.key()))
	})
	return &best
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// pool is the candidates of all statements on tables worth an index, without those that are there.
func (a *advisor) pool() []candidate {
	var out []candidate
	seen := map[string]bool{}
	for _, s := range a.statements {
		for _, c := range s.candidates {
			a.catalog.lessThoseThere(&c)
			if !seen[c.key()] && a.catalog.table(unquoted(c.table)).rows >= leastTable && !a.catalog.has(&c) {
				seen[c.key()] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// unquoted is schema.table as catalogs name it.
func unquoted(table string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(table, `"`), `"`), `"."`, ".")
}

// try costs all statements on the table next to a candidate; nil if the index can't be.
func (a *advisor) try(ctx context.Context, c candidate) (*outcome, error) {
	o := &outcome{candidate: c, costs: make([]float64, len(a.statements))}
	size, err := a.trial.with(ctx, c.on(), func() error {
		for k, s := range a.statements {
			o.costs[k] = s.cost
			if s.root == nil || !a.touches(s, c.table) {
				continue
			}
			e, err := a.session.costed(ctx, s.text, s.arguments)
			if err != nil {
				return err
			}
			o.costs[k] = min(e.Root.Cost, s.cost)
		}
		return nil
	})
	if err != nil {
		if ctx.Err() != nil || a.session.conn.IsClosed() {
			return nil, err
		}
		return nil, nil // an expression or a type that indexes don't take
	}
	o.sizeB = size
	for k, s := range a.statements {
		o.gain += s.Calls * (s.cost - o.costs[k])
		if a.writesTo(s, c.table) {
			o.gain -= max(s.Rows, s.Calls) * writeCost
		}
	}
	return o, nil
}

// touches reports whether a statement reads or changes a table: by its plan, or by its text if it has none.
func (a *advisor) touches(s *costed, table string) bool {
	if s.root == nil {
		return sqltext.Mentions(s.Text, a.relations.leadingTo(table))
	}
	for _, t := range tablesOf(s.root) {
		if t == table {
			return true
		}
	}
	return false
}

// writesTo reports whether a statement writes rows that an index would have to take up: those inserted,
// and new versions of rows updated. (A version on the same page with the indexed columns as they were is
// spared that; what share of them can be isn't known before.)
func (a *advisor) writesTo(s *costed, table string) (writes bool) {
	if s.root == nil {
		switch sqltext.FirstWord(s.Text) {
		case "INSERT", "UPDATE", "MERGE", "COPY":
			return a.touches(s, table)
		}
		return false
	}
	tables := tablesOf(s.root)
	s.root.walk(func(n *node, _ int) {
		writes = writes || n.Type == "ModifyTable" && (n.Operation == "Insert" || n.Operation == "Update" ||
			n.Operation == "Merge") && tables[n.Alias] == table
	})
	return writes
}

// accept keeps an index for the rounds that follow, and describes it.
func (a *advisor) accept(ctx context.Context, o *outcome, whole float64, number int) (*record.Proposal, error) {
	c := &o.candidate
	p := &record.Proposal{
		Table: shown(unquoted(c.table)), Columns: append(slices.Clone(c.columns), c.others...), Where: c.where,
		SizeB: o.sizeB, Proof: a.trial.proof(), Saves: o.gain / whole, Names: a.relations.leadingTo(c.table),
	}
	var build, drop, names []string
	for i, on := range c.on() {
		one := candidate{table: c.table, columns: c.columns, where: c.where}
		if i > 0 {
			one.columns = c.others[i-1 : i]
		}
		name, err := a.freeName(ctx, &one, number, names)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		build = append(build, "CREATE INDEX CONCURRENTLY "+quoteWhereNeeded(name)+" ON "+plainTable(c.table)+
			strings.TrimPrefix(strings.Replace(on, " where ", " WHERE ", 1), c.table))
		drop = append(drop, dropIndex+indexSchema(c.table)+quoteWhereNeeded(name))
	}
	if slices.ContainsFunc(p.Columns, func(k string) bool { return strings.Contains(k, "(") }) {
		// The planner knows nothing of an expression's values before.
		build = append(build, "ANALYZE "+plainTable(c.table))
	}
	p.Name, p.DDL, p.Drop = names[0], strings.Join(build, "; "), strings.Join(drop, "; ")
	if err := a.trial.keep(ctx, c.on()); err != nil {
		return nil, err
	}
	for k, s := range a.statements {
		e := record.Effect{Statement: s.ID, Text: s.Text, Calls: s.Calls, Before: s.cost, After: o.costs[k]}
		if e.After < alike*e.Before {
			p.Gains = append(p.Gains, e)
		}
		if a.touches(s, c.table) {
			p.Touching = append(p.Touching, s.ID)
		}
		if a.writesTo(s, c.table) {
			p.Pays = append(p.Pays, record.Effect{Statement: s.ID, Text: s.Text, Calls: s.Calls, Before: e.After,
				After: e.After + writeCost})
		}
		s.cost = o.costs[k]
	}
	slices.SortStableFunc(p.Gains, func(x, y record.Effect) int {
		return cmp.Compare(y.Calls*(y.Before-y.After), x.Calls*(x.Before-x.After))
	})
	return p, nil
}

// plainTable is a table's name as people write it.
func plainTable(table string) string {
	schema, name, ok := strings.Cut(unquoted(table), ".")
	if !ok {
		return quoteWhereNeeded(schema)
	}
	if schema == "public" {
		return quoteWhereNeeded(name)
	}
	return quoteWhereNeeded(schema) + "." + quoteWhereNeeded(name)
}

// indexSchema is the schema, with a dot, in which a table's indexes are; "" for the usual one.
func indexSchema(table string) string {
	schema, _, ok := strings.Cut(unquoted(table), ".")
	if !ok || schema == "public" {
		return ""
	}
	return quoteWhereNeeded(schema) + "."
}

// freeName is a name for the index that no relation has. One whose building was cut off is in nobody's way: it
// is dropped before it is built again.
func (a *advisor) freeName(ctx context.Context, c *candidate, number int, taken []string) (string, error) {
	schema, _, _ := strings.Cut(unquoted(c.table), ".")
	for name := indexName(c, number); ; name = numberedName(c, number) {
		if slices.Contains(taken, name) {
			number++
			continue
		}
		relations, err := a.session.text(ctx,
			"select count(*) from pg_class c left join pg_index i on i.indexrelid = c.oid where coalesce(i.indisvalid, true) and c.oid = to_regclass("+
				sqltext.QuoteText(sqltext.Quote(schema)+"."+sqltext.Quote(name))+")")
		if err != nil || relations == "0" {
			return name, err
		}
		number++
	}
}

const mostName = 63 // bytes

// indexName says what the index is of.
func indexName(c *candidate, number int) string {
	_, table, _ := strings.Cut(unquoted(c.table), ".")
	columns := plainName(strings.NewReplacer(" desc", "", patternClass, "").Replace(strings.Join(c.columns, "_")))
	if name := table + "_" + columns + nameEnd(c); len(name) <= mostName {
		return name
	}
	return numberedName(c, number+1)
}

// plainName is a text as a part of a name: what isn't a letter or a digit becomes one underscore.
func plainName(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r == '_' || r < 0x80 && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}), "_")
}

// numberedName names the index by its table and a number.
func numberedName(c *candidate, number int) string {
	_, table, _ := strings.Cut(unquoted(c.table), ".")
	end := fmt.Sprintf("_brunt_%d%s", number, nameEnd(c))
	cut := min(len(table), mostName-len(end))
	for cut > 0 && cut < len(table) && table[cut]&0xC0 == 0x80 {
		cut-- // within a letter
	}
	return table[:cut] + end
}

func nameEnd(c *candidate) string {
	if c.where != "" {
		return "_part_idx"
	}
	return "_idx"
}
