package postgres

import (
	"fmt"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/internal/units"
)

const (
	leastSamples = 10
	lockShare    = 0.05 // of active sessions
	lockMean     = 0.2  // sessions
	crowded      = 0.9
	idlePool     = 20
	idleShare    = 0.1
	perCore      = 4
)

// hotRows finds statements that wait for each other's rows.
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
	b := &a.Blocked[0]
	for k := range a.Blocked {
		// Those behind the first wait for each other's places; the first waits for the end of a transaction.
		if strings.HasPrefix(a.Blocked[k].Lock, "transactionid") {
			b = &a.Blocked[k]
			break
		}
	}
	where := ""
	if b.Relation != "" {
		where = " on " + b.Relation
	}
	severity := record.Serious
	if share >= 0.5 {
		severity = record.Critical
	}
	advice := "shorten the transactions that change these rows: change them last, without pauses before COMMIT; spread a counter over several rows; or take rows with FOR UPDATE SKIP LOCKED"
	if b.HolderState != "active" {
		advice = "the holder was " + b.HolderState + ": its client keeps the transaction open. " + advice
	}
	c.add(record.Finding{ID: FindHotRows, Severity: severity, Subject: brief(b.Waiting),
		Evidence: fmt.Sprintf("%.1f sessions at a time (%s of the active ones) waited for locks%s, up to %s; most often for: %s",
			waiting, units.Fraction(share), where, units.Latency(float64(b.LongestNs)), brief(b.Holder)),
		Advice: advice})
}

// idleTransactions finds clients that keep transactions open and do nothing.
func idleTransactions(c *caseFile) {
	for _, p := range c.inspection.Activity.Clients {
		if p.LongestIdle < int64(oldXact) {
			continue
		}
		c.add(record.Finding{ID: FindIdleXact, Severity: record.Serious, Subject: clientName(&p),
			Evidence: fmt.Sprintf("held a transaction open without doing anything for %s: what it locked stays locked, and VACUUM can't clean behind it", units.Span(time.Duration(p.LongestIdle))),
			Advice:   "end transactions before waiting for anything else; idle_in_transaction_session_timeout ends those that are forgotten"})
	}
}

func clientName(p *record.ClientPool) string {
	name := p.Application
	if name == "" {
		name = "an application without a name"
	}
	if p.Address != "" {
		name += " at " + p.Address
	}
	return name
}

// connections finds too many of them.
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
				Evidence: fmt.Sprintf("has %.0f connections, of which %.1f work at a time", p.Mean, p.ActiveMean),
				Advice:   "a smaller pool does the same: each connection takes memory, and all of them are looked through when a snapshot is taken"})
		}
	}
	if limit := c.catalog.connections; limit > 0 && most >= crowded*limit {
		c.add(record.Finding{ID: FindConnections, Severity: record.Critical, Subject: "max_connections",
			Evidence: fmt.Sprintf("%.0f of the %.0f connections that clients may have were in use", most, limit),
			Advice:   "smaller pools, or a pooler such as PgBouncer, before max_connections is raised"})
	}
	crowd := 0.0
	for _, w := range a.Waits {
		if w.Class == "CPU" || w.Class == "LWLock" {
			crowd += w.Mean
		}
	}
	if c.cores > 0 && crowd > float64(perCore*c.cores) {
		c.add(record.Finding{ID: FindConnections, Severity: record.Serious, Subject: "active sessions",
			Evidence: fmt.Sprintf("%.0f sessions at a time wanted to compute on %d cores: they wait for each other, and none is faster for it", crowd, c.cores),
			Advice:   fmt.Sprintf("pools of some %d connections in all; requests then wait in the service, and cost less there", 2*c.cores)})
	}
}

// smallPools finds services all of whose connections work, while the server could do more.
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
		if p.Generator || p.AllActive < crowded {
			continue
		}
		c.add(record.Finding{ID: FindPoolTooSmall, Severity: record.Serious, Subject: clientName(&p),
			Evidence: fmt.Sprintf("all of its %d connections were at work in %s of the samples: requests wait for one", p.Max, units.Fraction(p.AllActive)),
			Advice:   "a larger pool, as long as the server has cores to spare; a campaign's matrix finds the smallest that is enough"})
	}
}
