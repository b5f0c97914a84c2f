package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The IDs of findings. They must not change.
const (
	FindSeqScan      = "seq-scan"
	FindSorted       = "sort-limit"
	FindHidden       = "hidden-scan"
	FindStampede     = "stampede"
	FindLockHeld     = "lock-across-call"
	FindOutside      = "outside-database"
	FindMisestimate  = "misestimate"
	FindSpill        = "spill"
	FindForeignKey   = "foreign-key-index"
	FindUnusedIndex  = "unused-index"
	FindHotRows      = "hot-rows"
	FindConnections  = "connections"
	FindPoolTooSmall = "pool-too-small"
	FindIdleXact     = "idle-in-transaction"
	FindBloat        = "bloat"
	FindStale        = "stale-statistics"
	FindCache        = "cache-misses"
	FindOffset       = "deep-offset"
	FindCount        = "count-star"
	FindRepeated     = "n-plus-one"
)

// caseFile holds the facts that findings are derived from, and the findings.
type caseFile struct {
	inspection *record.Inspection
	load       *record.ServerWindow // the load without its warm-up
	plans      []queryPlan
	catalog    catalog
	cores      int // of the server; 0 if unknown
	findings   []record.Finding
	// steadyFunctions tells for each function used in conditions whether it is immutable.
	steadyFunctions map[string]bool
	// possible reports whether the server accepts an index; nil: not asked. tried are its answers.
	operations []inspect.Operation
	possible   func(table, on string) bool
	tried      map[string]bool
	wanted     []string // table and first column of the indexes that findings advise to have
	repeated   []repeated
}

func (c *caseFile) add(f record.Finding) { c.findings = append(c.findings, f) }

// judge derives the findings, and copies the plans, with notes at the steps concerned, to the inspection.
func (i *Inspector) judge(ctx context.Context, out *record.Inspection, load inspect.Load) error {
	known, err := i.session.readCatalog(ctx, func(what string, err error) { i.miss(lacking(what, i.config.User, err)) })
	c := &caseFile{inspection: out, load: &out.Windows[0], plans: i.plans, catalog: known, cores: inspect.CoresOf(i.config.Host),
		repeated: i.repeated, operations: load.Operations, possible: func(table, on string) bool { return i.session.possible(ctx, table, on) }}
	if err == nil {
		c.steadyFunctions, err = i.session.steadyFunctions(ctx, c.plans)
	}
	for _, rule := range []func(*caseFile){
		seqScans, sortedWhole, counts, offsets, repeatedStatements, spills,
		foreignKeys, unusedIndexes, bloat, staleStatistics, misestimates, cacheMisses,
		hotRows, idleTransactions, connections, smallPools, hiddenScans, stampedes, outside,
	} {
		rule(c)
	}
	c.reconcile()
	inspect.Rank(c.findings)
	out.Findings = c.findings
	for k := range c.plans {
		out.Plans = append(out.Plans, c.plans[k].QueryPlan)
	}
	return err
}

// reconcile removes advice that contradicts other advice: an index isn't dropped that another finding needs.
func (c *caseFile) reconcile() {
	c.findings = slices.DeleteFunc(c.findings, func(f record.Finding) bool {
		if f.ID != FindUnusedIndex {
			return false
		}
		for i := range c.catalog.indexes {
			x := &c.catalog.indexes[i]
			if keys := x.keysOf(); shown(x.name) == f.Subject && len(keys) > 0 && slices.Contains(c.wanted, x.table+" "+keys[0]) {
				return true
			}
		}
		return false
	})
}

// note adds a note to a step of the plan.
func (p *queryPlan) note(at int, text message.Message) {
	n := &p.Nodes[at]
	n.Note = message.Sentences(append(n.Note.Parts(), text)...)
}

// grave returns the severity of a problem with the statement: by the statement's share of the server's time or, if
// that isn't known, Serious.
func (p *queryPlan) grave() string {
	switch {
	case p.Statement == "":
		return record.Serious
	case p.statement.Share >= 0.1:
		return record.Critical
	case p.statement.Share >= 0.01:
		return record.Serious
	}
	return record.Minor
}

// weight describes the cost of the statement, if it is known.
func (p *queryPlan) weight() message.Message {
	if p.Statement == "" {
		return message.Message{}
	}
	return message.New("find.weight", message.Share("share", p.statement.Share), message.Ns("mean", p.statement.MeanNs))
}

// finding returns a finding about the statement.
func (p *queryPlan) finding(id, severity string, evidence, advice message.Message) record.Finding {
	return record.Finding{ID: id, Severity: severity, Subject: inspect.Headline(p.Text),
		Evidence: message.Sentences(evidence, p.weight()), Advice: advice,
		Statement: p.Statement, Share: p.statement.Share}
}

// count is a message argument for an estimated number of things.
func count(name string, x float64) message.Arg { return message.Count(name, uint64(max(x, 0)+0.5)) }

// shown returns a name without the schema public.
func shown(name string) string { return strings.TrimPrefix(name, "public.") }

const (
	leastSamples = 10
	lockShare    = 0.05 // of the active sessions
	lockMean     = 0.2  // waiting sessions
	crowded      = 0.9
	idlePool     = 20
	idleShare    = 0.1
	perCore      = 4
	leastPool    = 3.0 // connections
	inXactShare  = 0.4 // of the pool
	inXactTimes  = 2.0 // as many as are active
)

// hotRows finds statements that wait for row locks held by each other.
func hotRows(c *caseFile) {
	a := &c.inspection.Activity
	var waiting, share float64
	for _, w := range a.Waits {
		if w.Class == "Lock" {
			waiting, share = waiting+w.Mean, share+w.Share
		}
	}
	if a.Samples < leastSamples || len(a.Blocked) == 0 || waiting < lockMean || share < lockShare {
		return
	}
	// Prefer the session that waits for a transaction to end; the sessions behind it wait for their turn.
	first := slices.IndexFunc(a.Blocked,
		func(b record.Blocking) bool { return strings.HasPrefix(b.Lock, "transactionid") })
	b := &a.Blocked[max(first, 0)]
	var where message.Message
	if b.Relation != "" {
		where = message.New("find.hot-rows.on", message.Text("table", b.Relation))
	}
	severity := record.Serious
	if share >= 0.5 {
		severity = record.Critical
	}
	var holder message.Message
	if c.heldAcrossCall(share, where) {
		return
	}
	if b.HolderState != "active" {
		holder = message.New("find.hot-rows.holder", message.Text("state", b.HolderState))
	}
	c.add(record.Finding{ID: FindHotRows, Severity: severity, Subject: inspect.Headline(b.Waiting),
		Evidence: message.New("find.hot-rows", message.Number("waiting", waiting), message.Share("share", share),
			message.Nested("where", where),
			message.Ns("longest", b.LongestNs), message.Text("holder", inspect.Headline(b.Holder))),
		Advice: message.New("find.hot-rows.advice", message.Nested("holder", holder))})
}

// idleTransactions finds clients that keep transactions open without working.
func idleTransactions(c *caseFile) {
	for _, p := range c.inspection.Activity.Clients {
		// Pauses of the load generator are part of its plan.
		if !p.Generator && c.inspection.Activity.Samples >= leastSamples && p.Mean >= leastPool &&
			p.InXact >= inXactShare*p.Mean && p.InXact >= inXactTimes*p.ActiveMean {
			c.add(record.Finding{ID: FindIdleXact, Severity: record.Serious, Subject: clientName(&p),
				Evidence: message.New("find.idle-pool", message.Number("idle", p.InXact), count("n", p.Mean),
					message.Number("active", p.ActiveMean)),
				Advice: message.New("find.idle-pool.advice")})
			continue
		}
		if p.LongestIdle < int64(oldXact) {
			continue
		}
		c.add(record.Finding{ID: FindIdleXact, Severity: record.Serious, Subject: clientName(&p),
			Evidence: message.New("find.idle", message.Span("longest", time.Duration(p.LongestIdle))),
			Advice:   message.New("find.idle.advice")})
	}
}

func clientName(p *record.ClientPool) string {
	name := cmp.Or(p.Application, "an application without a name")
	if p.Address != "" {
		name += " at " + p.Address
	}
	return name
}

// connections finds too many idle, open or active connections.
func connections(c *caseFile) {
	a := &c.inspection.Activity
	if a.Samples < leastSamples {
		return
	}
	var most, active float64
	for _, p := range a.Clients {
		most, active = most+float64(p.Max), active+p.ActiveMean
		if p.Mean >= idlePool && p.ActiveMean <= idleShare*p.Mean {
			c.add(record.Finding{ID: FindConnections, Severity: record.Minor, Subject: clientName(&p),
				Evidence: message.New("find.pool-idle", count("n", p.Mean), message.Number("active", p.ActiveMean)),
				Advice:   message.New("find.pool-idle.advice")})
		}
	}
	if limit := c.catalog.connections; limit > 0 && most >= crowded*limit {
		c.add(record.Finding{ID: FindConnections, Severity: record.Critical, Subject: "max_connections",
			Evidence: message.New("find.connections", count("n", most), count("limit", limit)),
			Advice:   message.New("find.connections.advice")})
	}
	crowd := 0.0
	for _, w := range a.Waits {
		if w.Class == "CPU" || w.Class == "LWLock" {
			crowd += w.Mean
		}
	}
	if c.cores > 0 && crowd > float64(perCore*c.cores) {
		c.add(record.Finding{ID: FindConnections, Severity: record.Serious, Subject: "active sessions",
			Evidence: message.New("find.crowd", count("n", crowd), message.Count("cores", c.cores)),
			Advice:   message.New("find.crowd.advice", message.Count("n", 2*c.cores))})
	}
}

const (
	leastInXact = 0.1 // connections
	usedMean    = 0.8 // of a pool's connections
	usedAll     = 0.5 // of the samples in which all are in use
)

// fullyUsed reports whether requests have to wait for a connection of a pool. A connection that is idle in a transaction
// can't be used by others either. With few connections, the moments between two requests of a connection keep the shares
// below 1 even if requests wait.
func fullyUsed(p *record.ClientPool) bool {
	busy := p.ActiveMean + p.InXact
	return max(p.AllActive, p.AllBusy) >= crowded || p.Mean >= 1.5 && busy >= usedMean*p.Mean && p.AllBusy >= usedAll
}

// smallPools finds connection pools that are fully used although the server could do more.
func smallPools(c *caseFile) {
	a := &c.inspection.Activity
	active := 0.0
	for _, p := range a.Clients {
		active += p.ActiveMean
	}
	if a.Samples < leastSamples || c.cores > 0 && active >= float64(c.cores) {
		return
	}
	for _, p := range a.Clients {
		if p.Generator || !fullyUsed(&p) || slices.ContainsFunc(c.findings, func(f record.Finding) bool {
			return f.ID == FindIdleXact && f.Subject == clientName(&p)
		}) {
			continue
		}
		evidence := message.New("find.small-pool", message.Count("n", p.Max), message.Share("share", max(p.AllBusy, p.AllActive)))
		if p.InXact >= leastInXact {
			evidence = message.New("find.small-pool.transactions", message.Count("n", p.Max), message.Number("active", p.ActiveMean),
				message.Number("idle", p.InXact), message.Share("share", p.AllBusy))
		}
		c.add(record.Finding{ID: FindPoolTooSmall, Severity: record.Serious, Subject: clientName(&p), Evidence: evidence,
			Advice: message.New("find.small-pool.advice")})
	}
}
