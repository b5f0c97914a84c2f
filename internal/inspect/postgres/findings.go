package postgres

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/units"
)

// The stable ids of findings.
const (
	FindSeqScan      = "seq-scan"
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
)

// caseFile is what findings are made of.
type caseFile struct {
	inspection *record.Inspection
	load       *record.ServerWindow // without warm-up
	plans      []queryPlan
	catalog    catalog
	cores      int // of the server; 0 if that isn't known
	findings   []record.Finding
}

func (c *caseFile) add(f record.Finding) { c.findings = append(c.findings, f) }

// judge finds what could be better, and keeps the plans with notes at the steps concerned.
func (i *Inspector) judge(ctx context.Context, out *record.Inspection, _ inspect.Load) error {
	known, err := i.session.readCatalog(ctx, func(what string, err error) { i.miss(lacking(what, i.config.User, err)) })
	c := &caseFile{inspection: out, load: &out.Windows[0], plans: i.plans, catalog: known, cores: coresOf(i.config.Host)}
	for _, rule := range []func(*caseFile){
		seqScans, counts, offsets, misestimates, spills,
		foreignKeys, unusedIndexes, bloat, staleStatistics, cacheMisses,
		hotRows, idleTransactions, connections, smallPools,
	} {
		rule(c)
	}
	rank := []string{record.Critical, record.Serious, record.Minor}
	slices.SortStableFunc(c.findings, func(a, b record.Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity)), cmp.Compare(b.Share, a.Share))
	})
	out.Findings = c.findings
	for k := range c.plans {
		out.Plans = append(out.Plans, c.plans[k].QueryPlan)
	}
	return err
}

// coresOf is how many cores the server has, known only if it runs on this machine.
func coresOf(host string) int {
	if a, err := netip.ParseAddr(host); strings.HasPrefix(host, "/") || host == "localhost" || err == nil && a.IsLoopback() {
		return runtime.NumCPU()
	}
	return 0
}

// note marks a step of a plan.
func (p *queryPlan) note(at int, text string) {
	if n := &p.Nodes[at]; n.Note == "" {
		n.Note = text
	} else {
		n.Note += "; " + text
	}
}

// grave is how much a statement's fault matters: by its share of the server's time, or, where that isn't
// known, as something that costs time.
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

// weight is what the statement costs, in words; "" if that isn't known.
func (p *queryPlan) weight() string {
	if p.Statement == "" {
		return ""
	}
	return fmt.Sprintf("; it has %s of the server's time, %s a call", units.Fraction(p.statement.Share), units.Latency(p.statement.MeanNs))
}

// finding begins a finding about the statement.
func (p *queryPlan) finding(id, severity, evidence, advice string) record.Finding {
	return record.Finding{ID: id, Severity: severity, Subject: brief(p.Text), Evidence: evidence + p.weight(), Advice: advice,
		Statement: p.Statement, Share: p.statement.Share}
}

// brief is a statement on one short line. It is cut in the middle: generated ones begin alike, and differ
// at their ends.
func brief(text string) string {
	const first, last = 40, 50
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > first+last {
		return string(r[:first]) + " … " + string(r[len(r)-last:])
	}
	return text
}

// count is a number of rows for people.
func count(x float64) string { return units.Count(uint64(max(x, 0) + 0.5)) }

// shown is a name as people write it: without the usual schema.
func shown(name string) string { return strings.TrimPrefix(name, "public.") }
