package picodata

import (
	"maps"
	"slices"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The IDs of findings. They must not change.
const (
	FindFanOut       = "fan-out"
	FindScan         = "sql-scan"
	FindSort         = "sql-sort"
	FindPlanCache    = "plan-cache"
	FindBlockingSQL  = "blocking-sql"
	FindGlobalWrites = "global-writes"
	FindRaft         = "raft"
)

const (
	leastRows    = 1000 // of a table that is read as a whole
	missShare    = 0.1  // of the statements
	leastQueries = 50
	leastLoopMs  = 3
	leastLoops   = 3 // readings
)

// caseFile holds the facts that findings are derived from, and the findings.
type caseFile struct {
	seen       *sightings
	inspection *record.Inspection
	load       *record.ServerWindow // the load without its warm-up
	operations []inspect.Operation
	plans      []plan
}

// judge derives the findings, and copies the plans to the inspection.
func (c *caseFile) judge() {
	for k := range c.plans {
		c.judgePlan(&c.plans[k])
		c.inspection.Plans = append(c.inspection.Plans, c.plans[k].QueryPlan)
	}
	for _, rule := range []func(*caseFile){blockingSQL, raft, globalWrites, planCache} {
		rule(c)
	}
	inspect.Rank(c.inspection.Findings)
}

func (c *caseFile) add(f record.Finding) { c.inspection.Findings = append(c.inspection.Findings, f) }

// counter returns the increase of a counter over all instances.
func (c *caseFile) counter(names ...string) (sum float64) {
	for _, o := range c.load.Counters {
		if o.Kind != kindCounter {
			continue
		}
		for _, name := range names {
			sum += o.Values[name]
		}
	}
	return sum
}

// rows returns the number of a table's rows; ok is false if it isn't known.
func (c *caseFile) rows(table string) (n float64, ok bool) {
	v := inspect.Figures(c.load, kindGauge, kindTable+" "+strings.ToLower(table))
	return v[kindTable], v != nil
}

// judgePlan finds statements that read more than they need, or ask more replica sets than they need.
func (c *caseFile) judgePlan(p *plan) {
	subject := p.Operations[0] + ": " + inspect.Headline(p.Text)
	if p.whole {
		c.add(record.Finding{ID: FindFanOut, Severity: record.Serious, Subject: subject,
			Evidence: message.New("find.picodata.fan-out"), Advice: message.New("find.picodata.fan-out.advice")})
	}
	for _, table := range p.scans {
		n, known := c.rows(table)
		severity, evidence := record.Serious, message.New("find.picodata.scan", message.Text("table", table),
			message.Count("rows", uint64(n)))
		switch {
		case known && n < leastRows:
			continue
		case !known:
			severity, evidence = record.Minor, message.New("find.picodata.scan.unknown", message.Text("table", table))
		}
		c.add(record.Finding{ID: FindScan, Severity: severity, Subject: subject, Evidence: evidence,
			Advice: message.New("find.picodata.scan.advice", message.Text("table", table))})
		if p.sorts {
			c.add(record.Finding{ID: FindSort, Severity: record.Minor, Subject: subject,
				Evidence: message.New("find.picodata.sort"), Advice: message.New("find.picodata.sort.advice")})
		}
		return
	}
}

// planCache finds statements that are planned over and over.
func planCache(c *caseFile) {
	queries := c.counter("pico_sql_query_duration_count")
	misses := c.counter("pico_router_cache_misses_total")
	second := c.counter("pico_storage_2nd_requests_total", "storage_2nd_requests_total")
	one := c.counter("pico_storage_1st_requests_total", "storage_1st_requests_total")
	if queries < leastQueries || misses < missShare*queries && (one == 0 || second < missShare*one) {
		return
	}
	c.add(record.Finding{ID: FindPlanCache, Severity: record.Serious, Subject: "sql_storage_cache_count_max",
		Evidence: message.New("find.picodata.cache", message.Part("router", misses, queries),
			message.Part("storage", second, max(one, 1))),
		Advice: message.New("find.picodata.cache.advice")})
}

// blockingSQL finds an instance whose loop takes long, because statements don't yield.
func blockingSQL(c *caseFile) {
	for _, name := range slices.Sorted(maps.Keys(c.seen.loops)) {
		all := c.seen.loops[name]
		mean, most := 0.0, 0.0
		for _, ms := range all {
			mean, most = mean+ms/float64(len(all)), max(most, ms)
		}
		if len(all) < leastLoops || mean < leastLoopMs || c.counter("pico_sql_yields_total") > 0 {
			continue
		}
		const nsPerMs = 1e6
		c.add(record.Finding{ID: FindBlockingSQL, Severity: record.Serious, Subject: name,
			Evidence: message.New("find.picodata.loop", message.Ns("mean", mean*nsPerMs), message.Ns("most", most*nsPerMs)),
			Advice:   message.New("find.picodata.loop.advice")})
	}
}

// globalWrites finds writes to global tables that were refused and sent again.
func globalWrites(c *caseFile) {
	n := c.counter("pico_cas_errors_total", "pico_global_dml_query_retries_total")
	if n < 1 {
		return
	}
	c.add(record.Finding{ID: FindGlobalWrites, Severity: record.Serious, Subject: "compare-and-swap",
		Evidence: message.New("find.picodata.global", message.Count("n", uint64(n)),
			message.Count("done", uint64(c.counter("pico_cas_ops_duration_count")))),
		Advice: message.New("find.picodata.global.advice")})
}

// raft finds elections during the load, and instances that apply the log late.
func raft(c *caseFile) {
	for _, name := range slices.Sorted(maps.Keys(c.seen.terms)) {
		t := c.seen.terms[name]
		if t[1] <= t[0] && c.seen.late[name] < 2 {
			continue
		}
		c.add(record.Finding{ID: FindRaft, Severity: record.Serious, Subject: name,
			Evidence: message.New("find.picodata.raft", message.Count("terms", uint64(t[1]-t[0])),
				message.Count("late", c.seen.late[name])),
			Advice: message.New("find.picodata.raft.advice")})
		return
	}
}
