package postgres

import (
	"brunt/internal/inspect"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	leastRows      = 1000 // findings need at least as many rows
	discardedShare = 0.95
	misestimated   = 10 // times
	countedRows    = 10_000
	offsetTimes    = 10
	graveEffect    = 0.5 // of an operation's response time
	offsetBlocks   = 20  // per call; and at least twice the number of returned rows
)

// each calls f for each step of each plan. at is the index of the step in the record.
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

// seqScans finds full table scans that discard nearly all rows they read.
func seqScans(c *caseFile) {
	c.each(func(p *queryPlan, n *node, at int) {
		if n.Type != "Seq Scan" || n.Filter == "" {
			return
		}
		kept, removed, estimated := n.Rows*n.loops(), n.Removed*n.loops(), n.Loops == nil
		if estimated {
			kept = n.PlanRows
			removed = c.catalog.table(n.table()).rows - kept
		}
		if removed < leastRows || removed < discardedShare*(kept+removed) {
			return
		}
		share := fine(removed / (kept + removed))
		p.note(at, message.New("find.seq-scan.note", message.Nested("share", share)))
		evidence := message.New("find.seq-scan", message.Text("table", shown(n.table())), count("rows", kept+removed),
			message.Nested("share", share),
			message.Text("filter", n.Filter))
		if estimated {
			evidence = message.New("find.seq-scan.estimated", evidence.Args...)
		}
		c.add(p.finding(FindSeqScan, p.grave(), evidence, c.adviseIndex(n, p.written(n))))
	})
}

// written returns the condition of a scan as it is in the statement. If the statement was executed with arguments
// taken from an existing row, the executed plan contains constants that the load may never send.
func (p *queryPlan) written(n *node) string {
	filter := n.Filter
	if p.Source == record.ArgumentsTable && p.generic != nil {
		p.generic.walk(func(g *node, _ int) {
			if g.Alias == n.Alias && g.Relation == n.Relation && g.Filter != "" {
				filter = g.Filter
			}
		})
	}
	return filter
}

// fine returns a share near 1 with as many digits as are needed to distinguish it from 1.
func fine(share float64) message.Message {
	if share == 1 {
		return message.New("find.all")
	}
	if share > 0.9999 {
		return message.New("find.percent", message.Figure("percent", math.Round(1e6*share)/1e4, "count"))
	}
	return message.New("find.share", message.Share("share", share))
}

// counts finds statements that count the rows of a whole table.
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
		if rows < countedRows || p.root.below("Aggregate")[n] {
			return
		}
		p.note(at, message.New("find.count.note"))
		c.add(p.finding(FindCount, p.grave(),
			message.New("find.count", count("rows", rows), message.Text("table", shown(scan.table()))),
			message.New("find.count.advice")))
	})
}

// offsets finds statements that read many rows only to skip them.
func offsets(c *caseFile) {
	for k := range c.plans {
		p := &c.plans[k]
		if p.root == nil || !hasWord(p.Text, "OFFSET") {
			continue
		}
		at, evidence := -1, message.Message{}
		i := 0
		p.root.walk(func(n *node, _ int) {
			if n.Type == "Limit" && len(n.Plans) == 1 && at < 0 {
				below, rows := n.Plans[0], n.Rows*n.loops()
				if skipped := below.Rows*below.loops() - rows; below.Loops != nil && skipped >= leastRows &&
					skipped >= offsetTimes*rows {
					at, evidence = i, message.New("find.offset", count("skipped", skipped), count("rows", rows))
				}
			}
			i++
		})
		s := &p.statement
		if blocks := s.More["shared_blks_hit"] + s.More["shared_blks_read"]; at < 0 && s.Calls > 0 &&
			p.Source != record.ArgumentsWorkload &&
			blocks/s.Calls >= max(offsetBlocks, 2*s.Rows/s.Calls) && whole(p.root) {
			at, evidence = 0, message.New("find.offset.blocks", count("blocks", blocks/s.Calls), count("rows", s.Rows/s.Calls))
		}
		if at < 0 {
			continue
		}
		p.note(at, message.New("find.offset.note"))
		c.add(p.finding(FindOffset, p.grave(), evidence,
			message.New("find.offset.advice")))
	}
}

// repeatedStatements finds statements that operations execute repeatedly, for example once per row.
func repeatedStatements(c *caseFile) {
	for i := range c.repeated {
		r := &c.repeated[i]
		calls, each := message.Count("calls", uint64(r.calls)), message.Number("each", r.each)
		evidence := message.New("find.repeated", calls, each)
		switch {
		case r.rowsOf != "" && r.operation != "":
			evidence = message.New("find.repeated.rows-by", calls, each, message.Text("parent", inspect.Headline(r.rowsOf)),
				message.Text("operation", r.operation))
		case r.rowsOf != "":
			evidence = message.New("find.repeated.rows", calls, each, message.Text("parent", inspect.Headline(r.rowsOf)))
		case r.operation != "":
			evidence = message.New("find.repeated.by", calls, each, message.Text("operation", r.operation))
		}
		p := queryPlan{statement: r.Statement}
		p.Statement, p.Text = r.ID, r.Text
		severity := p.grave()
		if severity == record.Minor {
			severity = record.Serious // each execution also costs a round trip
		}
		effect := c.effect(r)
		if effect >= graveEffect {
			severity = record.Critical
		}
		if effect > 0 {
			evidence = message.Sentences(evidence, message.New("find.repeated.effect", message.Share("share", effect),
				message.Text("operation", r.operation)))
		}
		advice := message.New("find.repeated.advice")
		if !reads(r.Text) {
			advice = message.New("find.repeated.write")
		}
		f := p.finding(FindRepeated, severity, evidence, advice)
		f.Effect = effect
		c.add(f)
	}
}

// whole reports whether a plan has no conditions.
func whole(root *node) bool {
	all := true
	root.walk(func(n *node, _ int) { all = all && n.Filter+n.IndexCond == "" })
	return all
}

func hasWord(text, word string) bool {
	return slices.ContainsFunc(sqltext.Split(text), func(t sqltext.Token) bool { return t.Is(word) })
}

// misestimates finds in each plan the deepest step whose number of rows the planner misestimated.
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
		if worst == nil || worst.Relation != "" && c.outdated(shown(worst.table())) {
			continue
		}
		p.note(at, message.New("find.misestimate.note", count("planned", worst.PlanRows), count("met", worst.Rows)))
		advice := message.New("find.misestimate.advice")
		if parts := conditions(worst.Filter + worst.IndexCond); len(parts) > 1 && worst.Relation != "" {
			var columns []string
			for _, part := range parts {
				if !slices.Contains(columns, part.column) {
					columns = append(columns, part.column)
				}
			}
			if len(columns) > 1 {
				advice = message.New("find.misestimate.dependent", message.Text("columns", strings.Join(columns, ", ")),
					message.Text("table", shown(worst.table())))
			}
		}
		severity := record.Serious
		if p.grave() == record.Minor {
			severity = record.Minor
		}
		c.add(p.finding(FindMisestimate, severity, message.New("find.misestimate", count("planned", worst.PlanRows),
			message.Text("step", worst.text()), count("met", worst.Rows)), advice))
	}
}

// misjudged reports whether a step processed many times more or fewer rows than planned. Steps that are executed
// repeatedly are judged by their mean.
func (n *node) misjudged() bool {
	if n.loops() == 0 {
		return false
	}
	low, high := min(n.PlanRows, n.Rows), max(n.PlanRows, n.Rows)
	return high*n.loops() >= leastRows && high >= misestimated*max(low, 1)
}

// spills finds sorts and hashes that need more memory than they may use.
func spills(c *caseFile) {
	told := map[string]bool{}
	c.each(func(p *queryPlan, n *node, at int) {
		kB := n.spilledKB()
		if kB <= 0 {
			return
		}
		told[p.Statement] = true
		p.note(at, message.New("find.spill.note"))
		c.add(p.finding(FindSpill, record.Serious, message.New("find.spill", message.Text("step", n.text()),
			message.Bytes("needs", kB*1024), message.Text("work_mem", c.catalog.workMem)),
			message.Sentences(message.New("find.spill.advice", message.Bytes("work_mem", c.enoughMemory(kB*1024))),
				c.orderInstead(p, n))))
	})
	for i := range c.load.Statements {
		s := &c.load.Statements[i]
		if written := s.More["temp_blks_written"]; written >= leastRows/10 && !told[s.ID] {
			p := queryPlan{statement: *s}
			p.Statement, p.Text = s.ID, s.Text
			c.add(p.finding(FindSpill, record.Serious, message.New("find.temporary", message.Bytes("written", written*blockSize),
				count("calls", s.Calls), message.Text("work_mem", c.catalog.workMem)),
				message.New("find.temporary.advice")))
		}
	}
}

// spilledKB returns how much memory a step needs that doesn't fit into work_mem, or 0 if it fits. Partitions of a hashed
// aggregate on disk need memory as well as those that were there; in memory, rows to be sorted need more than on disk.
func (n *node) spilledKB() float64 {
	const unpacked = 2
	switch {
	case n.Type == "Sort" && n.SortSpace == "Disk":
		return unpacked * n.SortKB
	case n.Type == "Hash" && n.Batches > 1:
		return n.PeakKB * n.Batches
	case n.DiskKB > 0:
		return n.PeakKB + unpacked*n.DiskKB
	}
	return 0
}

// enoughMemory returns the work_mem to advise for a step that needs so much, bytes: a power of two with some room, and
// more than there is.
func (c *caseFile) enoughMemory(needB float64) float64 {
	const room, least = 1.25, 1 << 20
	enough := float64(least)
	for enough < room*needB || enough <= settingBytes(c.catalog.workMem) {
		enough *= 2
	}
	return enough
}

// settingBytes returns the value of a memory setting, such as 4MB, in bytes; 0 if it isn't one.
func settingBytes(text string) float64 {
	digits := strings.TrimRight(text, "kMGTB ")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	unit := map[string]float64{"": 1, "B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
	return x * unit[strings.TrimSpace(text[len(digits):])]
}

// orderInstead says that an index with the order makes a sort superfluous, if it does: if the sorted rows are all rows of
// one table, in the order of its columns, and not only prepared for grouping or joining.
func (c *caseFile) orderInstead(p *queryPlan, n *node) message.Message {
	if n.Type != "Sort" || len(n.Plans) != 1 || p.root.below("Aggregate", "Merge Join", "Unique", "WindowAgg", "SetOp")[n] {
		return message.Message{}
	}
	scan, columns := n.Plans[0], ""
	if _, order := orderOf(n.SortKey); order != nil && scan.Relation != "" && len(scan.Plans) == 0 {
		columns = strings.Join(order, ", ")
	}
	if columns == "" || !c.can(scan.table(), "("+columns+")") {
		return message.Message{}
	}
	return message.New("find.spill.order", message.Text("table", shown(scan.table())), message.Text("columns", columns))
}

// sortedWhole finds statements that read a whole table and sort it, to return the first rows only.
func sortedWhole(c *caseFile) {
	c.each(func(p *queryPlan, n *node, at int) {
		if n.Type != "Limit" || len(n.Plans) != 1 || len(n.Plans[0].Plans) != 1 {
			return
		}
		sort := n.Plans[0]
		if sort.Type == "Gather Merge" {
			sort = sort.Plans[0]
		}
		if sort.Type != "Sort" || len(sort.Plans) != 1 || sort.Plans[0].Type != "Seq Scan" || sort.Plans[0].Filter != "" {
			return
		}
		scan, rows, kept := sort.Plans[0], c.catalog.table(sort.Plans[0].table()).rows, n.Rows
		if n.Loops == nil {
			kept = n.PlanRows
		}
		_, order := orderOf(sort.SortKey)
		if rows < leastRows || kept > (1-discardedShare)*rows || order == nil {
			return
		}
		columns := strings.Join(order, ", ")
		if !c.can(scan.table(), "("+columns+")") {
			return
		}
		first, _, _ := strings.Cut(order[0], " ")
		c.wants(scan.table(), first)
		p.note(at, message.New("find.sorted.note"))
		c.add(p.finding(FindSorted, p.grave(), message.New("find.sorted", count("rows", rows),
			message.Text("table", shown(scan.table())), count("kept", kept)),
			message.New("find.sorted.advice", message.Text("table", shown(scan.table())), message.Text("columns", columns))))
	})
}
