package picodata

import (
	"context"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
	"brunt/internal/record"
)

// plan is the plan of a statement, with details that aren't recorded.
type plan struct {
	record.QueryPlan
	whole bool     // it is executed on all replica sets
	scans []string // names of the tables that it reads as a whole
	sorts bool     // it sorts in a temporary tree
}

const mostExplained = 12

// explainAll asks for the plans of the load's statements.
func (i *Inspector) explainAll(ctx context.Context, operations []inspect.Operation) (out []plan, err error) {
	admin, err := iproto.New().Admin(ctx, i.target)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	for _, o := range operations {
		for at, text := range o.Statements {
			if len(out) == mostExplained {
				return out, nil
			}
			p := plan{QueryPlan: record.QueryPlan{Operations: []string{o.Name}, Source: record.ArgumentsNone,
				Text: withArguments(&o, at, text)}}
			i.queries++
			if refused := p.explain(ctx, admin, "EXPLAIN (RAW, BUCKETS) "+p.Text); refused != nil {
				p.Failed = refused.Error()
			}
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// explain adds the lines of an answer to EXPLAIN.
func (p *plan) explain(ctx context.Context, admin protocol.Admin, question string) error {
	return admin.Query(ctx, question, func(row []*string) error {
		for _, field := range row {
			if field != nil {
				for line := range strings.Lines(*field) {
					p.add(strings.TrimRight(line, "\n"))
				}
			}
		}
		return nil
	})
}

// withArguments returns a statement with the arguments of the operation's first execution, since the buckets depend on
// them; with parameters if they aren't known.
func withArguments(o *inspect.Operation, at int, text string) string {
	if o.Arguments == nil {
		return text
	}
	arguments, ok := o.Arguments(at, 0)
	if !ok {
		return text
	}
	var b strings.Builder
	for _, t := range sqltext.Split(text) {
		n, is := t.Parameter()
		switch {
		case !is || n < 1 || n > len(arguments):
			b.WriteString(t.Text)
		case arguments[n-1] == nil:
			b.WriteString("NULL")
		default:
			b.WriteString(literal(o, text, n-1, *arguments[n-1]))
		}
	}
	return b.String()
}

// literal returns an argument as a literal of its kind.
func literal(o *inspect.Operation, text string, n int, value string) string {
	if inspect.Numeric(o, text, n) {
		return value
	}
	return sqltext.QuoteText(value)
}

// add adds a line of a plan.
func (p *plan) add(line string) {
	text := strings.TrimSpace(line)
	if text == "" {
		return
	}
	upper := strings.ToUpper(text)
	p.Nodes = append(p.Nodes, record.PlanNode{Depth: (len(line) - len(strings.TrimLeft(line, " "))) / 2, Text: text})
	switch {
	case strings.Contains(upper, "WHOLE STORAGE"):
		p.whole = true
	case strings.Contains(upper, "SCAN TABLE "):
		_, rest, _ := strings.Cut(upper, "SCAN TABLE ")
		name, _, _ := strings.Cut(text[len(text)-len(rest):], " ")
		p.scans = append(p.scans, strings.Trim(name, `"`))
	case strings.Contains(upper, "USE TEMP B-TREE"):
		p.sorts = true
	}
}
