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
	text       string // with its constants, if they are known
	cost       float64
	root       *node
	candidates []candidate
}

// advisor weighs indexes. Costs are of plans for any arguments, times the calls.
type advisor struct {
	session    *session
	catalog    catalog
	distinct   map[string]float64 // by table and column
	statements []*costed
	trial      trial
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
		return cmp.Or(cmp.Compare(len(a.candidate.columns), len(b.candidate.columns)), cmp.Compare(a.sizeB, b.sizeB),
			cmp.Compare(b.gain, a.gain), cmp.Compare(a.candidate.key(), b.candidate.key()))
	})
	return &best
}

// pool is the candidates of all statements on tables worth an index, without those that are there.
func (a *advisor) pool() []candidate {
	var out []candidate
	seen := map[string]bool{}
	for _, s := range a.statements {
		for _, c := range s.candidates {
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
			if !s.touches(c.table) {
				continue
			}
			e, err := a.session.generic(ctx, s.text)
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
		if s.writesTo(c.table) {
			o.gain -= max(s.Rows, s.Calls) * writeCost
		}
	}
	return o, nil
}

// touches reports whether a statement's plan reads or changes a table.
func (s *costed) touches(table string) bool {
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
func (s *costed) writesTo(table string) bool {
	n := s.root
	return n.Type == "ModifyTable" && (n.Operation == "Insert" || n.Operation == "Update") && tablesOf(n)[n.Alias] == table
}

// accept keeps an index for the rounds that follow, and describes it.
func (a *advisor) accept(ctx context.Context, o *outcome, whole float64, number int) (*record.Proposal, error) {
	c := &o.candidate
	name, err := a.freeName(ctx, c, number)
	if err != nil {
		return nil, err
	}
	if err := a.trial.keep(ctx, c.on()); err != nil {
		return nil, err
	}
	p := &record.Proposal{
		Name: name, Table: shown(unquoted(c.table)), Columns: c.columns, Where: c.where, SizeB: o.sizeB,
		Proof: a.trial.proof(), Saves: o.gain / whole,
		DDL: "CREATE INDEX CONCURRENTLY " + quoteWhereNeeded(name) + " ON " + plainTable(c.table) +
			strings.TrimPrefix(strings.Replace(c.on(), " where ", " WHERE ", 1), c.table),
		Drop: dropIndex + indexSchema(c.table) + quoteWhereNeeded(name),
	}
	for k, s := range a.statements {
		e := record.Effect{Statement: s.ID, Text: s.Text, Calls: s.Calls, Before: s.cost, After: o.costs[k]}
		if e.After < alike*e.Before {
			p.Gains = append(p.Gains, e)
		}
		if s.writesTo(c.table) {
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
func (a *advisor) freeName(ctx context.Context, c *candidate, number int) (string, error) {
	schema, _, _ := strings.Cut(unquoted(c.table), ".")
	for name := indexName(c, number); ; name = numberedName(c, number) {
		taken, err := a.session.text(ctx,
			"select count(*) from pg_class c left join pg_index i on i.indexrelid = c.oid where coalesce(i.indisvalid, true) and c.oid = to_regclass("+
				sqltext.QuoteText(sqltext.Quote(schema)+"."+sqltext.Quote(name))+")")
		if err != nil || taken == "0" {
			return name, err
		}
		number++
	}
}

const mostName = 63 // bytes

// indexName says what the index is of.
func indexName(c *candidate, number int) string {
	_, table, _ := strings.Cut(unquoted(c.table), ".")
	columns := strings.NewReplacer(`"`, "", " desc", "").Replace(strings.Join(c.columns, "_"))
	if name := table + "_" + columns + nameEnd(c); len(name) <= mostName {
		return name
	}
	return numberedName(c, number+1)
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
