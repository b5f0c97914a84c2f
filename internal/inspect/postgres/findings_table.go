package postgres

import (
	"fmt"
	"time"

	"brunt/internal/record"
	"brunt/internal/units"
)

const (
	leastIndexB   = 64 << 10
	deadShare     = 0.2
	deadGrave     = 0.5
	bloatTimes    = 2.0
	bloatB        = 1 << 20
	changedShare  = 0.2
	missShare     = 0.05
	rowOverheadB  = 28 // header and line pointer (PostgreSQL's documentation, "Database Page Layout")
	pageOverheadB = 24
	tupleAlignB   = 8
	oldXact       = 5 * time.Second
)

// tables calls f for the counters of each table.
func (c *caseFile) tables(f func(name string, v map[string]float64)) {
	for i := range c.load.Counters {
		if k := &c.load.Counters[i]; k.Kind == "table" {
			f(k.Name, k.Values)
		}
	}
}

// foreignKeys finds keys for which every change of the table referred to reads all of the other.
func foreignKeys(c *caseFile) {
	for _, k := range c.catalog.keys {
		if k.childRows < leastRows {
			continue
		}
		v := figuresOf(c.load, "table", k.parent)
		severity, evidence := record.Minor, "nothing was deleted from "+shown(k.parent)+" in this run, so it didn't cost time yet"
		if n := v["n_tup_del"]; n > 0 {
			severity = record.Serious
			evidence = fmt.Sprintf("each of the %s rows deleted from %s in this run read all of %s, %s rows", count(n), shown(k.parent), shown(k.child), count(k.childRows))
		}
		c.add(record.Finding{ID: FindForeignKey, Severity: severity, Subject: shown(k.child) + " (" + k.columns + ")",
			Evidence: "the foreign key " + k.name + " has no index: " + evidence,
			Advice:   fmt.Sprintf("CREATE INDEX CONCURRENTLY ON %s (%s)", shown(k.child), k.columns)})
	}
}

// unusedIndexes finds indexes that only cost.
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
			Evidence: fmt.Sprintf("no statement has used it since the server's statistics were reset; it takes %s, and each of the %s rows written to %s in this run was written to it as well", units.Size(uint64(x.sizeB)), count(writes), shown(x.table)),
			Advice:   fmt.Sprintf("if no replica and no rare report uses it: DROP INDEX CONCURRENTLY %s", shown(x.name))})
	}
}

// bloat finds tables that are mostly space.
func bloat(c *caseFile) {
	c.tables(func(name string, v map[string]float64) {
		live, dead := v["n_live_tup"], v["n_dead_tup"]
		held := ""
		if c.inspection.Activity.LongestXact > int64(oldXact) {
			held = fmt.Sprintf("; a transaction that was open for %s kept VACUUM from removing what was deleted meanwhile", units.Span(time.Duration(c.inspection.Activity.LongestXact)))
		}
		if dead >= leastRows && dead >= deadShare*(live+dead) {
			severity := record.Serious
			if dead < deadGrave*(live+dead) {
				severity = record.Minor
			}
			c.add(record.Finding{ID: FindBloat, Severity: severity, Subject: shown(name),
				Evidence: fmt.Sprintf("%s of its %s row versions are dead%s", units.Fraction(dead/(live+dead)), count(live+dead), held),
				Advice:   fmt.Sprintf("VACUUM %s; then let autovacuum come earlier: ALTER TABLE %s SET (autovacuum_vacuum_scale_factor = 0.02)", shown(name), shown(name))})
			return
		}
		t := c.catalog.table(name)
		if t.rowWidthB == 0 || t.rows < leastRows || t.fillPercent < 100 {
			return
		}
		row := float64(int((t.rowWidthB+rowOverheadB)/tupleAlignB+1) * tupleAlignB)
		need := t.rows * row / (blockSize - pageOverheadB)
		if t.pages >= bloatTimes*need && (t.pages-need)*blockSize >= bloatB {
			c.add(record.Finding{ID: FindBloat, Severity: record.Serious, Subject: shown(name),
				Evidence: fmt.Sprintf("takes %s, and its %s rows would fit into some %s%s", units.Size(uint64(t.pages*blockSize)), count(t.rows), units.Size(uint64(need*blockSize)), held),
				Advice:   fmt.Sprintf("VACUUM FULL %s when it may be locked, or pg_repack; and let autovacuum come earlier", shown(name))})
		}
	})
}

// staleStatistics finds tables that have changed much since the planner last looked at them.
func staleStatistics(c *caseFile) {
	c.tables(func(name string, v map[string]float64) {
		if v["seq_scan"]+v["idx_scan"] < 1 {
			return
		}
		live, changed := v["n_live_tup"], v["n_mod_since_analyze"]
		evidence := ""
		switch {
		case live >= leastRows && !c.catalog.table(name).analyzed:
			evidence = fmt.Sprintf("its %s rows have never been analyzed: the planner guesses", count(live))
		case changed >= leastRows && changed >= changedShare*max(live, 1):
			evidence = fmt.Sprintf("%s rows have changed since it was last analyzed, and it has %s", count(changed), count(live))
		default:
			return
		}
		c.add(record.Finding{ID: FindStale, Severity: record.Serious, Subject: shown(name), Evidence: evidence,
			Advice: fmt.Sprintf("ANALYZE %s; for tables that change much: ALTER TABLE %s SET (autovacuum_analyze_scale_factor = 0.02)", shown(name), shown(name))})
	})
}

// cacheMisses finds a server whose cache doesn't hold what is asked for.
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
	where := ""
	if worst != "" {
		where = fmt.Sprintf("; %s of it from %s", units.Fraction(min(most/read, 1)), worst)
	}
	c.add(record.Finding{ID: FindCache, Severity: severity, Subject: "shared_buffers",
		Evidence: fmt.Sprintf("%s of the pages asked for weren't in shared_buffers (%s): %s was read from the system or the disk%s; the database has %s",
			units.Fraction(read/(read+hit)), c.catalog.buffers, units.Size(uint64(read)*blockSize), where, units.Size(uint64(c.catalog.databaseB))),
		Advice: "first see whether statements read more than they need; then shared_buffers of a quarter of the memory"})
}
