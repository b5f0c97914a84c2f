package postgres

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/record"
	"brunt/internal/sqltext"
	"brunt/internal/units"
)

const (
	leastRows      = 1000 // fewer aren't worth a finding
	discardedShare = 0.95
	misestimated   = 10 // times
	countedRows    = 10_000
	offsetTimes    = 10
	offsetBlocks   = 20 // read for each call, and twice the rows returned
)

// each calls f for each step of each plan, in the order of the record.
func (c *caseFile) each(f func(p *queryPlan, n *node, at int)) {
	for k := range c.plans {
		p := &c.plans[k]
		if p.root == nil {
			continue
		}
		at := 0
		p.root.walk(func(n *node, _ int) {
			f(p, n, at)
			at++
		})
	}
}

// seqScans finds scans of whole tables that discard nearly all they read.
func seqScans(c *caseFile) {
	c.each(func(p *queryPlan, n *node, at int) {
		if n.Type != "Seq Scan" || n.Filter == "" {
			return
		}
		kept, removed, how := n.Rows*n.loops(), n.Removed*n.loops(), ""
		if n.Loops == nil {
			t := c.catalog.table(n.table())
			kept, how = n.PlanRows, " by the planner's estimate"
			removed = t.rows - kept
		}
		if removed < leastRows || removed < discardedShare*(kept+removed) {
			return
		}
		share := removed / (kept + removed)
		p.note(at, fmt.Sprintf("discards %s", fine(share)))
		p2 := p.finding(FindSeqScan, p.grave(),
			fmt.Sprintf("reads all of %s, %s rows, and discards %s of them%s: %s", shown(n.table()), count(kept+removed), fine(share), how, n.Filter),
			adviseIndex(n))
		c.add(p2)
	})
}

// fine is a share near 1 with as many digits as it takes.
func fine(share float64) string {
	if share == 1 {
		return "all"
	}
	if share > 0.9999 {
		return fmt.Sprintf("%.4f %%", 100*share)
	}
	return units.Fraction(share)
}

// adviseIndex says what would help a scan.
func adviseIndex(n *node) string {
	var equal []string
	for _, k := range conditions(n.Filter) {
		if k.operator == "=" && k.otherColumn == "" && !slices.Contains(equal, k.column) {
			equal = append(equal, k.column)
		}
	}
	if len(equal) == 0 {
		return "no index of the usual kind serves this condition; rewrite it as a comparison of columns with values, or keep what it asks for in a column of its own"
	}
	return fmt.Sprintf("an index on %s (%s), or on the most selective of its columns; brunt advise proposes and proves indexes", shown(n.table()), strings.Join(equal, ", "))
}

// counts finds statements that count a whole table.
func counts(c *caseFile) {
	c.each(func(p *queryPlan, n *node, at int) {
		if n.Type != "Aggregate" || len(n.GroupKey) > 0 || !hasWord(p.Text, "COUNT") {
			return
		}
		scan := n
		for len(scan.Plans) == 1 && scan.Relation == "" {
			scan = scan.Plans[0]
		}
		if scan.Relation == "" || scan.Filter+scan.IndexCond != "" {
			return
		}
		rows := c.catalog.table(scan.table()).rows
		if scan.Loops != nil {
			rows = scan.Rows * scan.loops()
		}
		if rows < countedRows || at > 0 && p.root.walkHas("Aggregate", n) {
			return
		}
		p.note(at, "counts the whole table")
		c.add(p.finding(FindCount, p.grave(), fmt.Sprintf("counts all %s rows of %s at every call; an index doesn't help, since every version of a row must be looked at", count(rows), shown(scan.table())),
			"don't count for each page: ask for one row more than is shown to know whether there is a next page, take pg_class.reltuples as an estimate, or keep the count in a table of its own"))
	})
}

// walkHas reports whether a node of a kind stands above another.
func (n *node) walkHas(kind string, below *node) bool {
	found := false
	n.walk(func(m *node, _ int) {
		if m.Type == kind && m != below {
			m.walk(func(k *node, _ int) { found = found || k == below })
		}
	})
	return found
}

// offsets finds statements that read many rows to skip them.
func offsets(c *caseFile) {
	for k := range c.plans {
		p := &c.plans[k]
		if p.root == nil || !hasWord(p.Text, "OFFSET") {
			continue
		}
		at, evidence := -1, ""
		i := 0
		p.root.walk(func(n *node, _ int) {
			if n.Type == "Limit" && len(n.Plans) == 1 && at < 0 {
				below, rows := n.Plans[0], n.Rows*n.loops()
				if skipped := below.Rows*below.loops() - rows; below.Loops != nil && skipped >= leastRows && skipped >= offsetTimes*rows {
					at, evidence = i, fmt.Sprintf("reads %s rows to skip them and return %s", count(skipped), count(rows))
				}
			}
			i++
		})
		s := &p.statement
		if blocks := s.More["shared_blks_hit"] + s.More["shared_blks_read"]; at < 0 && s.Calls > 0 && p.Source != record.ArgumentsWorkload &&
			blocks/s.Calls >= max(offsetBlocks, 2*s.Rows/s.Calls) && whole(p.root) {
			at, evidence = 0, fmt.Sprintf("reads %s blocks on average to return %s rows: most of them to skip what comes before the page", count(blocks/s.Calls), count(s.Rows/s.Calls))
		}
		if at < 0 {
			continue
		}
		p.note(at, "skips what it reads")
		c.add(p.finding(FindOffset, p.grave(), evidence,
			"an index doesn't help to skip: continue from the last row seen instead of OFFSET (WHERE id > $last ORDER BY id LIMIT n), and bound how deep pages go"))
	}
}

// whole reports whether a plan has no condition at all.
func whole(root *node) bool {
	all := true
	root.walk(func(n *node, _ int) { all = all && n.Filter+n.IndexCond == "" })
	return all
}

func hasWord(text, word string) bool {
	return slices.ContainsFunc(sqltext.Split(text), func(t sqltext.Token) bool { return t.Is(word) })
}

// misestimates finds, in each plan, the deepest step whose number of rows the planner misjudged.
func misestimates(c *caseFile) {
	for k := range c.plans {
		p := &c.plans[k]
		if p.root == nil || !p.Analyzed {
			continue
		}
		at, depth, i := -1, -1, 0
		var worst *node
		limited := p.root.below("Limit")
		p.root.walk(func(n *node, d int) {
			if d > depth && n.misjudged() && !(limited[n] && n.Rows < n.PlanRows) {
				at, depth, worst = i, d, n
			}
			i++
		})
		if worst == nil {
			continue
		}
		p.note(at, fmt.Sprintf("planned for %s rows, met %s", count(worst.PlanRows), count(worst.Rows)))
		advice := "ANALYZE the table; if that doesn't mend it, raise the statistics target of the columns in the condition"
		if parts := conditions(worst.Filter + worst.IndexCond); len(parts) > 1 && worst.Relation != "" {
			var columns []string
			for _, part := range parts {
				if !slices.Contains(columns, part.column) {
					columns = append(columns, part.column)
				}
			}
			if len(columns) > 1 {
				advice = fmt.Sprintf("the columns depend on each other, which the planner doesn't know: CREATE STATISTICS ON %s FROM %s, then ANALYZE", strings.Join(columns, ", "), shown(worst.table()))
			}
		}
		severity := record.Serious
		if p.grave() == record.Minor {
			severity = record.Minor
		}
		c.add(p.finding(FindMisestimate, severity, fmt.Sprintf("the planner expected %s rows of %s and met %s", count(worst.PlanRows), worst.text(), count(worst.Rows)), advice))
	}
}

// misjudged reports whether a step met many times more or fewer rows than planned for. Steps that are
// executed again and again are judged by the mean.
func (n *node) misjudged() bool {
	if n.loops() == 0 {
		return false
	}
	low, high := min(n.PlanRows, n.Rows), max(n.PlanRows, n.Rows)
	return high*n.loops() >= leastRows && high >= misestimated*max(low, 1)
}

// below marks the steps under those of a kind.
func (n *node) below(kind string) map[*node]bool {
	out := map[*node]bool{}
	n.walk(func(m *node, _ int) {
		if m.Type == kind {
			for _, c := range m.Plans {
				c.walk(func(k *node, _ int) { out[k] = true })
			}
		}
	})
	return out
}

// spills finds sorts and hashes that need more memory than they may have.
func spills(c *caseFile) {
	told := map[string]bool{}
	c.each(func(p *queryPlan, n *node, at int) {
		kB := n.DiskKB
		switch {
		case n.Type == "Sort" && n.SortSpace == "Disk":
			kB = n.SortKB
		case n.Type == "Hash" && n.Batches > 1:
			kB = n.PeakKB * n.Batches
		}
		if kB <= 0 {
			return
		}
		told[p.Statement] = true
		p.note(at, "spills to disk")
		c.add(p.finding(FindSpill, record.Serious, fmt.Sprintf("%s needs some %s and spills to disk; work_mem is %s", n.text(), units.Size(uint64(kB*1024)), c.catalog.workMem),
			fmt.Sprintf("work_mem of some %s for this statement (SET LOCAL), or an index that has the order", units.Size(uint64(kB*3*1024)))))
	})
	for i := range c.load.Statements {
		s := &c.load.Statements[i]
		if written := s.More["temp_blks_written"]; written >= leastRows/10 && !told[s.ID] {
			p := queryPlan{statement: *s}
			p.Statement, p.Text = s.ID, s.Text
			c.add(p.finding(FindSpill, record.Serious, fmt.Sprintf("wrote %s of temporary files in %s calls; work_mem is %s", units.Size(uint64(written)*blockSize), count(s.Calls), c.catalog.workMem),
				"more work_mem for this statement (SET LOCAL), or an index that has the order"))
		}
	}
}
