package postgres

import (
	"slices"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	leastIndexB   = 64 << 10
	deadShare     = 0.2
	deadGrave     = 0.5
	bloatTimes    = 2.0
	bloatB        = 1 << 20
	changedShare  = 0.2
	samePages     = 1.02 // times
	missShare     = 0.05
	rowOverheadB  = 28 // tuple header and line pointer (PostgreSQL's documentation, "Database Page Layout")
	pageOverheadB = 24
	tupleAlignB   = 8
	oldXact       = 5 * time.Second
)

// tables calls f with the counters of each table.
func (c *caseFile) tables(f func(name string, v map[string]float64)) {
	for i := range c.load.Counters {
		if k := &c.load.Counters[i]; k.Kind == "table" {
			f(k.Name, k.Values)
		}
	}
}

// shareOf returns the share of the time of the statements whose plans read a table.
func (c *caseFile) shareOf(table string) (share float64) {
	for k := range c.plans {
		p := &c.plans[k]
		reads := false
		if p.root != nil {
			p.root.walk(func(n *node, _ int) { reads = reads || n.Relation != "" && shown(n.table()) == table })
		}
		if reads {
			share += p.statement.Share
		}
	}
	return min(share, 1)
}

// outdated reports whether a table's statistics are known to be old, so that estimates can't be right.
func (c *caseFile) outdated(table string) bool {
	return slices.ContainsFunc(c.findings, func(f record.Finding) bool {
		return f.ID == FindStale && f.Subject == table
	})
}

// foreignKeys finds foreign keys without an index, for which each delete or key update in the referenced table
// reads the whole referencing table.
func foreignKeys(c *caseFile) {
	for _, k := range c.catalog.keys {
		if k.childRows < leastRows {
			continue
		}
		first, _, _ := strings.Cut(k.columns, ",")
		c.wants(k.child, first)
		v := figuresOf(c.load, "table", k.parent)
		severity, evidence := record.Minor, message.New("find.foreign-key.unused", message.Text("key", k.name),
			message.Text("parent", shown(k.parent)))
		if n := v["n_tup_del"]; n > 0 {
			severity = record.Serious
			evidence = message.New("find.foreign-key", message.Text("key", k.name), count("deleted", n),
				message.Text("parent", shown(k.parent)),
				message.Text("child", shown(k.child)), count("rows", k.childRows))
		}
		c.add(record.Finding{ID: FindForeignKey, Severity: severity, Subject: shown(k.child) + " (" + k.columns + ")",
			Evidence: evidence,
			Advice:   message.Literal("CREATE INDEX CONCURRENTLY ON " + shown(k.child) + " (" + k.columns + ")")})
	}
}

// unusedIndexes finds indexes that were never read but cost writes.
func unusedIndexes(c *caseFile) {
	for _, x := range c.catalog.indexes {
		if x.constraint || x.scans > 0 || x.sizeB < leastIndexB {
			continue
		}
		v := figuresOf(c.load, "table", x.table)
		writes := v["n_tup_ins"] + v["n_tup_upd"] - v["n_tup_hot_upd"]
		if writes < 1 {
			continue
		}
		c.add(record.Finding{ID: FindUnusedIndex, Severity: record.Minor, Subject: shown(x.name),
			Evidence: message.New("find.unused-index", message.Bytes("size", x.sizeB), count("writes", writes),
				message.Text("table", shown(x.table))),
			Advice: message.New("find.unused-index.advice", message.Text("index", shown(x.name)))})
	}
}

// bloat finds tables that consist largely of dead rows or free space.
func bloat(c *caseFile) {
	c.tables(func(name string, v map[string]float64) {
		live, dead := v["n_live_tup"], v["n_dead_tup"]
		var held message.Message
		if c.inspection.Activity.LongestXact > int64(oldXact) {
			held = message.New("find.bloat.held", message.Span("open", time.Duration(c.inspection.Activity.LongestXact)))
		}
		if dead >= leastRows && dead >= deadShare*(live+dead) {
			severity := record.Serious
			if dead < deadGrave*(live+dead) {
				severity = record.Minor
			}
			c.add(record.Finding{ID: FindBloat, Severity: severity, Subject: shown(name), Share: c.shareOf(shown(name)),
				Evidence: message.Sentences(message.New("find.dead", message.Part("share", dead, live+dead),
					count("rows", live+dead)), held, c.unvacuumed(name)),
				Advice: c.vacuum(name, message.New("find.dead.advice", message.Text("table", shown(name))))})
			return
		}
		t := c.catalog.table(name)
		// A table that has only been inserted into has no space to give back. Rows that changed after the last
		// ANALYZE may be wider than the statistics say.
		if t.rowWidthB == 0 || t.rows < leastRows || t.fillPercent < 100 || t.rewritten < 1 ||
			v["n_mod_since_analyze"] >= changedShare*t.rows {
			return
		}
		row := float64(int((t.rowWidthB+rowOverheadB)/tupleAlignB+1) * tupleAlignB)
		need := t.rows * row / (blockSize - pageOverheadB)
		if t.pages >= bloatTimes*need && (t.pages-need)*blockSize >= bloatB {
			c.add(record.Finding{ID: FindBloat, Severity: record.Serious, Subject: shown(name), Share: c.shareOf(shown(name)),
				Evidence: message.Sentences(message.New("find.bloat", message.Bytes("takes", t.pages*blockSize),
					count("rows", t.rows), message.Bytes("needs", need*blockSize)), held, c.unvacuumed(name)),
				Advice: c.vacuum(name, message.New("find.bloat.advice", message.Text("table", shown(name))))})
		}
	})
}

// unvacuumed says that autovacuum is turned off for a table, or returns the zero message.
func (c *caseFile) unvacuumed(table string) message.Message {
	if set := c.catalog.table(table).unvacuumed; set != "" {
		return message.New("find.autovacuum-off", message.Text("setting", set))
	}
	return message.Message{}
}

// vacuum returns the advice for a table that is vacuumed or analyzed too seldom. Thresholds don't matter where autovacuum
// is turned off.
func (c *caseFile) vacuum(table string, usual message.Message) message.Message {
	if c.catalog.table(table).unvacuumed != "" {
		return message.New("find.autovacuum-off.advice", message.Text("table", shown(table)))
	}
	return usual
}

// staleStatistics finds tables that have changed much since they were last analyzed.
func staleStatistics(c *caseFile) {
	c.tables(func(name string, v map[string]float64) {
		if v["seq_scan"]+v["idx_scan"] < 1 {
			return
		}
		live, changed := v["n_live_tup"], v["n_mod_since_analyze"]
		t := c.catalog.table(name)
		if max(live, t.rows) < leastRows {
			return // a small table is read in full, with any statistics
		}
		// The server counts the rows that a session inserted before its own ANALYZE as modified after it. Rows that
		// were really added since then need pages, unless others have made room.
		if t.rows > 0 && t.pagesNow <= samePages*t.pages && t.rewritten < changedShare*t.rows {
			return
		}
		var evidence message.Message
		switch {
		case live >= leastRows && !t.analyzed:
			evidence = message.New("find.stale.never", count("rows", live))
		case changed >= leastRows && changed >= changedShare*max(live, 1):
			evidence = message.New("find.stale", count("changed", changed), count("rows", live))
		default:
			return
		}
		c.add(record.Finding{ID: FindStale, Severity: record.Serious, Subject: shown(name), Share: c.shareOf(shown(name)),
			Evidence: message.Sentences(evidence, c.unvacuumed(name)),
			Advice:   c.vacuum(name, message.New("find.stale.advice", message.Text("table", shown(name))))})
	})
}

// cacheMisses finds a database that doesn't fit into the server's cache.
func cacheMisses(c *caseFile) {
	v := figuresOf(c.load, "database", "")
	read, hit := v["blks_read"], v["blks_hit"]
	if read < leastRows || read < missShare*(read+hit) {
		return
	}
	severity := record.Minor
	if read > 2*missShare*(read+hit) {
		severity = record.Serious
	}
	worst, most := "", 0.0
	c.tables(func(name string, t map[string]float64) {
		if r := t["heap_blks_read"] + t["idx_blks_read"]; r > most {
			worst, most = shown(name), r
		}
	})
	var where message.Message
	if worst != "" {
		where = message.New("find.cache.worst", message.Share("share", min(most/read, 1)), message.Text("table", worst))
	}
	c.add(record.Finding{ID: FindCache, Severity: severity, Subject: "shared_buffers",
		Evidence: message.Sentences(message.New("find.cache", message.Part("share", read, read+hit),
			message.Text("buffers", c.catalog.buffers), message.Bytes("read", read*blockSize)),
			where, message.New("find.cache.database", message.Bytes("size", c.catalog.databaseB))),
		Advice: message.New("find.cache.advice")})
}
