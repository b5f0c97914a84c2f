package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/record"
)

const (
	mostExplained  = 12
	leastExplained = 0.001 // share of the server's time
)

// plan is the plan of a statement, with details that aren't recorded.
type plan struct {
	record.QueryPlan
	statement record.Statement
	steps     []step
	notes     []string // of the server: which indexes can't be used, and why
}

// step is a row of EXPLAIN.
type step struct {
	table, access, possible, key, extra string
	rows                                float64
}

// scans reports whether a step reads a whole table or index.
func (s *step) scans() bool { return s.access == "ALL" || s.access == "index" }

// explainAll explains the statements that took the most time, or those of the load if the server counts none.
func (c *caseFile) explainAll(ctx context.Context) error {
	list := slices.Clone(c.load.Statements)
	if c.uncounted {
		for _, o := range c.operations {
			for _, text := range o.Statements {
				if slices.ContainsFunc(list, func(s record.Statement) bool { return normal(s.Text) == normal(text) }) {
					continue
				}
				list = append(list, record.Statement{Text: text, Operations: []string{o.Name}, Match: record.MatchText})
			}
		}
	}
	for _, s := range list {
		if len(c.plans) == mostExplained {
			return nil
		}
		if !explainable(s.Text) || s.ID != "" && s.Share < leastExplained {
			continue
		}
		p := plan{QueryPlan: record.QueryPlan{Statement: s.ID, Operations: s.Operations}, statement: s}
		var ok bool
		if p.Text, p.Source, ok = c.executable(ctx, &s); !ok {
			continue
		}
		c.inspector.explain(ctx, &p)
		c.plans = append(c.plans, p)
		if c.inspector.session.broken || ctx.Err() != nil {
			return errors.New("the server stopped answering while its statements were explained")
		}
	}
	return nil
}

// explainable reports whether EXPLAIN accepts a statement.
func explainable(text string) bool {
	return slices.Contains([]string{"SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE"}, sqltext.FirstWord(text))
}

// executable returns a statement's text with arguments: those that the load sends, or those of a sample that the server
// keeps (MySQL 8).
func (c *caseFile) executable(ctx context.Context, s *record.Statement) (text, source string, ok bool) {
	want := normal(s.Text)
	for k := range c.operations {
		o := &c.operations[k]
		at := slices.IndexFunc(o.Statements, func(text string) bool { return normal(text) == want })
		if at < 0 {
			continue
		}
		if arguments, ok := o.Arguments(at, 0); ok {
			if text, ok = withArguments(o, o.Statements[at], arguments); ok {
				return text, record.ArgumentsWorkload, true
			}
		}
	}
	if !strings.Contains(want, " ?") {
		return s.Text, record.ArgumentsNone, true
	}
	_, digest, found := strings.Cut(s.ID, "/")
	if !found || c.inspector.product == "MariaDB" || strings.HasPrefix(s.ID, prefixPrepared) {
		return "", "", false
	}
	r, err := c.inspector.optional(ctx, "QUERY_SAMPLE_TEXT", fmt.Sprintf(
		`SELECT QUERY_SAMPLE_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST = %s
		AND LENGTH(QUERY_SAMPLE_TEXT) < 1000 LIMIT 1`, sqltext.QuoteText(digest)))
	if err != nil || r == nil || len(r.rows) == 0 {
		return "", "", false
	}
	text = r.at(0, "QUERY_SAMPLE_TEXT")
	return text, record.ArgumentsTable, text != "" && !strings.Contains(normal(text), "...")
}

// withArguments returns a statement of the load with its arguments as literals.
func withArguments(o *inspect.Operation, text string, arguments []*string) (string, bool) {
	var b strings.Builder
	marks := 0
	for _, t := range sqltext.Split(text) {
		n, ok := t.Parameter()
		if t.Kind == sqltext.Mark {
			marks++
			n, ok = marks, true
		}
		switch {
		case !ok:
			b.WriteString(t.Text)
		case n < 1 || n > len(arguments):
			return "", false
		case arguments[n-1] == nil:
			b.WriteString("NULL")
		default:
			b.WriteString(literal(*arguments[n-1], inspect.Numeric(o, text, n-1)))
		}
	}
	return b.String(), true
}

// literal returns an argument as a literal. A number must not become a text or the reverse, since an index may serve
// only one of them.
func literal(text string, number bool) string {
	if number {
		return text
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}

// explain asks for a statement's plan.
func (i *Inspector) explain(ctx context.Context, p *plan) {
	r, err := i.session.query(ctx, "EXPLAIN "+p.Text)
	if err != nil {
		p.Failed = err.Error()
		return
	}
	for k := range r.rows {
		s := step{table: r.at(k, "table"), access: r.at(k, "type"), possible: r.at(k, "possible_keys"),
			key: r.at(k, "key"), extra: r.at(k, "Extra"), rows: r.number(k, "rows")}
		p.steps = append(p.steps, s)
		text := strings.TrimSpace(s.access + " " + s.table)
		if s.key != "" {
			text += " by " + s.key
		}
		p.Nodes = append(p.Nodes, record.PlanNode{Depth: k, Text: text, Detail: s.extra, Estimate: s.rows})
	}
	notes, err := i.session.query(ctx, "SHOW WARNINGS")
	if err != nil {
		return
	}
	for k := range notes.rows {
		if text := notes.at(k, "Message"); strings.HasPrefix(text, "Cannot use") {
			p.notes = append(p.notes, text)
		}
	}
}

// scanned returns the step that reads a whole table with the most rows; nil if there is none.
func (p *plan) scanned() *step {
	var worst *step
	for k := range p.steps {
		if s := &p.steps[k]; s.scans() && (worst == nil || s.rows > worst.rows) {
			worst = s
		}
	}
	return worst
}

// planOf returns the plan of a statement; nil if there is none.
func (c *caseFile) planOf(id string) *plan {
	for k := range c.plans {
		if p := &c.plans[k]; p.Statement == id && p.Failed == "" {
			return p
		}
	}
	return nil
}

// recordPlans copies the plans, with notes at the steps concerned, to the inspection.
func (c *caseFile) recordPlans() {
	for k := range c.plans {
		c.inspection.Plans = append(c.inspection.Plans, c.plans[k].QueryPlan)
	}
}
