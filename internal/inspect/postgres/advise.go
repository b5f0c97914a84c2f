package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/record"
)

const (
	mostAdvised   = 50
	mostProposals = 10
	leastSaved    = 0.02 // share of all statements' cost that one index must save
	alike         = 0.95 // ratio from which gains count as equal
	leastTable    = 1000 // rows; reading a smaller table in full is as fast as using an index
	dropIndex     = "DROP INDEX CONCURRENTLY IF EXISTS "
	writeCost     = 0.5 // planner's cost of adding a row to one more index: a page access, mostly cached
)

// costed is a statement with the planner's estimate.
type costed struct {
	record.Statement
	text       string   // with its constants, if known
	arguments  []string // as SQL; the estimate is for them, or for unknown arguments if nil
	cost       float64
	root       *node // nil if it can't be explained
	candidates []candidate
}

// advisor chooses indexes. Its costs are the planner's, for unknown arguments, multiplied by the number of calls.
type advisor struct {
	session    *session
	catalog    catalog
	distinct   map[string]float64 // number of distinct values, by table and column
	statements []*costed
	trial      trial
	relations  relations
}

// total returns the cost of all statements.
func (a *advisor) total() (sum float64) {
	for _, s := range a.statements {
		sum += s.Calls * s.cost
	}
	return sum
}

// outcome is the estimated effect of a candidate.
type outcome struct {
	candidate candidate
	costs     []float64 // cost of each statement with the index
	gain      float64   // saved calls × cost, minus the cost of writing to the index
	estimated bool      // the index couldn't be tried
	sizeB     float64
}

// propose picks the index that saves the most, then the one that saves the most in addition to it, and so on (a
// greedy search).
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
				continue // other indexes can only reduce its gain
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

// choose returns the outcome with the greatest gain or, among those within 5 % of it, the one with the simplest
// index; nil if there are none.
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

// pool returns the candidates of all statements, without small tables and existing indexes.
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

// unquoted returns schema.table without quotes, as in catalogs.
func unquoted(table string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(table, `"`), `"`), `"."`, ".")
}

// try estimates the cost of all statements that use the table, with the candidate. It returns nil if there can't be
// such an index.
func (a *advisor) try(ctx context.Context, c candidate) (*outcome, error) {
	o := &outcome{candidate: c, costs: make([]float64, len(a.statements))}
	for k, s := range a.statements {
		o.costs[k] = s.cost
	}
	size, err := a.trial.with(ctx, c.on(), func() error {
		for k, s := range a.statements {
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
	if errors.Is(err, errUntried) {
		size, err = a.estimate(ctx, o)
	}
	if err != nil {
		if ctx.Err() != nil || a.session.conn.IsClosed() {
			return nil, err
		}
		return nil, nil // the expression or type can't be indexed
	}
	o.sizeB = size
	for k, s := range a.statements {
		o.gain += s.Calls * (s.cost - o.costs[k])
		if a.writesTo(s, c.table) {
			o.gain -= max(s.Rows, s.Calls) * c.writeCost()
		}
	}
	return o, nil
}

const (
	invertedCost = 50  // the planner's cost of finding rows by an inverted index
	invertedSize = 0.3 // of the table
)

// bitmapCost returns the planner's cost of fetching rows by a bitmap from a table of so many pages: PostgreSQL's
// cost_bitmap_heap_scan, with the default costs of a page. The number of pages is that of Mackert and Lohman (1989).
func bitmapCost(rows, pages float64) float64 {
	const random, sequential = 4, 1
	if pages <= 0 {
		return 0
	}
	fetched := min(2*pages*rows/(2*pages+rows), pages)
	return fetched * (random - (random-sequential)*math.Sqrt(fetched/pages))
}

// estimate estimates the costs with an index that can't be tried, from the number of rows that the planner expects. It
// returns the size of the index.
func (a *advisor) estimate(ctx context.Context, o *outcome) (sizeB float64, err error) {
	c := &o.candidate
	o.estimated = true
	if !a.session.possible(ctx, unquoted(c.table), strings.TrimPrefix(c.on()[0], c.table)) {
		return 0, errors.New("the server accepts no such index")
	}
	for k, s := range a.statements {
		if s.root == nil || !slices.ContainsFunc(s.candidates, func(x candidate) bool { return x.key() == c.key() }) {
			continue
		}
		tables := tablesOf(s.root)
		s.root.walk(func(n *node, _ int) {
			if tables[n.Alias] == c.table && n.Type == "Seq Scan" {
				with := invertedCost + bitmapCost(n.PlanRows, a.catalog.table(unquoted(c.table)).pages)
				o.costs[k] = min(o.costs[k], s.cost-n.Cost+min(with, n.Cost))
			}
		})
	}
	return invertedSize * blockSize * a.catalog.table(unquoted(c.table)).pages, nil
}

// writeCost returns the planner's cost of adding a row to the index. A GIN index gets an entry for each part of a value.
func (c *candidate) writeCost() float64 {
	if c.using == gin {
		return 10 * writeCost
	}
	return writeCost
}

// touches reports whether a statement reads or writes a table, by its plan or, if it has none, by its text.
func (a *advisor) touches(s *costed, table string) bool {
	if s.root == nil {
		return sqltext.Mentions(s.Text, a.relations.leadingTo(table))
	}
	return slices.Contains(slices.Collect(maps.Values(tablesOf(s.root))), table)
}

// writesTo reports whether a statement adds entries to an index of a table: by inserting rows or by creating new
// versions of updated rows. (An update that leaves the indexed columns unchanged needs no new entry if the new
// version fits on the same page. How often that happens isn't known in advance, so it is ignored.)
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

// accept makes an index part of the following rounds and describes it as a proposal.
func (a *advisor) accept(ctx context.Context, o *outcome, whole float64, number int) (*record.Proposal, error) {
	c := &o.candidate
	p := &record.Proposal{
		Table: shown(unquoted(c.table)), Columns: append(slices.Clone(c.columns), c.others...), Where: c.where,
		SizeB: o.sizeB, Proof: a.trial.proof(), Saves: o.gain / whole, Names: a.relations.leadingTo(c.table),
	}
	switch {
	case o.estimated:
		p.Proof = record.ProofEstimated
	case c.using != "":
		p.Proof = record.ProofBuilt
	}
	var build, drop, names []string
	for i, on := range c.on() {
		one := candidate{table: c.table, columns: c.columns, where: c.where, using: c.using}
		if i > 0 {
			one.columns = c.others[i-1 : i]
		}
		name, err := a.freeName(ctx, &one, number, names)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if first := needs(on); first != "" {
			build = append(build, first)
		}
		build = append(build, "CREATE INDEX CONCURRENTLY "+quoteWhereNeeded(name)+" ON "+plainTable(c.table)+
			strings.TrimPrefix(strings.NewReplacer(" where ", " WHERE ", " using ", " USING ").Replace(on), c.table))
		drop = append(drop, dropIndex+indexSchema(c.table)+quoteWhereNeeded(name))
	}
	if slices.ContainsFunc(p.Columns, func(k string) bool { return strings.Contains(k, "(") }) {
		// The planner has no statistics of an expression before the table is analyzed.
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
				After: e.After + c.writeCost()})
		}
		s.cost = o.costs[k]
	}
	slices.SortStableFunc(p.Gains, func(x, y record.Effect) int {
		return cmp.Compare(y.Calls*(y.Before-y.After), x.Calls*(x.Before-x.After))
	})
	return p, nil
}

// plainTable returns a table's name as people write it: without quotes and schema where they aren't needed.
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

// indexSchema returns the schema of a table's indexes, with a dot; "" for the schema public.
func indexSchema(table string) string {
	schema, _, ok := strings.Cut(unquoted(table), ".")
	if !ok || schema == "public" {
		return ""
	}
	return quoteWhereNeeded(schema) + "."
}

// freeName returns a name for the index that no relation has. Invalid indexes, whose build was interrupted, don't
// count, since they are dropped before the index is built again.
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

// indexName returns a name made of the table and the columns, or a numbered name if that is too long.
func indexName(c *candidate, number int) string {
	_, table, _ := strings.Cut(unquoted(c.table), ".")
	columns := plainName(strings.NewReplacer(" desc", "", " nulls first", "", " nulls last", "", patternClass, "",
		trigramClass, "").Replace(strings.Join(c.columns, "_")))
	if name := table + "_" + columns + nameEnd(c); len(name) <= mostName {
		return name
	}
	return numberedName(c, number+1)
}

// plainName turns a text into a part of a name: every sequence of characters other than letters and digits becomes
// one underscore.
func plainName(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r == '_' || r < 0x80 && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}), "_")
}

// numberedName returns a name made of the table and a number.
func numberedName(c *candidate, number int) string {
	_, table, _ := strings.Cut(unquoted(c.table), ".")
	end := fmt.Sprintf("_brunt_%d%s", number, nameEnd(c))
	cut := min(len(table), mostName-len(end))
	for cut > 0 && cut < len(table) && table[cut]&0xC0 == 0x80 {
		cut-- // inside a multi-byte character
	}
	return table[:cut] + end
}

func nameEnd(c *candidate) string {
	switch {
	case c.where != "":
		return "_part_idx"
	case c.using != "":
		return "_" + c.using + "_idx"
	}
	return "_idx"
}
